//! Patterns of `.Files.Glob`.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn names_match_as_in_gobwas() {
    let cases = [
        ("*.ini", "a.ini", true),
        ("*.ini", "x/a.ini", false),
        ("**.ini", "x/a.ini", true),
        ("x/**", "x/y/z", true),
        ("{a,b}/*.txt", "b/c.txt", true),
        ("[ab].txt", "c.txt", false),
        ("[!ab].txt", "c.txt", true),
        ("[a-c]x", "bx", true),
        ("a\\*", "a*", true),
        ("a\\*", "ab", false),
        ("?", "/", false),
        ("{x,{y,z}}", "z", true),
    ];
    for (pattern, name, wanted) in cases {
        assert_eq!(compile(pattern).is_match(name), wanted, "{pattern} {name}");
    }
}

#[test]
fn invalid_patterns_match_everything() {
    assert!(compile("[a").is_match("anything/at/all"));
    assert!(compile("{a").is_match("x"));
}
