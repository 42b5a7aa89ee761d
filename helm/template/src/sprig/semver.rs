//! Versions and constraints of Masterminds/semver: v3 (sprig v3) and v1.5 (sprig v2).
//!
//! The rules of npm and Cargo do not fit: prereleases are checked per AND group, `x` may appear anywhere, and `-`
//! denotes ranges.

mod v1;
mod v3;

pub use switchboard_object::semver::SemVersion;
use switchboard_object::semver::{LooseVersionError, has_leading_zero};
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

/// Parses a version. Missing numbers are zero: `1.2` is `1.2.0`.
pub fn parse_version(text: &str, generation: SemverGeneration) -> Result<SemVersion, SemverError> {
    if generation == SemverGeneration::V3 && text.len() > MAX_VERSION_BYTES {
        return refuse(format!("version string is too long (max {MAX_VERSION_BYTES} bytes)"));
    }
    let (max_number, call, word, invalid) = match generation {
        SemverGeneration::V1 => (i64::MAX as u64, "ParseInt", "Error", "Invalid Semantic Version"),
        SemverGeneration::V3 => (u64::MAX, "ParseUint", "error", "invalid semantic version"),
    };
    let version = SemVersion::parse_loose(text, max_number).or_else(|error| match error {
        LooseVersionError::Syntax => refuse(invalid),
        LooseVersionError::OutOfRange(digits) => {
            refuse(format!("{word} parsing version segment: strconv.{call}: parsing \"{digits}\": value out of range"))
        }
    })?;
    // Of the texts that match the pattern, v3 only rejects numbers with a leading zero.
    if generation == SemverGeneration::V3 && version.pre.split('.').any(has_leading_zero) {
        return refuse("version segment starts with 0");
    }
    Ok(version)
}

/// Implements Go's `IncMajor`.
pub fn next_major(version: &SemVersion) -> SemVersion {
    SemVersion { major: version.major.wrapping_add(1), ..SemVersion::default() }
}

/// Implements Go's `IncMinor`.
pub fn next_minor(version: &SemVersion) -> SemVersion {
    SemVersion { major: version.major, minor: version.minor.wrapping_add(1), ..SemVersion::default() }
}

/// Implements Go's `IncPatch`: the next patch of a prerelease is its release.
pub fn next_patch(version: &SemVersion) -> SemVersion {
    let (major, minor, step) = (version.major, version.minor, u64::from(version.pre.is_empty()));
    SemVersion { major, minor, patch: version.patch.wrapping_add(step), ..SemVersion::default() }
}

#[cfg(test)]
mod tests;
