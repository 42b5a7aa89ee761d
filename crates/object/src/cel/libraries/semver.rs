//! Semantic versions.

use std::cmp::Ordering;

use crate::cel::value::{Outcome, Val};

/// A version; build metadata does not count.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cel) struct Semver {
    numbers: [u64; 3],
    pre: Vec<String>,
}

impl Semver {
    /// Reads a version; `normalize` takes a leading `v`, missing numbers and leading zeros.
    pub fn parse(text: &str, normalize: bool) -> Result<Self, String> {
        let normalized;
        let text = if normalize {
            normalized = normal(text)?;
            normalized.as_str()
        } else {
            text
        };
        if text.is_empty() {
            return Err("Version string empty".into());
        }
        let (core, build) = text.split_once('+').unwrap_or((text, ""));
        let (core, pre) = core.split_once('-').map_or((core, None), |(core, pre)| (core, Some(pre)));
        let parts: Vec<&str> = core.split('.').collect();
        let [major, minor, patch] = parts.as_slice() else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let identifiers = |text: &str| text.split('.').map(String::from).collect::<Vec<_>>();
        let pre = pre.map(identifiers).unwrap_or_default();
        let good = |part: &String| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if !pre.iter().all(good) || (text.contains('+') && !identifiers(build).iter().all(good)) {
            return Err("Invalid character(s) found in prerelease or build meta data".into());
        }
        Ok(Self { numbers: [number(major)?, number(minor)?, number(patch)?], pre })
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_pre(&self.pre, &other.pre),
        })
    }
}

fn number(text: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in number {text:?}"));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("number must not contain leading zeroes {text:?}"));
    }
    text.parse().map_err(|_| format!("number out of range {text:?}"))
}

fn compare_pre(a: &[String], b: &[String]) -> Ordering {
    for (a, b) in a.iter().zip(b) {
        let order = match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        };
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

fn normal(text: &str) -> Result<String, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(String::from).collect();
    for part in &mut parts {
        if part.len() > 1 {
            let trimmed = part.trim_start_matches('0');
            *part = match trimmed.starts_with(|c: char| c.is_ascii_digit()) {
                true => trimmed.to_string(),
                false => format!("0{trimmed}"),
            };
        }
    }
    if parts.len() < 3 {
        if parts.last().is_some_and(|part| part.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".into());
        }
        parts.resize(3, "0".into());
    }
    Ok(parts.join("."))
}

pub(in crate::cel) fn method<'a>(name: &str, version: &Semver, rest: &[Val<'a>]) -> Option<Outcome<'a>> {
    let int = |n: u64| Val::Int(i64::try_from(n).unwrap_or(i64::MAX));
    Some(Ok(match (name, rest) {
        ("isGreaterThan", [Val::Semver(other)]) => Val::Bool(version.compare(other).is_gt()),
        ("isLessThan", [Val::Semver(other)]) => Val::Bool(version.compare(other).is_lt()),
        ("compareTo", [Val::Semver(other)]) => Val::Int(version.compare(other) as i64),
        ("major", []) => int(version.numbers[0]),
        ("minor", []) => int(version.numbers[1]),
        ("patch", []) => int(version.numbers[2]),
        _ => return None,
    }))
}
