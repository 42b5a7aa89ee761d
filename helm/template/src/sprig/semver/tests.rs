#![allow(clippy::unwrap_used)]

use super::{ConstraintsV1, ConstraintsV3, SemVersion, SemverGeneration};

fn third(text: &str) -> SemVersion {
    SemVersion::parse(text, SemverGeneration::V3).unwrap()
}

#[test]
fn prereleases_are_ordered_by_their_parts() {
    let ordered = ["1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0"];
    for pair in ordered.windows(2) {
        assert!(third(pair[0]).compare(&third(pair[1])).is_lt(), "{pair:?}");
    }
}

#[test]
fn only_v3_groups_select_prereleases_as_a_whole() {
    let version = "1.5.0-rc.1";
    assert!(ConstraintsV3::parse(">=1.0.0-0 <2").unwrap().check(&third(version)));
    assert!(!ConstraintsV3::parse(">=1.0.0 <2").unwrap().check(&third(version)));
    let first = SemVersion::parse(version, SemverGeneration::V1).unwrap();
    assert!(!ConstraintsV1::parse(">=1.0.0-0, <2").unwrap().check(&first));
}

#[test]
fn constraint_errors_have_the_texts_of_go() {
    assert_eq!(ConstraintsV3::parse("nope").unwrap_err().to_string(), r#"improper constraint: "nope""#);
    assert_eq!(ConstraintsV1::parse("nope").unwrap_err().to_string(), "improper constraint: nope");
}
