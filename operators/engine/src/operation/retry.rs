//! Retry schedule of failed operations.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use switchboard_object::quote::quote_for_time;

use crate::object_fields::text;

const FIRST: Duration = Duration::from_secs(5);
const FACTOR: f64 = 2.0;
const MAX: Duration = Duration::from_secs(180);

/// Computes the time of the next attempt from the end of the last one and the number of attempts before it.
pub(super) fn next_attempt(retry: &Value, last: Timestamp, before: i64) -> Result<Timestamp, String> {
    let backoff = &retry["backoff"];
    let read = |field: &str, otherwise| match text(backoff, field) {
        "" => Ok(otherwise),
        written => duration(written),
    };
    let (first, most) = (read("/duration", FIRST)?, read("/maxDuration", MAX)?);
    let factor = backoff["factor"].as_f64().unwrap_or(FACTOR);
    let steps = i32::try_from(before.clamp(0, 64)).unwrap_or(64);
    let wait = (first.as_secs_f64() * factor.powi(steps)).clamp(0.0, 1e9);
    let wait = if most.is_zero() { wait } else { wait.min(most.as_secs_f64()) };
    last.checked_add(Duration::from_secs_f64(wait)).map_err(|error| error.to_string())
}

/// Parses a duration such as `5s`, `1m30s` or `2h`. A number without unit is seconds, as in Argo CD.
fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(seconds.into()));
    }
    let nanos = switchboard_object::duration::parse(text).map_err(|error| error.to_string())?;
    u64::try_from(nanos)
        .map(Duration::from_nanos)
        .map_err(|_| format!("time: invalid duration {}", quote_for_time(text.as_bytes())))
}

/// Formats a time as Go's `time.Kitchen`, for example `3:04PM`, as Argo CD does.
pub(super) fn kitchen(at: Timestamp) -> String {
    let at = at.to_zoned(TimeZone::UTC);
    let (hour, half) = (at.hour() % 12, if at.hour() < 12 { "AM" } else { "PM" });
    format!("{}:{:02}{half}", if hour == 0 { 12 } else { hour }, at.minute())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn delays_between_attempts_grow() {
        let start = Timestamp::UNIX_EPOCH;
        let wait = |retry: &Value, before| next_attempt(retry, start, before).unwrap().as_second();
        let waits: Vec<i64> = [0, 1, 2, 60].map(|before| wait(&json!({"limit": -1}), before)).to_vec();
        assert_eq!(waits, [5, 10, 20, 180]);
        let own = json!({"backoff": {"duration": "1m30s", "factor": 3, "maxDuration": "1h"}});
        assert_eq!([0, 1, 9].map(|before| wait(&own, before)), [90, 270, 3600]);
        assert!(next_attempt(&json!({"backoff": {"duration": "soon"}}), start, 0).is_err());
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
    }

    #[test]
    fn short_units_are_known() {
        for (text, nanos) in [("1s500us", 1_000_500_000), ("20ns", 20), ("1.5ms", 1_500_000)] {
            assert_eq!(duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
        for text in ["-5s", "5x", "1s5"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_time_has_the_kitchen_format() {
        let at = |text: &str| kitchen(text.parse().unwrap());
        assert_eq!(
            [at("2026-01-01T00:05:00Z"), at("2026-01-01T12:00:00Z"), at("2026-01-01T15:04:00Z")],
            ["12:05AM", "12:00PM", "3:04PM"]
        );
    }
}
