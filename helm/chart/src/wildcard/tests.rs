//! Go's own test cases of `path.Match`.
#![allow(clippy::unwrap_used)]

use super::*;

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
        assert_eq!(matches(pattern, name), Ok(wanted), "{pattern} {name}");
    }
}

#[test]
fn malformed_patterns_are_errors() {
    for (pattern, name) in [
        ("[]a]", "]"),
        ("[-]", "-"),
        ("[x-]", "x"),
        ("[-x]", "x"),
        ("\\", "a"),
        ("[a-b-c]", "a"),
        ("[", "a"),
        ("[^", "a"),
        ("[^bc", "a"),
        ("a[", "a"),
        ("a[", "ab"),
    ] {
        assert_eq!(matches(pattern, name), Err(BadPattern), "{pattern} {name}");
    }
}

#[test]
fn many_stars_match_in_linear_time() {
    let pattern = "a*".repeat(200) + "b";
    assert_eq!(matches(&pattern, &"a".repeat(5_000)), Ok(false));
}
