#![allow(clippy::unwrap_used)]

use super::{ConstraintsV1, ConstraintsV3, SemVersion, SemverGeneration, parse_version};

fn third(text: &str) -> SemVersion {
    parse_version(text, SemverGeneration::V3).unwrap()
}

#[test]
fn only_v3_groups_select_prereleases_as_a_whole() {
    let version = "1.5.0-rc.1";
    assert!(ConstraintsV3::parse(">=1.0.0-0 <2").unwrap().check(&third(version)));
    assert!(!ConstraintsV3::parse(">=1.0.0 <2").unwrap().check(&third(version)));
    let first = parse_version(version, SemverGeneration::V1).unwrap();
    assert!(!ConstraintsV1::parse(">=1.0.0-0, <2").unwrap().check(&first));
}

#[test]
fn constraint_errors_have_the_texts_of_go() {
    assert_eq!(ConstraintsV3::parse("nope").unwrap_err().to_string(), r#"improper constraint: "nope""#);
    assert_eq!(ConstraintsV1::parse("nope").unwrap_err().to_string(), "improper constraint: nope");
}

#[test]
fn version_errors_have_the_texts_of_go() {
    let error = |text: &str, generation| parse_version(text, generation).unwrap_err().to_string();
    let (v1, v3) = (SemverGeneration::V1, SemverGeneration::V3);
    assert_eq!([error("x", v1), error("x", v3)], ["Invalid Semantic Version", "invalid semantic version"]);
    let large = "1.9223372036854775808";
    assert!(parse_version(large, v3).is_ok());
    assert_eq!(
        error(large, v1),
        "Error parsing version segment: strconv.ParseInt: parsing \"9223372036854775808\": value out of range"
    );
    assert_eq!(
        error("1.18446744073709551616", v3),
        "error parsing version segment: strconv.ParseUint: parsing \"18446744073709551616\": value out of range"
    );
    assert!(parse_version("1.0.0-01", v1).is_ok());
    assert_eq!(error("1.0.0-01", v3), "version segment starts with 0");
}
