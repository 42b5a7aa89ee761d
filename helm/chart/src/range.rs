//! Versions and what is asked of them, as Masterminds/semver has it.

use switchboard_template::sprig::{Constraints, Generation, Version};

/// Whether a text is a version.
pub fn is_version(text: &str) -> bool {
    Version::parse(text, Generation::Third).is_ok()
}

/// Whether the version is in the range; never where either is none.
pub fn satisfies(range: &str, version: &str) -> bool {
    let version = Version::parse(version, Generation::Third);
    version.is_ok_and(|version| Constraints::parse(range).is_ok_and(|range| range.check(&version)))
}
