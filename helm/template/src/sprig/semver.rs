//! Versions and constraints of Masterminds/semver: v3 (sprig v3) and v1.5 (sprig v2).
//!
//! The rules of npm and Cargo do not fit: prereleases are checked per AND group, `x` may appear anywhere, and `-`
//! denotes ranges.

mod v1;
mod v3;

use std::cmp::Ordering;
use std::sync::LazyLock;

use regex::Regex;
use thiserror::Error;

pub use v1::ConstraintsV1;
pub use v3::ConstraintsV3;

/// Maximum length of a version.
const MAX_VERSION_BYTES: usize = 256;

/// Error of parsing a version or constraint, with the text of Masterminds/semver.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SemverError(pub String);

fn refuse<T>(text: impl Into<String>) -> Result<T, SemverError> {
    Err(SemverError(text.into()))
}

/// Major version of Masterminds/semver. Error texts and a few rules differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SemverGeneration {
    /// Masterminds/semver 1.5, under sprig v2.
    V1,
    /// Masterminds/semver/v3, under sprig v3.
    V3,
}

/// A semantic version and its original text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    /// Text from which the version was parsed.
    pub original: String,
}

static LOOSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?",
        r"(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?$"
    ))
    .expect("the version pattern is constant")
});

impl SemVersion {
    /// Parses a version. Missing numbers are zero: `1.2` is `1.2.0`.
    pub fn parse(text: &str, generation: SemverGeneration) -> Result<SemVersion, SemverError> {
        if generation == SemverGeneration::V3 && text.len() > MAX_VERSION_BYTES {
            return refuse(format!("version string is too long (max {MAX_VERSION_BYTES} bytes)"));
        }
        let Some(found) = LOOSE.captures(text) else {
            return refuse(match generation {
                SemverGeneration::V1 => "Invalid Semantic Version",
                SemverGeneration::V3 => "invalid semantic version",
            });
        };
        let part = |index: usize| found.get(index).map_or("", |m| m.as_str());
        let version = SemVersion {
            major: segment(part(1), generation)?,
            minor: segment(part(2), generation)?,
            patch: segment(part(3), generation)?,
            pre: part(5).to_string(),
            metadata: part(8).to_string(),
            original: text.to_string(),
        };
        // Of the texts that match the pattern, v3 only rejects numbers with a leading zero.
        let zero_led = |p: &str| p.len() > 1 && p.starts_with('0') && p.bytes().all(|b| b.is_ascii_digit());
        if generation == SemverGeneration::V3 && version.pre.split('.').any(zero_led) {
            return refuse("version segment starts with 0");
        }
        Ok(version)
    }

    /// Returns this version with other numbers and without prerelease and metadata.
    fn next(&self, major: u64, minor: u64, patch: u64) -> SemVersion {
        let prefix = if self.original.starts_with('v') { "v" } else { "" };
        let mut next =
            SemVersion { major, minor, patch, pre: String::new(), metadata: String::new(), original: String::new() };
        next.original = format!("{prefix}{next}");
        next
    }

    /// Implements Go's `IncMajor`.
    pub fn next_major(&self) -> SemVersion {
        self.next(self.major.wrapping_add(1), 0, 0)
    }

    /// Implements Go's `IncMinor`.
    pub fn next_minor(&self) -> SemVersion {
        self.next(self.major, self.minor.wrapping_add(1), 0)
    }

    /// Implements Go's `IncPatch`: the next patch of a prerelease is its release.
    pub fn next_patch(&self) -> SemVersion {
        let step = u64::from(self.pre.is_empty());
        self.next(self.major, self.minor, self.patch.wrapping_add(step))
    }

    /// Compares by precedence. Metadata does not count.
    pub fn compare(&self, other: &SemVersion) -> Ordering {
        let numbers = (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch));
        numbers.then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_prereleases(&self.pre, &other.pre),
        })
    }
}

impl std::fmt::Display for SemVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

/// Parses one number with an optional leading dot. An empty text is 0.
fn segment(text: &str, generation: SemverGeneration) -> Result<u64, SemverError> {
    let digits = text.strip_prefix('.').unwrap_or(text);
    if digits.is_empty() {
        return Ok(0);
    }
    let (number, call, word) = match generation {
        SemverGeneration::V1 => (digits.parse::<i64>().ok().and_then(|n| u64::try_from(n).ok()), "ParseInt", "Error"),
        SemverGeneration::V3 => (digits.parse::<u64>().ok(), "ParseUint", "error"),
    };
    let range = || format!("{word} parsing version segment: strconv.{call}: parsing \"{digits}\": value out of range");
    number.ok_or_else(|| SemverError(range()))
}

fn compare_prereleases(a: &str, b: &str) -> Ordering {
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

/// Compares numbers by value and puts them below words. The pattern does not allow a text such as `+5`, so `parse`
/// agrees with Go's.
fn compare_parts(a: &str, b: &str) -> Ordering {
    match (a.parse::<u64>(), b.parse::<u64>()) {
        _ if a == b => Ordering::Equal,
        (Ok(x), Ok(y)) if x > y => Ordering::Greater,
        (Ok(_), Ok(_)) => Ordering::Less,
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

#[cfg(test)]
mod tests;
