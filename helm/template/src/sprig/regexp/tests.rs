#![allow(clippy::unwrap_used)]

use super::{Regexp, SearchBudget};

fn budget() -> SearchBudget {
    SearchBudget::new(u64::MAX)
}

#[test]
fn flags_end_with_their_group() {
    let regexp = Regexp::new(b"(?i:a)b(?s)c.d").unwrap();
    assert!(regexp.is_match(b"Abc\nd"));
    assert!(!regexp.is_match(b"AbC\nd"));
    assert!(!regexp.is_match(b"ABc\nd"));
}

#[test]
fn repetition_after_flags_applies_to_the_previous_operand() {
    let regexp = Regexp::new(b"^a{2}(?i)?$").unwrap();
    assert!(regexp.is_match(b"aa") && regexp.is_match(b"") && !regexp.is_match(b"a"));
}

#[test]
fn huge_expressions_are_rejected() {
    assert!(Regexp::new(b"((a{100}){10}){2}").unwrap_err().contains("invalid repeat count"));
    assert!(Regexp::new("(".repeat(2000).as_bytes()).unwrap_err().contains("nests too deeply"));
}

#[test]
fn groups_may_share_a_name() {
    let regexp = Regexp::new(b"(?P<x>a)|(?P<x>b)").unwrap();
    assert_eq!(regexp.replace_all(b"ab", b"<$x>", 9, &mut budget()).unwrap(), b"<a><b>");
}

#[test]
fn no_match_is_found_inside_a_rune() {
    assert_eq!(Regexp::new(br"\B").unwrap().replace_all(b"_\xc3\xa9", b"|", 9, &mut budget()).unwrap(), b"_\xc3\xa9|");
    assert_eq!(Regexp::new(br"\B").unwrap().find(b"a\xc3\xa9"), Some(&b""[..]));
}
