//! IP addresses and networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::cel::value::{CelValue, EvalError, EvalResult};
use crate::quote::quote;

/// Network: an address and a prefix length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cel) struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// Parses an IP address. Leading zeros, zones and IPv4 addresses inside IPv6 are refused.
pub(in crate::cel) fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let failed = |why: &str| format!("IP Address {} parse error during conversion from string: {why}", quote(text));
    if text.contains('%') && text.contains(':') {
        return Err(format!("IP address {} with zone value is not allowed", quote(text)));
    }
    let address: IpAddr = text.parse().map_err(|_| failed(&parse_error(text)))?;
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text)))
        }
        address => Ok(address),
    }
}

/// Returns Go's error text for an invalid address.
fn parse_error(text: &str) -> String {
    let why = match text.find(['.', ':']).map(|at| &text[at..=at]) {
        Some(".") => v4_error(text),
        Some(_) => v6_error(text),
        None => "unable to parse IP".to_string(),
    };
    format!("ParseAddr({}): {why}", quote(text))
}

fn v4_error(text: &str) -> String {
    let (mut value, mut position, mut digits) = (0u32, 0, 0);
    for (at, c) in text.char_indices() {
        match c.to_digit(10) {
            Some(_) if digits == 1 && value == 0 => return "IPv4 field has octet with leading zero".into(),
            Some(digit) => {
                value = value * 10 + digit;
                digits += 1;
                if value > 255 {
                    return "IPv4 field has value >255".into();
                }
            }
            None if c == '.' => {
                if digits == 0 || at + 1 == text.len() {
                    return format!("IPv4 field must have at least one digit (at {})", quote(&text[at..]));
                }
                if position == 3 {
                    return "IPv4 address too long".into();
                }
                (value, digits) = (0, 0);
                position += 1;
            }
            None => return format!("unexpected character (at {})", quote(&text[at..])),
        }
    }
    "IPv4 address too short".into()
}

fn v6_error(text: &str) -> String {
    let mut rest = text.strip_prefix("::").unwrap_or(text);
    let mut fields = 0;
    let mut shortened = text.starts_with("::");
    while !rest.is_empty() && fields < 8 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return format!("each group must have 4 or less digits (at {})", quote(rest));
        }
        if digits == 0 {
            return format!("each colon-separated field must have at least one digit (at {})", quote(rest));
        }
        fields += 1;
        rest = &rest[digits..];
        if let Some(tail) = rest.strip_prefix("::") {
            if shortened {
                return format!("multiple :: in address (at {})", quote(&rest[1..]));
            }
            shortened = true;
            rest = tail;
        } else if let Some(tail) = rest.strip_prefix(':') {
            if tail.is_empty() {
                return format!("colon must be followed by more characters (at {})", quote(rest));
            }
            rest = tail;
        } else if !rest.is_empty() {
            return format!("unexpected character, want colon (at {})", quote(rest));
        }
    }
    if rest.is_empty() { "address string too short".into() } else { "trailing garbage after address".into() }
}

fn width(address: &IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from(u32::from(v4) & mask))
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(v6) & mask))
        }
    }
}

impl Cidr {
    pub fn parse(text: &str) -> Result<Self, String> {
        let failed = |why: String| {
            let words = "network address parse error during conversion from string";
            format!("{words}: {words}: netip.ParsePrefix({}): {why}", quote(text))
        };
        let (address, bits) = text.rsplit_once('/').ok_or_else(|| failed("no '/'".into()))?;
        let address: IpAddr = address.parse().map_err(|_| failed(parse_error(address)))?;
        let digits =
            !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit()) && (bits.len() == 1 || !bits.starts_with('0'));
        let bits: u8 = match bits.parse() {
            Ok(bits) if digits && bits <= width(&address) => bits,
            Ok(_) if digits => return Err(failed("prefix length out of range".into())),
            _ => return Err(failed(format!("bad bits after slash: {}", quote(bits)))),
        };
        match address {
            IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
                let why = format!("IPv4-mapped IPv6 address {} is not allowed", quote(text));
                Err(format!("network address parse error during conversion from string: {why}"))
            }
            address => Ok(Self { address, bits }),
        }
    }

    fn contains(&self, ip: IpAddr) -> bool {
        self.address.is_ipv4() == ip.is_ipv4() && masked(self.address, self.bits) == masked(ip, self.bits)
    }
}

pub(in crate::cel) fn method<'a>(name: &str, arguments: &[CelValue<'a>]) -> Option<EvalResult<'a>> {
    let bool = |value: bool| Some(Ok(CelValue::Bool(value)));
    match (name, arguments) {
        ("family", [CelValue::Ip(ip)]) => Some(Ok(CelValue::Int(if ip.is_ipv4() { 4 } else { 6 }))),
        ("isUnspecified", [CelValue::Ip(ip)]) => bool(ip.is_unspecified()),
        ("isLoopback", [CelValue::Ip(ip)]) => bool(ip.is_loopback()),
        ("isLinkLocalMulticast", [CelValue::Ip(ip)]) => bool(link_local_multicast(ip)),
        ("isLinkLocalUnicast", [CelValue::Ip(ip)]) => bool(link_local(ip)),
        ("isGlobalUnicast", [CelValue::Ip(ip)]) => bool(global(ip)),
        ("string", [value]) => Some(Ok(CelValue::text(crate::cel::functions::display_text(value)))),
        ("containsIP", [CelValue::Cidr(cidr), CelValue::Ip(ip)]) => bool(cidr.contains(*ip)),
        ("containsIP", [CelValue::Cidr(cidr), CelValue::Text(text)]) => {
            // cel-go drops the parse error of the text here.
            Some(parse_ip(text).map(|ip| CelValue::Bool(cidr.contains(ip))).map_err(|_| EvalError::overload()))
        }
        ("containsCIDR", [CelValue::Cidr(cidr), CelValue::Cidr(other)]) => bool(contains_cidr(cidr, other)),
        ("containsCIDR", [CelValue::Cidr(cidr), CelValue::Text(text)]) => {
            Some(Cidr::parse(text).map(|other| CelValue::Bool(contains_cidr(cidr, &other))).map_err(EvalError::text))
        }
        ("ip", [CelValue::Cidr(cidr)]) => Some(Ok(CelValue::Ip(cidr.address))),
        ("prefixLength", [CelValue::Cidr(cidr)]) => Some(Ok(CelValue::Int(i64::from(cidr.bits)))),
        ("masked", [CelValue::Cidr(cidr)]) => {
            Some(Ok(CelValue::Cidr(Cidr { address: masked(cidr.address, cidr.bits), bits: cidr.bits })))
        }
        _ => None,
    }
}

fn contains_cidr(cidr: &Cidr, other: &Cidr) -> bool {
    cidr.bits <= other.bits && cidr.contains(other.address)
}

fn link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn link_local_multicast(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    }
}

fn global(ip: &IpAddr) -> bool {
    let broadcast = *ip == IpAddr::V4(Ipv4Addr::BROADCAST);
    !broadcast && !ip.is_unspecified() && !ip.is_loopback() && !ip.is_multicast() && !link_local(ip)
}
