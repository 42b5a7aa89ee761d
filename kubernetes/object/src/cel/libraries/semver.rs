//! Semantic versions.

use std::cmp::Ordering;

use crate::cel::value::{CelValue, EvalResult};

/// Semantic version. Build metadata is ignored.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cel) struct Semver {
    numbers: [u64; 3],
    pre: Vec<String>,
}

impl Semver {
    /// Parses a version. `normalize` accepts a leading `v`, missing numbers and leading zeros.
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
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts.as_slice() else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let numbers = [number(major, "Major")?, number(minor, "Minor")?];
        let (rest, build) = rest.split_once('+').map_or((*rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, pre) = rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
        let patch = number(patch, "Patch")?;
        let pre: Vec<String> = pre.into_iter().flat_map(|pre| pre.split('.')).map(String::from).collect();
        pre.iter().try_for_each(|part| check_pre(part))?;
        build.into_iter().flat_map(|build| build.split('.')).try_for_each(check_build)?;
        Ok(Self { numbers: [numbers[0], numbers[1], patch], pre })
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

fn number(text: &str, which: &str) -> Result<u64, String> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {} number {text:?}", which.to_lowercase()));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{which} number must not contain leading zeroes {text:?}"));
    }
    let why = if text.is_empty() { "invalid syntax" } else { "value out of range" };
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing {text:?}: {why}"))
}

fn is_identifier(part: &str) -> bool {
    part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn check_pre(part: &str) -> Result<(), String> {
    let numeric = part.bytes().all(|b| b.is_ascii_digit());
    if part.is_empty() {
        return Err("Prerelease is empty".into());
    }
    if numeric && part.len() > 1 && part.starts_with('0') {
        return Err(format!("Numeric PreRelease version must not contain leading zeroes {part:?}"));
    }
    if is_identifier(part) { Ok(()) } else { Err(format!("Invalid character(s) found in prerelease {part:?}")) }
}

fn check_build(part: &str) -> Result<(), String> {
    if part.is_empty() {
        return Err("Build meta data is empty".into());
    }
    if is_identifier(part) { Ok(()) } else { Err(format!("Invalid character(s) found in build meta data {part:?}")) }
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

pub(in crate::cel) fn method<'a>(name: &str, version: &Semver, rest: &[CelValue<'a>]) -> Option<EvalResult<'a>> {
    let int = |n: u64| CelValue::Int(i64::try_from(n).unwrap_or(i64::MAX));
    Some(Ok(match (name, rest) {
        ("isGreaterThan", [CelValue::Semver(other)]) => CelValue::Bool(version.compare(other).is_gt()),
        ("isLessThan", [CelValue::Semver(other)]) => CelValue::Bool(version.compare(other).is_lt()),
        ("compareTo", [CelValue::Semver(other)]) => CelValue::Int(version.compare(other) as i64),
        ("major", []) => int(version.numbers[0]),
        ("minor", []) => int(version.numbers[1]),
        ("patch", []) => int(version.numbers[2]),
        _ => return None,
    }))
}
