//! Go's `net/url`, as far as `urlParse` and `urlJoin` show it.

use std::net::{Ipv4Addr, Ipv6Addr};

use switchboard_object::quote::quote;

/// Where a byte stands decides whether it is written as `%XX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Path,
    Host,
    Zone,
    User,
    Fragment,
}

fn must_escape(byte: u8, place: Place) -> bool {
    let kept: &[u8] = match place {
        Place::Path => b"$&+,-./:;=@_~",
        Place::Host | Place::Zone => b"!\"$&'()*+,-.:;<=>[]_~",
        Place::User => b"$&+,-.;=_~",
        Place::Fragment => b"!$&()*+,-./:;=?@_~",
    };
    !byte.is_ascii_alphanumeric() && !kept.contains(&byte)
}

/// A parsed URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Url {
    /// In small letters.
    pub scheme: String,
    /// What stands behind the scheme where there is no `/`.
    pub opaque: String,
    /// Name and password, not escaped.
    pub user: Option<(String, Option<String>)>,
    /// With the port.
    pub host: String,
    /// Not escaped.
    pub path: String,
    /// Behind `?`, as it was.
    pub query: String,
    /// Behind `#`, not escaped.
    pub fragment: String,
    pub(super) raw_path: String,
    pub(super) raw_fragment: String,
    pub(super) force_query: bool,
    pub(super) omit_host: bool,
}

impl Url {
    /// Go's `url.Parse`, with the text of its error.
    pub fn parse(text: &str) -> Result<Url, String> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let failed = |of: &str, why: String| format!("parse {}: {why}", quote(of));
        let mut url = parse(before).map_err(|why| failed(before, why))?;
        if !fragment.is_empty() {
            url.fragment = unescape(fragment, Place::Fragment).map_err(|why| failed(text, why))?;
            url.raw_fragment = raw(&url.fragment, fragment, Place::Fragment);
        }
        Ok(url)
    }

    /// Go's `Userinfo.String`.
    pub fn userinfo(&self) -> String {
        match &self.user {
            None => String::new(),
            Some((name, None)) => escape(name, Place::User),
            Some((name, Some(password))) => {
                format!("{}:{}", escape(name, Place::User), escape(password, Place::User))
            }
        }
    }

    /// Go's `Hostname`.
    pub fn hostname(&self) -> &str {
        let colon = self.host.rfind(':').filter(|at| is_port(&self.host[*at..]));
        let host = &self.host[..colon.unwrap_or(self.host.len())];
        host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host)
    }

    fn escaped_path(&self) -> String {
        if !self.raw_path.is_empty() && is_encoded(&self.raw_path, Place::Path) {
            return self.raw_path.clone();
        }
        if self.path == "*" { self.path.clone() } else { escape(&self.path, Place::Path) }
    }

    fn escaped_fragment(&self) -> String {
        if !self.raw_fragment.is_empty() && is_encoded(&self.raw_fragment, Place::Fragment) {
            return self.raw_fragment.clone();
        }
        escape(&self.fragment, Place::Fragment)
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        if !self.scheme.is_empty() {
            out += &format!("{}:", self.scheme);
        }
        if self.opaque.is_empty() {
            let bare = self.host.is_empty() && self.user.is_none();
            let shown = !self.scheme.is_empty() || !bare;
            if shown && !(self.omit_host && bare) {
                if !bare || !self.path.is_empty() {
                    out += "//";
                }
                if self.user.is_some() {
                    out += &format!("{}@", self.userinfo());
                }
                out += &escape(&self.host, Place::Host);
            }
            let path = self.escaped_path();
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                out.push('/');
            }
            // Not to be taken for a scheme.
            if out.is_empty() && path.split('/').next().is_some_and(|first| first.contains(':')) {
                out += "./";
            }
            out += &path;
        } else {
            out += &self.opaque;
        }
        if self.force_query || !self.query.is_empty() {
            out += &format!("?{}", self.query);
        }
        if !self.fragment.is_empty() {
            out += &format!("#{}", self.escaped_fragment());
        }
        f.write_str(&out)
    }
}

fn parse(text: &str) -> Result<Url, String> {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_string());
    }
    let mut url = Url::default();
    if text == "*" {
        url.path = "*".to_string();
        return Ok(url);
    }
    let (scheme, mut rest) = scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    if rest.ends_with('?') && rest.matches('?').count() == 1 {
        url.force_query = true;
        rest = &rest[..rest.len() - 1];
    } else if let Some((before, query)) = rest.split_once('?') {
        (rest, url.query) = (before, query.to_string());
    }
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_string();
            return Ok(url);
        }
        if rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_string());
        }
    }
    if rest.starts_with("//") && (!url.scheme.is_empty() || !rest.starts_with("///")) {
        let authority = &rest[2..];
        let end = authority.find('/').unwrap_or(authority.len());
        (url.user, url.host) = parse_authority(&url.scheme, &authority[..end])?;
        rest = &authority[end..];
    } else if !url.scheme.is_empty() && rest.starts_with('/') {
        url.omit_host = true;
    }
    url.path = unescape(rest, Place::Path)?;
    url.raw_path = raw(&url.path, rest, Place::Path);
    Ok(url)
}

/// How it was written, where that is not how it would be written.
fn raw(value: &str, written: &str, place: Place) -> String {
    if escape(value, place) == written { String::new() } else { written.to_string() }
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_string()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

type User = Option<(String, Option<String>)>;

fn parse_authority(scheme: &str, authority: &str) -> Result<(User, String), String> {
    let Some((userinfo, host)) = authority.rsplit_once('@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let host = parse_host(scheme, host)?;
    if !userinfo.chars().all(|c| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c)) {
        return Err("net/url: invalid userinfo".to_string());
    }
    let user = match userinfo.split_once(':') {
        None => (unescape(userinfo, Place::User)?, None),
        Some((name, password)) => (unescape(name, Place::User)?, Some(unescape(password, Place::User)?)),
    };
    Ok((Some(user), host))
}

fn is_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}

fn parse_host(scheme: &str, host: &str) -> Result<String, String> {
    let bad_port = |port: &str| Err(format!("invalid port {} after host", quote(port)));
    match (host.rfind('['), host.find(':')) {
        (Some(0), _) => return parse_literal(host),
        (Some(_), _) => return Err("invalid IP-literal".to_string()),
        (None, Some(first)) => {
            let last = host.rfind(':').unwrap_or(first);
            // Only the web is strict about colons in names.
            let at = if matches!(scheme, "http" | "https") { first } else { last };
            if !is_port(&host[at..]) {
                return bad_port(&host[at..]);
            }
        }
        (None, None) => {}
    }
    unescape(host, Place::Host)
}

fn parse_literal(host: &str) -> Result<String, String> {
    let Some(close) = host.rfind(']') else { return Err("missing ']' in host".to_string()) };
    let (name, port) = (&host[1..close], &host[close + 1..]);
    if !is_port(port) {
        return Err(format!("invalid port {} after host", quote(port)));
    }
    let name = match name.find("%25") {
        Some(zone) => unescape(&name[..zone], Place::Host)? + &unescape(&name[zone..], Place::Zone)?,
        None => unescape(name, Place::Host)?,
    };
    let (address, zone) = name.split_once('%').map_or((name.as_str(), None), |(a, z)| (a, Some(z)));
    if address.parse::<Ipv4Addr>().is_ok() && zone.is_none() {
        return Err("invalid IP-literal".to_string());
    }
    if address.parse::<Ipv6Addr>().is_err() || zone == Some("") {
        return Err(format!("invalid host: ParseAddr({}): {}", quote(&name), address_problem(address, zone)));
    }
    Ok(format!("[{name}]{port}"))
}

/// The commonest of netip's complaints.
fn address_problem(address: &str, zone: Option<&str>) -> String {
    match (address.contains(':'), address.contains('.'), zone) {
        (true, _, Some("")) => "zone must be a non-empty string".to_string(),
        (false, false, _) => "unable to parse IP".to_string(),
        (false, true, Some(_)) => "missing IPv6 address".to_string(),
        (false, true, None) => "unexpected character".to_string(),
        (true, ..) => "address string too short".to_string(),
    }
}

fn is_encoded(text: &str, place: Place) -> bool {
    text.bytes().all(|b| b"!$&'()*+,;=:@[]%".contains(&b) || !must_escape(b, place))
}

fn unescape(text: &str, place: Place) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte != b'%' {
            if matches!(place, Place::Host | Place::Zone) && byte < 0x80 && must_escape(byte, place) {
                let shown = quote(&char::from(byte).to_string());
                return Err(format!("invalid character {shown} in host name"));
            }
            out.push(byte);
            at += 1;
            continue;
        }
        let escape = &bytes[at..bytes.len().min(at + 3)];
        let digits = escape.get(1..3).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|d| std::str::from_utf8(d).ok()).and_then(|d| u8::from_str_radix(d, 16).ok());
        let allowed = |value: u8| match place {
            Place::Host => value >= 0x80 || value == b'%',
            Place::Zone => value == b'%' || value == b' ' || !must_escape(value, Place::Host),
            _ => true,
        };
        match digits.filter(|value| allowed(*value)) {
            Some(value) => out.push(value),
            None => return Err(format!("invalid URL escape {}", quote(&String::from_utf8_lossy(escape)))),
        }
        at += 3;
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn escape(text: &str, place: Place) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if must_escape(byte, place) {
            out += &format!("%{byte:02X}");
        } else {
            out.push(char::from(byte));
        }
    }
    out
}
