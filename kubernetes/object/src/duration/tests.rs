//! Cases of Go's own tests of `time.ParseDuration`, in `src/time/time_test.go`.
#![allow(clippy::unwrap_used)]

use super::*;

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

#[test]
fn durations_are_parsed_as_in_go() {
    for (text, wanted) in [
        ("0", 0),
        ("5s", 5 * SECOND),
        ("30s", 30 * SECOND),
        ("1478s", 1478 * SECOND),
        ("-5s", -5 * SECOND),
        ("+5s", 5 * SECOND),
        ("-0", 0),
        ("+0", 0),
        ("5.0s", 5 * SECOND),
        ("5.6s", 5_600_000_000),
        ("5.s", 5 * SECOND),
        (".5s", 500_000_000),
        ("1.0s", SECOND),
        ("1.00s", SECOND),
        ("1.004s", 1_004_000_000),
        ("1.0040s", 1_004_000_000),
        ("100.00100s", 100_001_000_000),
        ("10ns", 10),
        ("11us", 11_000),
        ("12\u{b5}s", 12_000),
        ("12\u{3bc}s", 12_000),
        ("13ms", 13_000_000),
        ("14s", 14 * SECOND),
        ("15m", 15 * MINUTE),
        ("16h", 16 * HOUR),
        ("3h30m", 3 * HOUR + 30 * MINUTE),
        ("10.5s4m", 4 * MINUTE + 10_500_000_000),
        ("-2m3.4s", -(2 * MINUTE + 3_400_000_000)),
        ("1h2m3s4ms5us6ns", HOUR + 2 * MINUTE + 3 * SECOND + 4_005_006),
        ("39h9m14.425s", 39 * HOUR + 9 * MINUTE + 14_425_000_000),
        ("52763797000ns", 52_763_797_000),
        ("0.3333333333333333333h", 20 * MINUTE),
        ("9007199254740993ns", (1 << 53) + 1),
        ("9223372036854775807ns", i64::MAX),
        ("9223372036854775.807us", i64::MAX),
        ("9223372036s854ms775us807ns", i64::MAX),
        ("-9223372036854775808ns", i64::MIN),
        ("-9223372036854775.808us", i64::MIN),
        ("-9223372036s854ms775us808ns", i64::MIN),
        ("0.100000000000000000000h", 6 * MINUTE),
        ("0.830103483285477580700h", 49 * MINUTE + 48 * SECOND + 372_539_827),
    ] {
        assert_eq!(parse(text), Ok(wanted), "{text}");
    }
}

#[test]
fn errors_have_the_texts_of_go() {
    for (text, wanted) in [
        ("", r#"time: invalid duration """#),
        ("3", r#"time: missing unit in duration "3""#),
        ("-", r#"time: invalid duration "-""#),
        ("s", r#"time: invalid duration "s""#),
        (".", r#"time: invalid duration ".""#),
        ("-.", r#"time: invalid duration "-.""#),
        (".s", r#"time: invalid duration ".s""#),
        ("+.s", r#"time: invalid duration "+.s""#),
        ("1d", r#"time: unknown unit "d" in duration "1d""#),
        ("1.5.s", r#"time: missing unit in duration "1.5.s""#),
        ("1s2", r#"time: missing unit in duration "1s2""#),
        ("--1s", r#"time: invalid duration "--1s""#),
        ("\u{85}\u{85}", r#"time: invalid duration "\xc2\x85\xc2\x85""#),
        ("hello \u{fffd} world", r#"time: invalid duration "hello \xef\xbf\xbd world""#),
        ("9223372036854775810ns", r#"time: invalid duration "9223372036854775810ns""#),
        ("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#),
        ("-9223372036854775809ns", r#"time: invalid duration "-9223372036854775809ns""#),
        ("9223372036854776us", r#"time: invalid duration "9223372036854776us""#),
        ("3000000h", r#"time: invalid duration "3000000h""#),
        ("9223372036854775.808us", r#"time: invalid duration "9223372036854775.808us""#),
        ("9223372036854ms775us808ns", r#"time: invalid duration "9223372036854ms775us808ns""#),
        ("99999999999999999999x", r#"time: invalid duration "99999999999999999999x""#),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), wanted, "{text}");
    }
}

#[test]
fn only_a_text_with_the_syntax_of_go_is_too_long() {
    for (text, wanted) in [("3000000h", true), ("3000000h1x", false), ("3000000h1", false), ("3000000h1ns", true)] {
        assert_eq!(matches!(parse(text), Err(DurationError::TooLong(_))), wanted, "{text}");
    }
}
