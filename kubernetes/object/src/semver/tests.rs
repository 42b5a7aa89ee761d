#![allow(clippy::unwrap_used)]

use super::*;

/// Versions in the order of <https://semver.org/#spec-item-11>.
const ORDERED: [&str; 11] = [
    "0.9.10",
    "1.0.0-1",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-rc.1",
    "1.0.0",
    "1.10.0",
];

#[test]
fn prereleases_are_ordered_by_their_parts() {
    for (parse, name) in [
        (SemVersion::parse as fn(&str) -> Result<SemVersion, String>, "strict"),
        (|text| SemVersion::parse_loose(text, u64::MAX).map_err(|error| error.to_string()), "loose"),
    ] {
        for (i, a) in ORDERED.iter().enumerate() {
            for (j, b) in ORDERED.iter().enumerate() {
                assert_eq!(parse(a).unwrap().compare(&parse(b).unwrap()), i.cmp(&j), "{name}: {a} {b}");
            }
        }
    }
    let same = ["1.0.0+a", "1.0.0+b"].map(|text| SemVersion::parse(text).unwrap());
    assert_eq!(same[0].compare(&same[1]), Ordering::Equal);
}

#[test]
fn strict_versions_are_those_of_blang() {
    for text in ["0.0.0", "1.2.3", "1.2.3-alpha.1", "1.2.3-0.a-b+001.x", "18446744073709551615.0.0"] {
        assert_eq!(SemVersion::parse(text).unwrap().to_string(), text);
    }
    for (text, wanted) in [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("v1.2.3", "Invalid character(s) found in major number \"v1\""),
        ("1-a.2.3", "Invalid character(s) found in major number \"1-a\""),
        ("01.2.3", "Major number must not contain leading zeroes \"01\""),
        ("1..3", "strconv.ParseUint: parsing \"\": invalid syntax"),
        ("1.2.99999999999999999999", "strconv.ParseUint: parsing \"99999999999999999999\": value out of range"),
        ("1.2.3.4", "Invalid character(s) found in patch number \"3.4\""),
        ("1.2.3-", "Prerelease is empty"),
        ("1.2.3-01", "Numeric PreRelease version must not contain leading zeroes \"01\""),
        ("1.2.3-a_b", "Invalid character(s) found in prerelease \"a_b\""),
        ("1.2.3+", "Build meta data is empty"),
        ("1.2.3+a_b", "Invalid character(s) found in build meta data \"a_b\""),
    ] {
        assert_eq!(SemVersion::parse(text).unwrap_err(), wanted, "{text}");
    }
}

#[test]
fn loose_versions_are_those_of_masterminds() {
    for (text, wanted) in [
        ("1", "1.0.0"),
        ("v1.2", "1.2.0"),
        ("01.002.3", "1.2.3"),
        ("1-a.2.3", "1.0.0-a.2.3"),
        ("1.2.3-beta.01+b.5", "1.2.3-beta.01+b.5"),
    ] {
        assert_eq!(SemVersion::parse_loose(text, u64::MAX).unwrap().to_string(), wanted, "{text}");
    }
    for text in ["", "v", "vv1", "1.", "1.2.3.4", "1.2.3-", "1.2.3+", "1.2-a..b", "a.b.c", " 1", "1\n"] {
        assert_eq!(SemVersion::parse_loose(text, u64::MAX), Err(LooseVersionError::Syntax), "{text}");
    }
    let large = SemVersion::parse_loose("1.9223372036854775808", i64::MAX as u64);
    assert_eq!(large, Err(LooseVersionError::OutOfRange("9223372036854775808".to_string())));
}
