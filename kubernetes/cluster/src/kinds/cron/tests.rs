#![allow(clippy::unwrap_used)]

use super::parse;

#[test]
fn schedules_and_descriptors_are_read() {
    for schedule in ["* * * * *", "*/5 0-6 1,15 jan-mar MON", "@hourly", "@every 1h", "0 0 ? * 6"] {
        assert_eq!(parse(schedule), Ok(()), "{schedule}");
    }
}

#[test]
fn errors_match_the_cron_library() {
    let cases = [
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
        ("@nonsense", "unrecognized descriptor: @nonsense"),
    ];
    for (schedule, wrong) in cases {
        assert_eq!(parse(schedule), Err(wrong.to_string()), "{schedule}");
    }
}
