#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn texts_are_quoted_as_go_quotes_times() {
    assert_eq!(
        time("a\u{7}é").unwrap_err(),
        r#"parsing time "a\x07\xc3\xa9" as "2006-01-02T15:04:05Z07:00": cannot parse "a\x07\xc3\xa9" as "2006""#
    );
    assert_eq!(
        time("2026-01-02T03:04:05Zé\u{7}").unwrap_err(),
        r#"parsing time "2026-01-02T03:04:05Z\xc3\xa9\x07": extra text: "\xc3\xa9\x07""#
    );
}
