//! Subset of Go's `net/url` that `urlParse` and `urlJoin` need.

use std::net::{Ipv4Addr, Ipv6Addr};

use switchboard_object::quote::quote_bytes;

use super::text;

/// Part of a URL, which decides which bytes are escaped as `%XX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UrlEncoding {
    Path,
    Host,
    Zone,
    User,
    Fragment,
}

fn must_escape(byte: u8, place: UrlEncoding) -> bool {
    let kept: &[u8] = match place {
        UrlEncoding::Path => b"$&+,-./:;=@_~",
        UrlEncoding::Host | UrlEncoding::Zone => b"!\"$&'()*+,-.:;<=>[]_~",
        UrlEncoding::User => b"$&+,-.;=_~",
        UrlEncoding::Fragment => b"!$&()*+,-./:;=?@_~",
    };
    !byte.is_ascii_alphanumeric() && !kept.contains(&byte)
}

/// A parsed URL. Parts are bytes, because an escape may encode any byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Url {
    /// Scheme in lowercase.
    pub scheme: Vec<u8>,
    /// Text after the scheme if it does not start with `/`.
    pub opaque: Vec<u8>,
    /// User name and password, unescaped.
    pub user: UserInfo,
    /// Host with its port.
    pub host: Vec<u8>,
    /// Path, unescaped.
    pub path: Vec<u8>,
    /// Query after `?`, as written.
    pub query: Vec<u8>,
    /// Fragment after `#`, unescaped.
    pub fragment: Vec<u8>,
    pub(super) raw_path: Vec<u8>,
    pub(super) raw_fragment: Vec<u8>,
    pub(super) force_query: bool,
    pub(super) omit_host: bool,
}

/// User name, and the password if there is a colon.
pub type UserInfo = Option<(Vec<u8>, Option<Vec<u8>>)>;

/// Splits at the first occurrence of a part. The second half is `None` if the part does not occur.
fn cut<'t>(text: &'t [u8], part: &[u8]) -> (&'t [u8], Option<&'t [u8]>) {
    match text::index(text, part) {
        Some(at) => (&text[..at], Some(&text[at + part.len()..])),
        None => (text, None),
    }
}

impl Url {
    /// Implements Go's `url.Parse`, with the text of its error.
    pub fn parse(text: &[u8]) -> Result<Url, String> {
        let (before, fragment) = cut(text, b"#");
        let failed = |of: &[u8], why: String| format!("parse {}: {why}", quote_bytes(of));
        let mut url = parse(before).map_err(|why| failed(before, why))?;
        if let Some(fragment) = fragment.filter(|fragment| !fragment.is_empty()) {
            url.fragment = unescape(fragment, UrlEncoding::Fragment).map_err(|why| failed(text, why))?;
            url.raw_fragment = raw(&url.fragment, fragment, UrlEncoding::Fragment);
        }
        Ok(url)
    }

    /// Implements Go's `Userinfo.String`.
    pub fn userinfo(&self) -> Vec<u8> {
        match &self.user {
            None => Vec::new(),
            Some((name, None)) => escape(name, UrlEncoding::User),
            Some((name, Some(password))) => {
                [escape(name, UrlEncoding::User), b":".to_vec(), escape(password, UrlEncoding::User)].concat()
            }
        }
    }

    /// Implements Go's `Hostname`.
    pub fn hostname(&self) -> &[u8] {
        let colon = self.host.iter().rposition(|b| *b == b':').filter(|at| is_port(&self.host[*at..]));
        let host = &self.host[..colon.unwrap_or(self.host.len())];
        host.strip_prefix(b"[").and_then(|h| h.strip_suffix(b"]")).unwrap_or(host)
    }

    /// Implements Go's `String`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend([self.scheme.as_slice(), b":"].concat());
        }
        if self.opaque.is_empty() {
            self.write_hierarchy(&mut out)
        } else {
            out.extend_from_slice(&self.opaque)
        }
        if self.force_query || !self.query.is_empty() {
            out.extend([b"?", self.query.as_slice()].concat());
        }
        if !self.fragment.is_empty() {
            let known = !self.raw_fragment.is_empty() && is_encoded(&self.raw_fragment, UrlEncoding::Fragment);
            out.push(b'#');
            out.extend(if known { self.raw_fragment.clone() } else { escape(&self.fragment, UrlEncoding::Fragment) });
        }
        out
    }

    fn write_hierarchy(&self, out: &mut Vec<u8>) {
        let bare = self.host.is_empty() && self.user.is_none();
        let shown = !self.scheme.is_empty() || !bare;
        if shown && !(self.omit_host && bare) {
            if !bare || !self.path.is_empty() {
                out.extend_from_slice(b"//");
            }
            if self.user.is_some() {
                out.extend([self.userinfo().as_slice(), b"@"].concat());
            }
            out.extend(escape(&self.host, UrlEncoding::Host));
        }
        let path = match self.path.as_slice() {
            _ if !self.raw_path.is_empty() && is_encoded(&self.raw_path, UrlEncoding::Path) => self.raw_path.clone(),
            b"*" => self.path.clone(),
            path => escape(path, UrlEncoding::Path),
        };
        if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
            out.push(b'/');
        }
        // Prevents the first segment from looking like a scheme.
        if out.is_empty() && cut(&path, b"/").0.contains(&b':') {
            out.extend_from_slice(b"./");
        }
        out.extend(path);
    }
}

fn parse(text: &[u8]) -> Result<Url, String> {
    if text.iter().any(|b| *b < b' ' || *b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_string());
    }
    let mut url = Url::default();
    if text == b"*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, mut rest) = scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    match cut(rest, b"?") {
        (before, Some(b"")) => (rest, url.force_query) = (before, true),
        (before, query) => (rest, url.query) = (before, query.unwrap_or_default().to_vec()),
    }
    if !rest.starts_with(b"/") {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_vec();
            return Ok(url);
        }
        if cut(rest, b"/").0.contains(&b':') {
            return Err("first path segment in URL cannot contain colon".to_string());
        }
    }
    if rest.starts_with(b"//") && (!url.scheme.is_empty() || !rest.starts_with(b"///")) {
        let authority = &rest[2..];
        let end = text::index(authority, b"/").unwrap_or(authority.len());
        (url.user, url.host) = parse_authority(&url.scheme, &authority[..end])?;
        rest = &authority[end..];
    } else if !url.scheme.is_empty() && rest.starts_with(b"/") {
        url.omit_host = true;
    }
    url.path = unescape(rest, UrlEncoding::Path)?;
    url.raw_path = raw(&url.path, rest, UrlEncoding::Path);
    Ok(url)
}

/// Returns the text as written if it differs from the default encoding.
fn raw(value: &[u8], written: &[u8], place: UrlEncoding) -> Vec<u8> {
    if escape(value, place) == written { Vec::new() } else { written.to_vec() }
}

fn scheme(text: &[u8]) -> Result<(&[u8], &[u8]), String> {
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_string()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok((b"", text))
}

fn parse_authority(scheme: &[u8], authority: &[u8]) -> Result<(UserInfo, Vec<u8>), String> {
    let Some(at) = authority.iter().rposition(|b| *b == b'@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let (userinfo, host) = (&authority[..at], parse_host(scheme, &authority[at + 1..])?);
    if !userinfo.iter().all(|b| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(b)) {
        return Err("net/url: invalid userinfo".to_string());
    }
    let user = match cut(userinfo, b":") {
        (name, None) => (unescape(name, UrlEncoding::User)?, None),
        (name, Some(password)) => (unescape(name, UrlEncoding::User)?, Some(unescape(password, UrlEncoding::User)?)),
    };
    Ok((Some(user), host))
}

fn is_port(text: &[u8]) -> bool {
    text.is_empty() || text.strip_prefix(b":").is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}

fn parse_host(scheme: &[u8], host: &[u8]) -> Result<Vec<u8>, String> {
    let last = |wanted: u8| host.iter().rposition(|b| *b == wanted);
    match (last(b'['), last(b':')) {
        (Some(0), _) => return parse_literal(host),
        (Some(_), _) => return Err("invalid IP-literal".to_string()),
        (None, Some(last)) => {
            // Only `http` and `https` are strict about colons in host names.
            let strict = matches!(scheme, b"http" | b"https");
            let at = text::index(host, b":").filter(|_| strict).unwrap_or(last);
            if !is_port(&host[at..]) {
                return Err(format!("invalid port {} after host", quote_bytes(&host[at..])));
            }
        }
        (None, None) => {}
    }
    unescape(host, UrlEncoding::Host)
}

fn parse_literal(host: &[u8]) -> Result<Vec<u8>, String> {
    let Some(close) = host.iter().rposition(|b| *b == b']') else { return Err("missing ']' in host".to_string()) };
    let (name, port) = (&host[1..close], &host[close + 1..]);
    if !is_port(port) {
        return Err(format!("invalid port {} after host", quote_bytes(port)));
    }
    let name = match text::index(name, b"%25") {
        Some(zone) => {
            [unescape(&name[..zone], UrlEncoding::Host)?, unescape(&name[zone..], UrlEncoding::Zone)?].concat()
        }
        None => unescape(name, UrlEncoding::Host)?,
    };
    let (address, zone) = cut(&name, b"%");
    let address = String::from_utf8_lossy(address);
    if address.parse::<Ipv4Addr>().is_ok() && zone.is_none() {
        return Err("invalid IP-literal".to_string());
    }
    if address.parse::<Ipv6Addr>().is_err() || zone == Some(b"") {
        return Err(format!("invalid host: ParseAddr({}): {}", quote_bytes(&name), address_problem(&address, zone)));
    }
    Ok([b"[", name.as_slice(), b"]", port].concat())
}

/// Returns the most common of netip's errors.
fn address_problem(address: &str, zone: Option<&[u8]>) -> &'static str {
    match (address.contains(':'), address.contains('.'), zone) {
        (true, _, Some(b"")) => "zone must be a non-empty string",
        (false, false, _) => "unable to parse IP",
        (false, true, Some(_)) => "missing IPv6 address",
        (false, true, None) => "unexpected character",
        (true, ..) => "address string too short",
    }
}

fn is_encoded(text: &[u8], place: UrlEncoding) -> bool {
    text.iter().all(|b| b"!$&'()*+,;=:@[]%".contains(b) || !must_escape(*b, place))
}

fn unescape(text: &[u8], place: UrlEncoding) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        if byte != b'%' {
            if matches!(place, UrlEncoding::Host | UrlEncoding::Zone) && byte < 0x80 && must_escape(byte, place) {
                return Err(format!("invalid character {} in host name", quote_bytes(&[byte])));
            }
            out.push(byte);
            at += 1;
            continue;
        }
        let escape = &text[at..text.len().min(at + 3)];
        let digit = |at: usize| escape.get(at).and_then(|b| char::from(*b).to_digit(16));
        let value = digit(1).zip(digit(2)).map(|(high, low)| (high * 16 + low) as u8);
        let allowed = |value: &u8| match place {
            UrlEncoding::Host => *value >= 0x80 || *value == b'%',
            UrlEncoding::Zone => *value == b'%' || *value == b' ' || !must_escape(*value, UrlEncoding::Host),
            _ => true,
        };
        out.push(value.filter(allowed).ok_or_else(|| format!("invalid URL escape {}", quote_bytes(escape)))?);
        at += 3;
    }
    Ok(out)
}

fn escape(text: &[u8], place: UrlEncoding) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if must_escape(*byte, place) { out.extend(format!("%{byte:02X}").into_bytes()) } else { out.push(*byte) }
    }
    out
}
