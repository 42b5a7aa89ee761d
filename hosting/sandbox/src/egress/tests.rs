#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};

use super::*;

fn rules(rules: &[&str]) -> Arc<EgressRules> {
    Arc::new(EgressRules::read(rules).unwrap())
}

#[test]
fn a_rule_allows_its_host_and_port_and_no_other() {
    let rules = rules(&["login.example.com", "*.cloud.test:8443", "10.0.0.7:5000", "[::1]:6443", "ff02::1"]);
    for (host, port) in [
        ("login.example.com", 443),
        ("LOGIN.example.com.", 443),
        ("a.cloud.test", 8443),
        ("a.b.cloud.test", 8443),
        ("10.0.0.7", 5000),
        ("[::1]", 6443),
        ("ff02::1", 443),
    ] {
        assert!(rules.allows(host, port), "{host}:{port}");
    }
    for (host, port) in [
        ("login.example.com", 80),
        ("evil-login.example.com", 443),
        ("login.example.com.evil.test", 443),
        ("cloud.test", 8443),
        ("acloud.test", 8443),
        (".cloud.test", 8443),
        ("10.0.0.70", 5000),
        ("::1", 443),
    ] {
        assert!(!rules.allows(host, port), "{host}:{port}");
    }
}

#[test]
fn a_rule_that_is_none_is_refused() {
    for rule in ["", "*", "*.", "a..b", "host:0", "host:port", "http://host", "host/path", "*.a*.b", "a b"] {
        assert!(EgressRules::read([rule]).is_err(), "{rule}");
    }
}

#[test]
fn a_name_leads_to_no_address_of_this_machine_and_an_address_to_itself() {
    let rules = rules(&["metadata.example.com", "127.0.0.1:80"]);
    let own = |address: IpAddr| address == "192.0.2.7".parse::<IpAddr>().unwrap();
    let inward = ["127.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "0.0.0.0", "fd00:ec2::254", "192.0.2.7"];
    for inward in inward.into_iter().chain(["::ffff:192.0.2.7", "168.63.129.16"]) {
        assert!(!rules.allows_address("metadata.example.com", 443, inward.parse().unwrap(), &own), "{inward}");
    }
    assert!(rules.allows_address("metadata.example.com", 443, "192.0.2.1".parse().unwrap(), &own));
    assert!(rules.allows_address("127.0.0.1", 80, "127.0.0.1".parse().unwrap(), &own));
    // The API server, for which the administrator uses a name of this machine.
    let server = (*rules).clone().and(EgressRules::read(["api.example.com:6443"]).unwrap().allowing_local());
    assert!(server.allows_address("API.example.com.", 6443, "192.0.2.7".parse().unwrap(), &own));
    assert!(!server.allows_address("api.example.com", 443, "192.0.2.7".parse().unwrap(), &own));
    assert!(!server.allows_address("metadata.example.com", 443, "192.0.2.7".parse().unwrap(), &own));
}

#[test]
fn a_name_of_this_machine_is_refused_and_not_remembered_as_allowed() {
    // A short form of the loopback address for the resolver, an ordinary name for the rules.
    let proxy = started(&["127.1"]);
    let answer = through(&proxy, "CONNECT 127.1:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert_eq!(proxy.stop(), [ConnectionAttempt { to: "127.1:443".to_string(), allowed: false }]);
}

/// Starts a server that answers with the received header.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                head.push(byte[0]);
            }
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", head.len()).unwrap();
            stream.write_all(&head).unwrap();
        }
    });
    address
}

fn through(proxy: &EgressProxy, request: &str) -> String {
    let mut stream = TcpStream::connect(proxy.address()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn started(allowed: &[&str]) -> EgressProxy {
    EgressProxy::start(TcpListener::bind("127.0.0.1:0").unwrap(), rules(allowed)).unwrap()
}

#[test]
fn a_tunnel_leads_to_an_allowed_host() {
    let to = echo();
    let proxy = started(&[&to.to_string()]);
    let mut stream = TcpStream::connect(proxy.address()).unwrap();
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        answer.push(byte[0]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    write!(stream, "GET /inside HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("GET /inside"), "{answer}");
    assert_eq!(proxy.stop(), [ConnectionAttempt { to: to.to_string(), allowed: true }]);
}

#[test]
fn a_plain_request_is_sent_on_as_the_host_expects_it() {
    let to = echo();
    let proxy = started(&[&to.to_string()]);
    let request = format!(
        "GET http://{to}/a?b=c HTTP/1.1\r\nHost: elsewhere\r\nProxy-Authorization: x\r\nConnection: close\r\n\r\n"
    );
    let answer = through(&proxy, &request);
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("GET /a?b=c HTTP/1.1"), "{answer}");
    assert!(answer.to_lowercase().contains(&format!("host: {to}")), "{answer}");
    assert!(!answer.contains("elsewhere") && !answer.contains("Proxy-Authorization"), "{answer}");
}

#[test]
fn what_is_not_allowed_is_refused_named_and_remembered() {
    let to = echo();
    let proxy = started(&["login.example.com"]);
    let answer = through(&proxy, &format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(answer.contains(&format!("{to} is not among the operator's `egress`")), "{answer}");
    let answer = through(&proxy, &format!("GET http://{to}/ HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert_eq!(proxy.stop(), [ConnectionAttempt { to: to.to_string(), allowed: false }]);
}

#[test]
fn what_is_no_proxy_request_is_told_so() {
    let answer = through(&started(&[]), "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}
