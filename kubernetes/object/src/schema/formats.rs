//! String formats for schemas of custom resources.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::pattern;
use crate::duration;

/// Returns the format's canonical name, or `None` if the format is not checked for these types.
pub(super) fn supported<'a>(format: &'a str, types: &[&str]) -> Option<&'a str> {
    let known = match types {
        [] | ["string"] => is_known(format),
        ["integer"] => matches!(format, "int32" | "int64"),
        ["number"] => matches!(format, "float" | "double"),
        _ => false,
    };
    known.then_some(format)
}

/// Whether a string format is checked. Dashes in names are ignored.
pub fn is_known(format: &str) -> bool {
    const KNOWN: [&str; 26] = [
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
        "k8sshortname",
        "k8slongname",
    ];
    KNOWN.contains(&format.replace('-', "").as_str())
}

/// Whether a text matches the format.
pub(crate) fn matches(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "uri" => is_request_uri(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ipv4" => parse_ip_sloppy(text) && text.contains('.'),
        "ipv6" => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" => regex(r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$", text),
        "uuid3" => regex(r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$", text),
        "uuid4" => regex(r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$", text),
        "uuid5" => regex(r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$", text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => is_credit_card(text),
        "ssn" => text.len() == 11 && regex(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$", text),
        "hexcolor" => regex("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$", text),
        "rgbcolor" => regex(RGB, text),
        "byte" => regex(BASE64, text),
        "date" => is_date(text),
        "duration" => parse_duration(text).is_some(),
        "datetime" => is_date_time(text),
        "k8sshortname" => text.len() <= 63 && regex("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", text),
        "k8slongname" => text.len() <= 253 && regex(LONG_NAME, text),
        _ => true,
    }
}

const RGB: &str = r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$";
const BASE64: &str = r"^(?:[A-Za-z0-9+\/]{4})*(?:[A-Za-z0-9+\/]{2}==|[A-Za-z0-9+\/]{3}=|[A-Za-z0-9+\/]{4})$";
const LONG_NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const CREDIT_CARD: &str = r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$";

fn regex(pattern: &str, text: &str) -> bool {
    pattern::compiled(pattern).is_ok_and(|regex| regex.is_match(text))
}

/// Whether the text is an absolute path, or a URI with a scheme, without control characters.
fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return false;
    }
    if text.starts_with('/') || text == "*" {
        return escapes_are_whole(text.split('?').next().unwrap_or(""));
    }
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let scheme_ok = scheme.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let host = rest.strip_prefix("//").map(|rest| rest.split(['/', '?']).next().unwrap_or(""));
    scheme_ok && host.is_none_or(host_ok) && escapes_are_whole(rest.split('?').next().unwrap_or(""))
}

fn host_ok(authority: &str) -> bool {
    let host = authority.rsplit('@').next().unwrap_or("");
    let (host, port) = match host.rfind(']') {
        Some(end) if host.starts_with('[') => (&host[..=end], host[end + 1..].strip_prefix(':')),
        _ => host.rsplit_once(':').map_or((host, None), |(host, port)| (host, Some(port))),
    };
    !host.contains([' ', '<', '>', '"']) && port.is_none_or(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

fn escapes_are_whole(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter(|(_, b)| **b == b'%').all(|(at, _)| {
        bytes.get(at + 1).is_some_and(u8::is_ascii_hexdigit) && bytes.get(at + 2).is_some_and(u8::is_ascii_hexdigit)
    })
}

fn is_email(text: &str) -> bool {
    let address = match (text.rfind('<'), text.trim_end().ends_with('>')) {
        (Some(open), true) => &text.trim_end()[open + 1..text.trim_end().len() - 1],
        _ => text.trim(),
    };
    let atom = |part: &str| {
        !part.is_empty()
            && part.split('.').all(|atom| {
                let ok = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii();
                !atom.is_empty() && atom.chars().all(ok)
            })
    };
    address.rsplit_once('@').is_some_and(|(local, domain)| {
        let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
        (quoted || atom(local)) && atom(domain)
    })
}

/// Whether the text is one label with at most one inner dash, or several labels with an alphabetic top-level domain.
fn is_hostname(text: &str) -> bool {
    let plain = |part: &str| regex(r"^[a-zA-Z0-9\p{S}\p{L}]*$", part);
    let first_plain = |part: &str| part.chars().next().is_some_and(|c| plain(c.encode_utf8(&mut [0; 4])));
    let labels: Vec<&str> = text.split('.').collect();
    let whole = match labels.as_slice() {
        [one] => {
            let tail: String = one.chars().skip(1).collect();
            let tail = tail.strip_prefix('-').unwrap_or(&tail);
            first_plain(one) && plain(tail) && tail.chars().count() <= 62
        }
        [inner @ .., top] => {
            let label_ok = |label: &&str| {
                let ends = !label.starts_with('-') && !label.ends_with('-');
                ends && !label.is_empty() && label.chars().count() <= 63 && plain(&label.replace('-', ""))
            };
            regex(r"^[a-zA-Z\p{L}]{2,63}$", top) && inner.iter().all(label_ok)
        }
        [] => false,
    };
    whole && text.len() <= 255 && labels.iter().all(|label| label.len() <= 63)
}

/// Whether Go's lenient parser, which accepts leading zeros, parses the text as an IP address.
pub(crate) fn parse_ip_sloppy(text: &str) -> bool {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().is_ok();
    }
    sloppy_v4(text).is_some()
}

fn sloppy_v4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = text.split('.').collect();
    let mut octets = [0u8; 4];
    if parts.len() != octets.len() {
        return None;
    }
    for (octet, part) in octets.iter_mut().zip(parts) {
        if part.is_empty() || part.len() > 9 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *octet = part.parse::<u32>().ok().and_then(|n| u8::try_from(n).ok())?;
    }
    Some(Ipv4Addr::from(octets))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let max = if address.contains(':') { 128 } else { 32 };
    let digits = !bits.is_empty() && bits.len() <= 3 && bits.bytes().all(|b| b.is_ascii_digit());
    parse_ip_sloppy(address) && digits && bits.parse::<u32>().is_ok_and(|bits| bits <= max)
}

fn is_mac(text: &str) -> bool {
    let hex = |part: &str, length: usize| part.len() == length && part.bytes().all(|b| b.is_ascii_hexdigit());
    let groups = |separator: char, length: usize, counts: &[usize]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len()) && parts.iter().all(|part| hex(part, length))
    };
    groups(':', 2, &[6, 8, 20]) || groups('-', 2, &[6, 8, 20]) || groups('.', 4, &[3, 4, 10])
}

fn isbn_digits(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '-').collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = isbn_digits(text);
    let bytes = digits.as_bytes();
    regex("^(?:[0-9]{9}X|[0-9]{10})$", &digits) && {
        let head: u32 = (0..9).map(|i| (i as u32 + 1) * u32::from(bytes[i] - b'0')).sum();
        let last = if bytes[9] == b'X' { 100 } else { 10 * u32::from(bytes[9] - b'0') };
        (head + last).is_multiple_of(11)
    }
}

fn is_isbn13(text: &str) -> bool {
    let digits = isbn_digits(text);
    regex("^(?:[0-9]{13})$", &digits) && {
        let digit = |i: usize| u32::from(digits.as_bytes()[i] - b'0');
        let sum: u32 = (0..12).map(|i| digit(i) * if i % 2 == 0 { 1 } else { 3 }).sum();
        digit(12) == (10 - sum % 10) % 10
    }
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let luhn = |(i, digit): (usize, u8)| {
        let n = u32::from(digit - b'0') * if i % 2 == 1 { 2 } else { 1 };
        if n >= 10 { n % 10 + 1 } else { n }
    };
    regex(CREDIT_CARD, &digits) && digits.bytes().rev().enumerate().map(luhn).sum::<u32>().is_multiple_of(10)
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(i, b)| if i == 4 || i == 7 { b == b'-' } else { b.is_ascii_digit() })
        && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let time_ok = |time: &str| {
        regex(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$", time)
            && &time[..2] <= "23"
            && &time[3..5] <= "59"
            && &time[6..8] <= "59"
    };
    text.len() >= 4 && is_date(date) && time_ok(time)
}

/// Parses a duration to nanoseconds: Go's syntax, or numbers with names of units.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    duration::parse(text).ok().or_else(|| named_duration(text))
}

fn named_duration(text: &str) -> Option<i64> {
    const UNITS: [(&[&str], i64); 8] = [
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], 1_000_000_000),
        (&["m", "min"], 60_000_000_000),
        (&["h", "hr", "hour"], 3_600_000_000_000),
        (&["d", "day"], 86_400_000_000_000),
        (&["w", "wk", "week"], 604_800_000_000_000),
    ];
    let matcher = pattern::compiled(r"((\d+)\s*([A-Za-zµ]+))").ok()?;
    let mut found = None;
    for capture in matcher.captures_iter(text) {
        let factor: i64 = capture[2].parse().ok()?;
        let unit = capture[3].to_lowercase();
        for (variants, scale) in UNITS {
            for (at, variant) in variants.iter().enumerate() {
                if (at + 1 == variants.len() && unit.starts_with(variant)) || unit == *variant {
                    found = Some(found.unwrap_or(0i64).wrapping_add(factor.wrapping_mul(scale)));
                }
            }
        }
    }
    found
}
