//! Versions and constraints as Masterminds/semver reads them: v3 (sprig v3) and v1.5 (sprig v2).
//!
//! Neither npm's nor Cargo's rules fit: prereleases are judged per AND group, `x` may stand anywhere, `-` makes ranges.

mod constraint;
mod first;

use std::cmp::Ordering;
use std::sync::LazyLock;

use regex::Regex;
use thiserror::Error;

pub use constraint::Constraints;
pub use first::FirstConstraints;

/// Longest version text that is read.
const MAX_VERSION_BYTES: usize = 256;

/// What is wrong with a version or a constraint, in the words of Masterminds/semver.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SemverError(pub String);

fn refuse<T>(text: impl Into<String>) -> Result<T, SemverError> {
    Err(SemverError(text.into()))
}

/// Which generation of the Go package speaks: error texts and a few rules differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// Masterminds/semver 1.5, under sprig v2.
    First,
    /// Masterminds/semver/v3, under sprig v3.
    Third,
}

/// One semantic version, kept with the text it came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Version {
    /// First number.
    pub major: u64,
    /// Second number.
    pub minor: u64,
    /// Third number.
    pub patch: u64,
    /// Text behind `-`.
    pub pre: String,
    /// Text behind `+`.
    pub metadata: String,
    /// The text as it was given.
    pub original: String,
}

static LOOSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?",
        r"(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?$"
    ))
    .expect("the version pattern is constant")
});

impl Version {
    /// Reads a version, filling up missing numbers (`1.2` is `1.2.0`).
    pub fn parse(text: &str, generation: Generation) -> Result<Version, SemverError> {
        if generation == Generation::Third && text.len() > MAX_VERSION_BYTES {
            return refuse(format!("version string is too long (max {MAX_VERSION_BYTES} bytes)"));
        }
        let Some(found) = LOOSE.captures(text) else {
            return refuse(match generation {
                Generation::First => "Invalid Semantic Version",
                Generation::Third => "invalid semantic version",
            });
        };
        let part = |index: usize| found.get(index).map_or("", |m| m.as_str());
        let version = Version {
            major: segment(part(1), generation)?,
            minor: segment(part(2), generation)?,
            patch: segment(part(3), generation)?,
            pre: part(5).to_string(),
            metadata: part(8).to_string(),
            original: text.to_string(),
        };
        // The pattern lets through nothing else that v3 refuses than numbers with a leading zero.
        let zero_led = |p: &str| p.len() > 1 && p.starts_with('0') && p.bytes().all(|b| b.is_ascii_digit());
        if generation == Generation::Third && version.pre.split('.').any(zero_led) {
            return refuse("version segment starts with 0");
        }
        Ok(version)
    }

    /// The version after this one at the place named, without prerelease and metadata.
    fn next(&self, major: u64, minor: u64, patch: u64) -> Version {
        let prefix = if self.original.starts_with('v') { "v" } else { "" };
        let mut next =
            Version { major, minor, patch, pre: String::new(), metadata: String::new(), original: String::new() };
        next.original = format!("{prefix}{next}");
        next
    }

    /// Go's `IncMajor`.
    pub fn next_major(&self) -> Version {
        self.next(self.major.wrapping_add(1), 0, 0)
    }

    /// Go's `IncMinor`.
    pub fn next_minor(&self) -> Version {
        self.next(self.major, self.minor.wrapping_add(1), 0)
    }

    /// Go's `IncPatch`: a prerelease's next patch is its release.
    pub fn next_patch(&self) -> Version {
        let step = u64::from(self.pre.is_empty());
        self.next(self.major, self.minor, self.patch.wrapping_add(step))
    }

    /// Order of precedence; metadata does not count.
    pub fn compare(&self, other: &Version) -> Ordering {
        let numbers = (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch));
        numbers.then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare_prereleases(&self.pre, &other.pre),
        })
    }
}

impl std::fmt::Display for Version {
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

/// One number, with or without the dot in front; nothing is 0.
fn segment(text: &str, generation: Generation) -> Result<u64, SemverError> {
    let digits = text.strip_prefix('.').unwrap_or(text);
    if digits.is_empty() {
        return Ok(0);
    }
    let (number, call, word) = match generation {
        Generation::First => (digits.parse::<i64>().ok().and_then(|n| u64::try_from(n).ok()), "ParseInt", "Error"),
        Generation::Third => (digits.parse::<u64>().ok(), "ParseUint", "error"),
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

/// Numbers by value and below words. The text `+5` is none that the pattern lets through, so `parse` agrees with Go's.
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
