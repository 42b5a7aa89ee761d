//! Semantic versions: their order, and the two grammars of Go's libraries.
//!
//! blang/semver, which CEL uses, accepts <https://semver.org> only. Masterminds/semver, which Helm uses, accepts a leading
//! `v`, missing numbers and leading zeros as well.

use std::cmp::Ordering;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use crate::quote::quote;

/// A semantic version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SemVersion {
    /// Major number.
    pub major: u64,
    /// Minor number.
    pub minor: u64,
    /// Patch number.
    pub patch: u64,
    /// Prerelease: the text after `-`.
    pub pre: String,
    /// Metadata: the text after `+`.
    pub metadata: String,
}

/// Error of [`SemVersion::parse_loose`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LooseVersionError {
    /// The text is no version.
    #[error("invalid semantic version")]
    Syntax,
    /// A number is too large.
    #[error("value out of range: {0}")]
    OutOfRange(String),
}

static LOOSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?",
        r"(?:\+([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?$"
    ))
    .expect("the version pattern is constant")
});

impl SemVersion {
    /// Parses a version like blang/semver.
    ///
    /// # Errors
    /// If the text is not exactly a semantic version, with the texts of blang/semver.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".into());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts.as_slice() else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let (major, minor) = (strict_number(major, "Major")?, strict_number(minor, "Minor")?);
        let (rest, metadata) = rest.split_once('+').map_or((*rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, pre) = rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
        let patch = strict_number(patch, "Patch")?;
        pre.into_iter().flat_map(|pre| pre.split('.')).try_for_each(check_prerelease)?;
        metadata.into_iter().flat_map(|build| build.split('.')).try_for_each(check_metadata)?;
        let owned = |part: Option<&str>| part.unwrap_or_default().to_string();
        Ok(Self { major, minor, patch, pre: owned(pre), metadata: owned(metadata) })
    }

    /// Parses a version like Masterminds/semver. Missing numbers are zero: `1.2` is `1.2.0`. No number exceeds
    /// `max_number`.
    ///
    /// # Errors
    /// If the text is no version.
    pub fn parse_loose(text: &str, max_number: u64) -> Result<Self, LooseVersionError> {
        let found = LOOSE.captures(text).ok_or(LooseVersionError::Syntax)?;
        let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
        let number = |index: usize| match part(index) {
            "" => Ok(0),
            digits => digits
                .parse::<u64>()
                .ok()
                .filter(|number| *number <= max_number)
                .ok_or_else(|| LooseVersionError::OutOfRange(digits.to_string())),
        };
        let (pre, metadata) = (part(4).to_string(), part(5).to_string());
        Ok(Self { major: number(1)?, minor: number(2)?, patch: number(3)?, pre, metadata })
    }

    /// Compares by precedence. Metadata does not count.
    pub fn compare(&self, other: &Self) -> Ordering {
        let numbers = (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch));
        numbers.then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_prereleases(&self.pre, &other.pre),
        })
    }
}

impl fmt::Display for SemVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

/// Compares prereleases part by part, even if one of them is empty.
pub fn compare_prereleases(a: &str, b: &str) -> Ordering {
    let (mut ours, mut theirs) = (a.split('.'), b.split('.'));
    loop {
        let order = match (ours.next(), theirs.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => compare_parts(a, b),
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// Compares numbers by value and puts them below words. The grammars do not allow a text such as `+5`, so `parse`
/// agrees with Go's.
fn compare_parts(a: &str, b: &str) -> Ordering {
    match (a.parse::<u64>(), b.parse::<u64>()) {
        _ if a == b => Ordering::Equal,
        (Ok(x), Ok(y)) if x > y => Ordering::Greater,
        (Ok(_), _) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

fn strict_number(text: &str, name: &str) -> Result<u64, String> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {} number {}", name.to_lowercase(), quote(text)));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{name} number must not contain leading zeroes {}", quote(text)));
    }
    let reason = if text.is_empty() { "invalid syntax" } else { "value out of range" };
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing {}: {reason}", quote(text)))
}

/// Whether all characters are allowed in a part of a prerelease or of metadata.
pub fn is_identifier(part: &str) -> bool {
    part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Whether a part of a prerelease is a number with a leading zero.
pub fn has_leading_zero(part: &str) -> bool {
    part.len() > 1 && part.starts_with('0') && part.bytes().all(|b| b.is_ascii_digit())
}

fn check_prerelease(part: &str) -> Result<(), String> {
    if part.is_empty() {
        return Err("Prerelease is empty".into());
    }
    if has_leading_zero(part) {
        return Err(format!("Numeric PreRelease version must not contain leading zeroes {}", quote(part)));
    }
    if is_identifier(part) { Ok(()) } else { Err(format!("Invalid character(s) found in prerelease {}", quote(part))) }
}

fn check_metadata(part: &str) -> Result<(), String> {
    if part.is_empty() {
        return Err("Build meta data is empty".into());
    }
    if is_identifier(part) {
        Ok(())
    } else {
        Err(format!("Invalid character(s) found in build meta data {}", quote(part)))
    }
}

#[cfg(test)]
mod tests;
