//! Times and durations as text for users.

use std::time::Duration;

use crate::timestamp::Timestamp;

/// Formats a duration: `820ms`, `12s`, `3m12s`, `5h02m`, `9d04h`.
pub fn format_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{}ms", time.as_millis()),
        1..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3600..86400 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d{:02}h", seconds / 86400, seconds / 3600 % 24),
    }
}

/// Formats a time: `3m12s ago (2026-01-01T00:00:00Z)`, or `in 3s (…)` for a future time.
pub fn format_time(now: Timestamp, at: Timestamp) -> String {
    match at > now {
        true => format!("in {} ({at})", format_duration(at.since(now))),
        false => format!("{} ago ({at})", format_duration(now.since(at))),
    }
}
