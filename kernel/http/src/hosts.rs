//! Protection of pages: host names that requests may use, and headers that restrict browsers.

use std::net::SocketAddr;

use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Uri};

/// Content security policy: only the console's own files, no inline scripts or styles, no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// Host names that requests may use.
#[derive(Clone, Debug)]
pub struct AllowedHosts {
    address: SocketAddr,
    names: Vec<String>,
}

impl AllowedHosts {
    /// Creates the list from the listen address and the configured names.
    pub fn new(address: SocketAddr, names: Vec<String>) -> Self {
        Self { address, names: names.into_iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Whether a request may be sent to its host, which its target or its header names.
    pub fn allows_request(&self, headers: &HeaderMap, uri: &Uri) -> bool {
        host(headers, uri).is_some_and(|host| self.allows(host))
    }

    /// Whether a request may use the host name. A page of another site can resolve its own name to this address (DNS
    /// rebinding), but its requests keep that name. Names must therefore be configured, while addresses are safe.
    pub fn allows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        if self.names.contains(&host) {
            return true;
        }
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port.parse::<u16>().ok()),
            _ => (host.as_str(), Some(80)),
        };
        if self.names.iter().any(|known| known == name) {
            return true;
        }
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let is_address = bare.parse::<std::net::IpAddr>().is_ok_and(|address| {
            address == self.address.ip()
                || self.address.ip().is_unspecified()
                || (address.is_loopback() && self.address.ip().is_loopback())
        });
        let is_local = name == "localhost" && (self.address.ip().is_loopback() || self.address.ip().is_unspecified());
        port == Some(self.address.port()) && (is_address || is_local)
    }

    /// Whether other machines can connect.
    pub fn is_remote(&self) -> bool {
        !self.address.ip().is_loopback()
    }
}

/// Returns the host of a request, from its target or its header.
fn host<'r>(headers: &'r HeaderMap, uri: &'r Uri) -> Option<&'r str> {
    uri.authority().map(|authority| authority.as_str()).or_else(|| headers.get(header::HOST)?.to_str().ok())
}

/// Adds the headers that every response to a browser has, and forbids caching unless the response has its own rule.
pub fn secure(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, value);
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_known_hosts_and_own_addresses_are_accepted() {
        let hosts = AllowedHosts::new("127.0.0.1:7467".parse().unwrap(), vec!["console.example.org".to_string()]);
        for known in [
            "127.0.0.1:7467",
            "localhost:7467",
            "LOCALHOST:7467",
            "[::1]:7467",
            "console.example.org",
            "console.example.org:443",
        ] {
            assert!(hosts.allows(known), "{known}");
        }
        for foreign in [
            "evil.example:7467",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost",
            "10.0.0.1:7467",
            "",
            "[::1",
            "localhost.evil.example:7467",
        ] {
            assert!(!hosts.allows(foreign), "{foreign}");
        }
        let open = AllowedHosts::new("0.0.0.0:80".parse().unwrap(), Vec::new());
        assert!(open.allows("10.1.2.3") && open.allows("10.1.2.3:80") && !open.allows("evil.example"));
        assert!(open.is_remote() && !hosts.is_remote());
    }
}
