//! Listen addresses: as users write them, and as clients reach them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Default listen address of `up` and `serve`.
pub const DEFAULT: &str = "127.0.0.1:6443";

/// Parses `ADDR:PORT`. `localhost` is the loopback address; other names are not resolved.
pub fn parse(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let port = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let expected = "expected an IP address and a port, such as 127.0.0.1:6443, [::1]:0 or localhost:0";
    port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).ok_or_else(|| expected.into())
}

/// Returns the address for clients on this machine: loopback, if the server listens on all addresses. The certificate
/// includes it.
pub fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let loopback = if address.is_ipv4() { IpAddr::from(Ipv4Addr::LOCALHOST) } else { Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    address
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::parse;

    #[test]
    fn localhost_is_loopback_and_other_names_are_refused() {
        assert_eq!(parse("localhost:8080").unwrap().to_string(), "127.0.0.1:8080");
        assert_eq!(parse("[::1]:1").unwrap().to_string(), "[::1]:1");
        for text in ["localhost", "localhost:", "localhost:x", "example.com:1", "127.0.0.1", ":6443", "localhost:70000"]
        {
            assert!(parse(text).unwrap_err().contains("such as 127.0.0.1:6443"), "{text}");
        }
    }
}
