//! Version constraints of Masterminds/semver.

use switchboard_template::sprig::{ConstraintsV3, SemverGeneration, parse_version};

/// Whether the text is a version.
pub fn is_version(text: &str) -> bool {
    parse_version(text, SemverGeneration::V3).is_ok()
}

/// Whether the version satisfies the constraint; false if either is invalid.
pub fn satisfies(range: &str, version: &str) -> bool {
    let version = parse_version(version, SemverGeneration::V3);
    version.is_ok_and(|version| ConstraintsV3::parse(range).is_ok_and(|range| range.check(&version)))
}
