//! Go's own test cases of `path.Match`, and those of the other dialects.
#![allow(clippy::unwrap_used)]

use super::*;

const LENIENT: GlobOptions = GlobOptions { classes: GlobClasses::Lenient, ..GlobOptions::PLAIN };

#[test]
fn names_match_as_in_go() {
    let cases = [
        ("abc", "abc", true),
        ("*", "abc", true),
        ("*c", "abc", true),
        ("a*", "a", true),
        ("a*", "ab/c", false),
        ("a*/b", "abc/b", true),
        ("a*/b", "a/c/b", false),
        ("a*b*c*d*e*/f", "axbxcxdxe/f", true),
        ("a*b*c*d*e*/f", "axbxcxdxe/xxx/f", false),
        ("a*b?c*x", "abxbbxdbxebxczzx", true),
        ("ab[c]", "abc", true),
        ("ab[b-d]", "abc", true),
        ("ab[e-g]", "abc", false),
        ("ab[^c]", "abc", false),
        ("ab[^e-g]", "abc", true),
        ("a\\*b", "a*b", true),
        ("a\\*b", "ab", false),
        ("a?b", "a☺b", true),
        ("a[^a]b", "a☺b", true),
        ("a???b", "a☺b", false),
        ("[a-ζ]*", "α", true),
        ("*[a-ζ]", "A", false),
        ("a?b", "a/b", false),
        ("a*b", "a/b", false),
        ("[\\]a]", "]", true),
        ("[\\-]", "-", true),
        ("[x\\-]", "z", false),
        ("*x", "xxx", true),
    ];
    for (pattern, name, wanted) in cases {
        let glob = Glob::new(pattern, GlobOptions::GO_PATH);
        assert_eq!(glob.map(|glob| glob.matches(name)), Ok(wanted), "{pattern} {name}");
    }
}

/// Go does not try a later occurrence of the text behind a star, even if only that one lets the next star match.
#[test]
fn go_matches_the_first_occurrence_only() {
    assert!(!matches("*[^a]*b", "x/yb", GlobOptions::GO_PATH));
    assert!(matches("*[!a]*b", "x/yb", GlobOptions::GOBWAS_PATH));
}

#[test]
fn malformed_patterns_are_errors_in_go() {
    for pattern in ["[]a]", "[-]", "[x-]", "[-x]", "\\", "[a-b-c]", "[", "[^", "[^bc", "a[", "*[", "a*b["] {
        assert_eq!(Glob::new(pattern, GlobOptions::GO_PATH).unwrap_err(), BadPattern, "{pattern}");
    }
}

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
        ("{x,{y,z}}", "x", true),
        ("{x,{y,z}}", "xz", false),
        ("{,a}{*,/b}", "/b", true),
        ("{,a}{*,/b}", "a", true),
        ("a,b}", "a,b}", true),
        ("[-[]", "[", true),
        ("[-[]", "]", false),
        ("a\\", "a", false),
    ];
    for (pattern, name, wanted) in cases {
        assert_eq!(Glob::new(pattern, GlobOptions::GOBWAS_PATH).unwrap().matches(name), wanted, "{pattern} {name}");
    }
    for pattern in ["[a", "{a", "[c-a]", "[a-]", "[a-cx]", "{[}"] {
        assert_eq!(Glob::new(pattern, GlobOptions::GOBWAS_PATH).unwrap_err(), BadPattern, "{pattern}");
    }
}

#[test]
fn plain_patterns_have_no_classes() {
    for (pattern, text, wanted) in [
        ("a*c", "a/b/c", true),
        ("a?c", "a.c", true),
        ("[a]", "a", false),
        ("[a]", "[a]", true),
        ("{a,b}", "{a,b}", true),
        ("a\\*", "a*", true),
        ("a\\", "a", false),
        ("*", "", true),
        ("", "", true),
        ("", "a", false),
    ] {
        assert_eq!(matches(pattern, text, GlobOptions::PLAIN), wanted, "{pattern} {text}");
    }
}

#[test]
fn lenient_classes_are_never_errors() {
    for (pattern, text, wanted) in [
        ("[a-c]*", "box", true),
        ("[!a-c]*", "box", false),
        ("[^a-c]*", "box", false),
        ("[a-]", "-", true),
        ("[c-a]", "b", false),
        ("[]", "]", false),
        ("[!]", "x", true),
        ("*[a", "a", false),
        ("*[a", "[a", false),
    ] {
        assert_eq!(matches(pattern, text, LENIENT), wanted, "{pattern} {text}");
    }
}

#[test]
fn hostile_patterns_end() {
    let text = "a".repeat(5_000);
    for options in [GlobOptions::GO_PATH, GlobOptions::GOBWAS_PATH, GlobOptions::PLAIN, LENIENT] {
        assert!(!matches(&("a*".repeat(200) + "b"), &text, options));
        assert!(!matches(&("*a".repeat(200) + "b"), &text, options));
    }
    let paths = "a/".repeat(400);
    assert!(!matches(&("**/*a".repeat(200) + "b"), &paths, GlobOptions::GOBWAS_PATH));
    assert!(!matches(&"{a,a*,*a}".repeat(200), &(text + "/"), GlobOptions::GOBWAS_PATH));
    let nested = "{".repeat(8_000) + &"}".repeat(8_000);
    assert!(matches(&nested, "", GlobOptions::GOBWAS_PATH));
    assert!(Glob::new(&"*".repeat(MAX_PATTERN_BYTES + 1), GlobOptions::GO_PATH).is_err());
}
