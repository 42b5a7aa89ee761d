//! Durations in Go's format: `200ms`, `1.5s`, `10m`, `1h30m`.

use std::time::Duration;

use switchboard_object::duration::{self, DurationError};

use super::report::ConfigProblem;

/// Parses a duration. One that exceeds Go's is the largest duration, which is above every bound of the file.
pub(super) fn parse(text: &str) -> Result<Duration, ConfigProblem> {
    let read = match duration::parse(text) {
        Ok(nanos) => u64::try_from(nanos).ok().map(Duration::from_nanos),
        Err(DurationError::TooLong(_)) => Some(Duration::MAX).filter(|_| !text.starts_with('-')),
        Err(_) => return Err(invalid_duration(text)),
    };
    read.ok_or_else(|| {
        ConfigProblem::new(format!("must not be negative: {}", super::section::display_value(&text.into())))
    })
}

fn invalid_duration(text: &str) -> ConfigProblem {
    if text.parse::<u64>().is_ok() {
        return ConfigProblem::new("a unit is missing").hint(format!("write `{text}s`"));
    }
    let problem =
        ConfigProblem::new(format!("must be a duration, not {}", super::section::display_value(&text.into())));
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok()).and_then(|days| days.checked_mul(24));
    match days {
        Some(hours) => problem.hint(format!("write days in hours: `{hours}h`")),
        None => problem.hint("write it as `200ms`, `1.5s`, `10m` or `168h`"),
    }
}

/// Formats a duration as it is written in the file.
pub(super) fn display(duration: Duration) -> String {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    match (seconds, nanos) {
        (0, 0) => "0s".to_string(),
        (0, _) if nanos.is_multiple_of(1_000_000) => format!("{}ms", nanos / 1_000_000),
        (0, _) if nanos.is_multiple_of(1_000) => format!("{}us", nanos / 1_000),
        (0, _) => format!("{nanos}ns"),
        (_, 0) if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        (_, 0) if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        (_, 0) => format!("{seconds}s"),
        _ => format!("{}s", format!("{seconds}.{nanos:09}").trim_end_matches('0')),
    }
}
