//! `format`: checks of texts. Unknown formats are accepted.

use std::net::Ipv6Addr;

use switchboard_object::quote::{quote, quote_for_time, quote_rune};
use switchboard_template::sprig::Regexp;

type FormatResult = Result<(), String>;

fn refuse(text: impl Into<String>) -> FormatResult {
    Err(text.into())
}

/// Checks that a text has the format.
pub fn check(format: &str, text: &str) -> FormatResult {
    match format {
        "regex" => Regexp::new(text.as_bytes()).map(|_| ()),
        "json-pointer" => json_pointer(text),
        "uuid" => uuid(text),
        "duration" => duration(text),
        "ipv4" => ipv4(text),
        "ipv6" => ipv6(text),
        "hostname" => hostname(text),
        "email" => email(text),
        "date" => date(text),
        "time" => time(text),
        "date-time" => date_time(text),
        "uri" | "iri" => uri(text),
        "uri-reference" | "iri-reference" if text.contains('\\') => refuse("contains \\"),
        "semver" => semver(text),
        _ => Ok(()),
    }
}

fn json_pointer(text: &str) -> FormatResult {
    if text.is_empty() {
        return Ok(());
    }
    if !text.starts_with('/') {
        return refuse("not starting with /");
    }
    let mut rest = text;
    while let Some(at) = rest.find('~') {
        rest = &rest[at + 1..];
        if !rest.starts_with(['0', '1']) {
            return refuse("~ must be followed by 0 or 1");
        }
    }
    Ok(())
}

fn uuid(text: &str) -> FormatResult {
    let lengths = [8, 4, 4, 4, 12];
    let groups: Vec<&str> = text.split('-').collect();
    if groups.len() != lengths.len() {
        return refuse("must have 5 elements");
    }
    for (index, (group, length)) in groups.iter().zip(lengths).enumerate() {
        if group.len() != length {
            return refuse(format!("element {} must be {length} characters long", index + 1));
        }
        if let Some(other) = group.chars().find(|c| !c.is_ascii_hexdigit()) {
            return refuse(format!("non-hex character {}", quote_rune(other, false)));
        }
    }
    Ok(())
}

fn duration(text: &str) -> FormatResult {
    let Some(rest) = text.strip_prefix('P') else { return refuse("must start with P") };
    if rest.is_empty() {
        return refuse("nothing after P");
    }
    if let Some(weeks) = rest.strip_suffix('W') {
        return match weeks {
            "" => refuse("no number in week"),
            weeks if weeks.bytes().all(|b| b.is_ascii_digit()) => Ok(()),
            _ => refuse("invalid week"),
        };
    }
    for (index, mut part) in rest.split('T').enumerate() {
        if index != 0 && part.is_empty() {
            return refuse("no time elements");
        }
        let all = match index {
            0 => "YMD",
            1 => "HMS",
            _ => return refuse("more than one T"),
        };
        let mut units = all;
        while !part.is_empty() {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                return refuse("missing number");
            }
            let Some(unit) = part[digits..].chars().next() else { return refuse("missing unit") };
            match units.find(unit) {
                Some(at) => units = &units[at + 1..],
                None if all.contains(unit) => return refuse(format!("unit {} out of order", quote_rune(unit, false))),
                None => return refuse(format!("invalid unit {}", quote_rune(unit, false))),
            }
            part = &part[digits + unit.len_utf8()..];
        }
    }
    Ok(())
}

fn ipv4(text: &str) -> FormatResult {
    let groups: Vec<&str> = text.split('.').collect();
    if groups.len() != 4 {
        return refuse("expected four decimals");
    }
    for group in groups {
        if group.len() > 1 && group.starts_with('0') {
            return refuse("leading zeros");
        }
        match group.parse::<i64>() {
            Ok(0..=255) => {}
            Ok(_) => return refuse("decimal must be between 0 and 255"),
            Err(_) => return refuse(format!("strconv.Atoi: parsing {}: invalid syntax", quote(group))),
        }
    }
    Ok(())
}

fn ipv6(text: &str) -> FormatResult {
    if !text.contains(':') {
        return refuse("missing colon");
    }
    if text.contains('%') {
        return refuse("zone id is not a part of ipv6 address");
    }
    match text.parse::<Ipv6Addr>() {
        Ok(_) => Ok(()),
        Err(_) => refuse(format!("ParseAddr({}): unable to parse IP", quote(text))),
    }
}

fn hostname(text: &str) -> FormatResult {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() > 253 {
        return refuse("more than 253 characters long");
    }
    for label in text.split('.') {
        if label.is_empty() || label.len() > 63 {
            return refuse("label must be 1 to 63 characters long");
        }
        if label.starts_with('-') {
            return refuse("label starts with hyphen");
        }
        if label.ends_with('-') {
            return refuse("label ends with hyphen");
        }
        if let Some(other) = label.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '-') {
            return refuse(format!("invalid character {}", quote_rune(other, false)));
        }
    }
    Ok(())
}

fn email(text: &str) -> FormatResult {
    if text.len() > 254 {
        return refuse("more than 255 characters long");
    }
    let Some((local, domain)) = text.rsplit_once('@') else { return refuse("missing @") };
    if local.len() > 64 {
        return refuse("local part more than 64 characters long");
    }
    if local.len() > 1 && local.starts_with('"') && local.ends_with('"') {
        if local[1..local.len() - 1].contains(['\\', '"']) {
            return refuse("backslash and quote are not allowed within quoted local part");
        }
    } else {
        local_part(local)?;
    }
    if let Some(address) = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return match address.strip_prefix("IPv6:") {
            Some(address) => ipv6(address).map_err(|problem| format!("invalid ipv6 address: {problem}")),
            None => ipv4(address).map_err(|problem| format!("invalid ipv4 address: {problem}")),
        };
    }
    hostname(domain).map_err(|problem| format!("invalid domain: {problem}"))
}

fn local_part(local: &str) -> FormatResult {
    if local.starts_with('.') {
        return refuse("starts with dot");
    }
    if local.ends_with('.') {
        return refuse("ends with dot");
    }
    if local.contains("..") {
        return refuse("consecutive dots");
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(c);
    match local.chars().find(|c| !legal(*c)) {
        Some(other) => refuse(format!("invalid character {}", quote_rune(other, false))),
        None => Ok(()),
    }
}

fn date(text: &str) -> FormatResult {
    let bytes = text.as_bytes();
    let quoted = quote_for_time(bytes);
    let number = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<u32>().ok());
    let shaped = bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-';
    let parts = (number(0, 4), number(5, 7), number(8, 10));
    let (Some(year), Some(month), Some(day)) = parts else {
        return refuse(format!("parsing time {quoted} as \"2006-01-02\": cannot parse {quoted} as \"2006\""));
    };
    if !shaped {
        return refuse(format!("parsing time {quoted} as \"2006-01-02\": cannot parse {quoted} as \"2006\""));
    }
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    };
    if !(1..=12).contains(&month) {
        return refuse(format!("parsing time {quoted}: month out of range"));
    }
    if day == 0 || day > days {
        return refuse(format!("parsing time {quoted}: day out of range"));
    }
    Ok(())
}

fn time(text: &str) -> FormatResult {
    let bytes = text.as_bytes();
    if bytes.len() < 9 {
        return refuse("less than 9 characters long");
    }
    if bytes[2] != b':' || bytes[5] != b':' {
        return refuse("missing colon in correct place");
    }
    let number = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<u32>().ok());
    let (Some(hour), Some(minute), Some(second)) = (number(0, 2), number(3, 5), number(6, 8)) else {
        return refuse("invalid hour/min/sec");
    };
    if hour > 23 || minute > 59 || second > 60 {
        return refuse("hour/min/sec out of range");
    }
    let mut rest = &text[8..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return refuse("no digits in second fraction");
        }
        rest = &fraction[digits..];
    }
    offset(rest)
}

fn offset(text: &str) -> FormatResult {
    if text.eq_ignore_ascii_case("z") {
        return Ok(());
    }
    if text.len() != 6 {
        return refuse("offset must be 6 characters long");
    }
    if !text.starts_with(['+', '-']) {
        return refuse("offset must begin with plus/minus");
    }
    if text.as_bytes()[3] != b':' {
        return refuse("missing colon in offset in correct place");
    }
    let number = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<u32>().ok());
    match (number(1, 3), number(4, 6)) {
        (Some(0..=23), Some(0..=59)) => Ok(()),
        (Some(_), Some(_)) => refuse("hour/min in offset out of range"),
        _ => refuse("invalid hour/min in offset"),
    }
}

fn date_time(text: &str) -> FormatResult {
    if text.len() < 20 {
        return refuse("less than 20 characters long");
    }
    if !matches!(text.as_bytes()[10], b't' | b'T') || !text.is_char_boundary(10) {
        return refuse("11th character must be t or T");
    }
    date(&text[..10]).map_err(|problem| format!("invalid date element: {problem}"))?;
    time(&text[11..]).map_err(|problem| format!("invalid time element: {problem}"))
}

fn uri(text: &str) -> FormatResult {
    let scheme = text.split(':').next().filter(|scheme| scheme.len() < text.len()).unwrap_or_default();
    let first = scheme.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let legal = scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if first && legal { Ok(()) } else { refuse("relative url") }
}

/// Checks a version in the order of the schema validator, whose texts differ from those of Go's version libraries:
/// identifiers first, leading zeros of a pre-release are allowed, and a number may have any length.
fn semver(text: &str) -> FormatResult {
    let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
    let (core, pre) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
    for (what, part) in [("build", build), ("pre-release", pre)] {
        for id in part.into_iter().flat_map(|part| part.split('.')) {
            if id.is_empty() {
                return refuse(format!("{what} identifier is empty"));
            }
            if let Some(other) = id.chars().find(|c| !c.is_ascii_alphanumeric() && *c != '-') {
                return refuse(format!("invalid character {} in {what} identifier", quote_rune(other, false)));
            }
        }
    }
    let numbers: Vec<&str> = core.split('.').collect();
    if numbers.len() != 3 {
        return refuse("versionCore must have 3 numbers separated by dot");
    }
    for (name, number) in ["major", "minor", "patch"].iter().zip(numbers) {
        if number.is_empty() {
            return refuse(format!("{name} is empty"));
        }
        if number.len() > 1 && number.starts_with('0') {
            return refuse(format!("{name} starts with zero"));
        }
        if !number.bytes().all(|b| b.is_ascii_digit()) {
            return refuse(format!("{name} contains non-digit"));
        }
    }
    Ok(())
}
