//! `console`: where the web console is served, and under which names.

use std::net::{Ipv4Addr, SocketAddr};

use super::process::texts;
use super::report::Findings;
use super::section::Section;
use super::tree::{Content, Node};
use super::value;

/// Where the console is when nothing else is said: this machine alone.
pub const CONSOLE_ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7467);

/// What is said of the console.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsoleConfig {
    /// Whether there is none.
    pub off: bool,
    /// Where it listens; [`CONSOLE_ADDRESS`] when absent, or a free port when that one is taken.
    pub address: Option<SocketAddr>,
    /// Names it is reached by, beside its address: requests for others are refused.
    pub hosts: Vec<String>,
}

/// `off`, or a map.
pub(super) fn console(node: &Node, path: String, findings: &mut Findings) -> ConsoleConfig {
    if let Content::Scalar(value) = &node.content
        && (value == false || value == "off")
    {
        return ConsoleConfig { off: true, ..ConsoleConfig::default() };
    }
    let mut fields = Section::open(node, path, findings);
    let mut config = ConsoleConfig::default();
    if let Some(address) = fields.take("address", findings, value::listen) {
        (config.off, config.address) = (address.is_none(), address);
    }
    config.hosts = texts(&mut fields, "hosts", findings);
    fields.close(findings);
    config
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::{Config, Known};

    #[test]
    fn the_console_is_off_elsewhere_or_by_other_names() {
        let read = |text: &str| Config::parse("s", text, Known::default()).unwrap().console;
        assert_eq!(read(""), ConsoleConfig::default());
        assert!(read("console: off").off && read("console: {address: off}").off);
        let config = read("console: {address: '0.0.0.0:80', hosts: [console.example.org]}");
        assert_eq!(config.address, Some("0.0.0.0:80".parse().unwrap()));
        assert_eq!(config.hosts, ["console.example.org"]);
        let told = Config::parse("s.yaml", "console: {port: 1}", Known::default()).unwrap_err().to_string();
        assert!(told.contains("console.port: unknown field"), "{told}");
    }
}
