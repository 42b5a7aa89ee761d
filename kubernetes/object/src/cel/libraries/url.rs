//! URLs.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cel::value::{CelKey, CelValue, EvalResult};
use crate::quote::quote;

/// Parts of a URL.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cel) struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
    text: String,
}

impl Url {
    /// Parses an absolute URL or an absolute path.
    pub fn parse(text: &str) -> Result<Self, String> {
        let failed = |why: &str| format!("URL parse error during conversion from string: parse {}: {why}", quote(text));
        if text.is_empty() {
            return Err(failed("empty url"));
        }
        if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
            return Err(failed("net/url: invalid control character in URL"));
        }
        let (before_fragment, _) = text.split_once('#').unwrap_or((text, ""));
        let (head, query) = before_fragment.split_once('?').unwrap_or((before_fragment, ""));
        let good = |scheme: &str| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        };
        let (scheme, rest) = match head.find(':') {
            Some(0) => return Err(failed("missing protocol scheme")),
            Some(at) if good(&head[..at]) => (head[..at].to_lowercase(), &head[at + 1..]),
            _ => (String::new(), head),
        };
        if scheme.is_empty() && !rest.starts_with('/') {
            return Err(failed("invalid URI for request"));
        }
        let (host, path) = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                let authority = &rest[..end];
                let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
                (host.to_string(), rest[end..].to_string())
            }
            None => (String::new(), rest.to_string()),
        };
        if host.contains(' ') {
            return Err(failed(&format!("invalid character {} in host name", quote(" "))));
        }
        if let Some(port) = port_of(&host).filter(|port| !port.bytes().all(|b| b.is_ascii_digit())) {
            return Err(failed(&format!("invalid port {} after host", quote(&format!(":{port}")))));
        }
        let bytes = path.as_bytes();
        for (at, _) in bytes.iter().enumerate().filter(|(_, b)| **b == b'%') {
            let end = (at + 3).min(bytes.len());
            if end - at < 3 || !bytes[at + 1..end].iter().all(u8::is_ascii_hexdigit) {
                let shown = String::from_utf8_lossy(&bytes[at..end]).to_string();
                return Err(failed(&format!("invalid URL escape {}", quote(&shown))));
            }
        }
        Ok(Self { scheme, host, path, query: query.to_string(), text: text.to_string() })
    }

    fn hostname(&self) -> &str {
        let host = match port_of(&self.host) {
            Some(port) => &self.host[..self.host.len() - port.len() - 1],
            None => &self.host,
        };
        host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host)
    }

    fn escaped_path(&self) -> String {
        let mut out = String::new();
        for byte in self.path.bytes() {
            match byte {
                b if b.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@%!'()*[]".contains(&b) => out.push(char::from(b)),
                b => out.push_str(&format!("%{b:02X}")),
            }
        }
        out
    }
}

/// Returns the port after the last colon outside brackets.
fn port_of(host: &str) -> Option<&str> {
    let after = host.rfind(']').map_or(0, |at| at + 1);
    host[after..].rfind(':').map(|at| &host[after + at + 1..])
}

pub(in crate::cel) fn method<'a>(name: &str, url: &Url) -> Option<EvalResult<'a>> {
    Some(Ok(match name {
        "getScheme" => CelValue::text(url.scheme.as_str()),
        "getHost" => CelValue::text(url.host.as_str()),
        "getHostname" => CelValue::text(url.hostname()),
        "getPort" => CelValue::text(port_of(&url.host).unwrap_or("")),
        "getEscapedPath" => CelValue::text(url.escaped_path()),
        "getQuery" => query(&url.query),
        "string" => CelValue::text(url.text.as_str()),
        _ => return None,
    }))
}

fn query<'a>(text: &str) -> CelValue<'a> {
    let mut map: BTreeMap<CelKey, Vec<CelValue<'a>>> = BTreeMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(key), Some(value)) = (unescaped(key), unescaped(value)) else { continue };
        map.entry(CelKey::Text(Arc::from(key))).or_default().push(CelValue::text(value));
    }
    CelValue::Map(Arc::new(map.into_iter().map(|(key, values)| (key, CelValue::list(values))).collect()))
}

fn unescaped(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let pair = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}
