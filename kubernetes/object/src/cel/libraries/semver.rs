//! Semantic versions.

use crate::cel::value::{CelValue, EvalResult};
use crate::semver::SemVersion;

/// Semantic version. Equality is that of precedence, which ignores build metadata.
#[derive(Clone, Debug)]
pub(in crate::cel) struct Semver(SemVersion);

impl PartialEq for Semver {
    fn eq(&self, other: &Self) -> bool {
        self.0.compare(&other.0).is_eq()
    }
}

impl Semver {
    /// Parses a version. `normalize` accepts a leading `v`, missing numbers and leading zeros.
    pub fn parse(text: &str, normalize: bool) -> Result<Self, String> {
        if normalize { SemVersion::parse(&normal(text)?) } else { SemVersion::parse(text) }.map(Self)
    }
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
    let order = |other: &Semver| version.0.compare(&other.0);
    Some(Ok(match (name, rest) {
        ("isGreaterThan", [CelValue::Semver(other)]) => CelValue::Bool(order(other).is_gt()),
        ("isLessThan", [CelValue::Semver(other)]) => CelValue::Bool(order(other).is_lt()),
        ("compareTo", [CelValue::Semver(other)]) => CelValue::Int(order(other) as i64),
        ("major", []) => int(version.0.major),
        ("minor", []) => int(version.0.minor),
        ("patch", []) => int(version.0.patch),
        _ => return None,
    }))
}
