//! Rules for connections of a program.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Metadata services of clouds, besides the common link-local address.
const METADATA: [IpAddr; 4] = [
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254)), // AWS
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254)), // Google
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),                     // Azure
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),                   // Alibaba
];

/// Default port of a rule.
const HTTPS: u16 = 443;

/// Invalid rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid connection rule; use a host such as `login.example.com`, `*.example.com:8443` or `10.0.0.7:5000`"
)]
pub struct EgressRuleError(String);

/// Allow list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressRules(Vec<EgressRule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct EgressRule {
    host: HostPattern,
    port: u16,
    /// Whether the name may resolve to this machine.
    allows_local: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Name(String),
    /// Every name below a domain, without the domain itself.
    Subdomains(String),
    Address(IpAddr),
}

impl EgressRules {
    /// Parses rules such as `login.example.com`, `*.example.com:8443`, `10.0.0.7:5000`, `[::1]:6443`.
    ///
    /// # Errors
    /// The first invalid rule.
    pub fn read<S: AsRef<str>>(rules: impl IntoIterator<Item = S>) -> Result<Self, EgressRuleError> {
        rules.into_iter().map(|rule| read(rule.as_ref())).collect::<Result<_, _>>().map(Self)
    }

    /// Adds further rules.
    #[must_use]
    pub fn and(mut self, more: EgressRules) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Allows names of these rules to resolve to this machine, because they come from the administrator.
    #[must_use]
    pub fn allowing_local(mut self) -> Self {
        self.0.iter_mut().for_each(|rule| rule.allows_local = true);
        self
    }

    /// Whether a program may connect to a host and port.
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let host = normalized(host);
        self.0.iter().any(|rule| rule.port == port && rule.host.matches(&host))
    }

    /// Whether an allowed host may resolve to an address. `own` tests for addresses of this machine. Names are resolved
    /// for every connection and must not give access to services of the host or to cloud metadata. Such a service must
    /// be allowed by its address.
    pub fn allows_address(&self, host: &str, port: u16, address: IpAddr, own: &dyn Fn(IpAddr) -> bool) -> bool {
        let named = normalized(host);
        let by_address = named.parse::<IpAddr>().is_ok() || named == "localhost";
        let anywhere = || self.0.iter().any(|rule| rule.allows_local && rule.port == port && rule.host.matches(&named));
        let address = address.to_canonical();
        by_address || anywhere() || !(is_local(address) || METADATA.contains(&address) || own(address))
    }
}

fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_link_local() || v4.is_unspecified(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unicast_link_local() || v6.is_unspecified(),
    }
}

impl HostPattern {
    fn matches(&self, host: &str) -> bool {
        match self {
            HostPattern::Name(name) => name == host,
            HostPattern::Subdomains(domain) => {
                host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            HostPattern::Address(address) => host.parse() == Ok(*address),
        }
    }
}

/// Normalizes a host: lower case, without brackets and trailing dot.
fn normalized(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn read(text: &str) -> Result<EgressRule, EgressRuleError> {
    let wrong = || EgressRuleError(text.to_string());
    let (host, port) = match text.rsplit_once(':') {
        // An IPv6 address without a port contains only colons.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().map_err(|_| wrong())?),
        _ => (text, HTTPS),
    };
    let name = normalized(host);
    let is_name = |name: &str| {
        let label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        name.len() <= 253 && name.split('.').all(label)
    };
    let host = match (name.parse::<IpAddr>(), name.strip_prefix("*.")) {
        (Ok(address), _) => HostPattern::Address(address),
        (_, Some(domain)) if is_name(domain) => HostPattern::Subdomains(domain.to_string()),
        (_, None) if is_name(&name) => HostPattern::Name(name),
        _ => return Err(wrong()),
    };
    if port == 0 { Err(wrong()) } else { Ok(EgressRule { host, port, allows_local: false }) }
}
