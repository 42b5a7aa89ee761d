//! Section `console`: listen address and host names of the web console.

use std::net::{Ipv4Addr, SocketAddr};

use super::process::texts;
use super::report::ErrorCollector;
use super::section::Section;
use super::tree::{NodeContent, YamlNode};
use super::value;

/// Default listen address of the console, on the local machine only.
pub const CONSOLE_ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7467);

/// Configuration of the web console.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsoleConfig {
    /// Whether the console is disabled.
    pub disabled: bool,
    /// Listen address; [`CONSOLE_ADDRESS`] when absent, or a free port if that one is in use.
    pub address: Option<SocketAddr>,
    /// Host names of the console besides its address; requests for other hosts are refused.
    pub hosts: Vec<String>,
}

/// Reads the section: `off`, or a map.
pub(super) fn console(node: &YamlNode, path: String, findings: &mut ErrorCollector) -> ConsoleConfig {
    if let NodeContent::Scalar(value) = &node.content
        && (value == false || value == "off")
    {
        return ConsoleConfig { disabled: true, ..ConsoleConfig::default() };
    }
    let mut fields = Section::open(node, path, findings);
    let mut config = ConsoleConfig::default();
    if let Some(address) = fields.take("address", findings, value::listen) {
        (config.disabled, config.address) = (address.is_none(), address);
    }
    config.hosts = texts(&mut fields, "hosts", findings);
    fields.close(findings);
    config
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::Config;
    use crate::family::Families;

    #[test]
    fn the_console_section_is_read() {
        let read = |text: &str| Config::parse("s", text, Families::default()).unwrap().console;
        assert_eq!(read(""), ConsoleConfig::default());
        assert!(read("console: off").disabled && read("console: {address: off}").disabled);
        let config = read("console: {address: '0.0.0.0:80', hosts: [console.example.org]}");
        assert_eq!(config.address, Some("0.0.0.0:80".parse().unwrap()));
        assert_eq!(config.hosts, ["console.example.org"]);
        let error = Config::parse("s.yaml", "console: {port: 1}", Families::default()).unwrap_err().to_string();
        assert!(error.contains("console.port: unknown field"), "{error}");
    }
}
