//! Ages in kubectl's short form: `5s`, `3m12s`, `4d2h`.

use jiff::Timestamp;
use switchboard_object::Value;

/// Returns the time since `timestamp`, or `<unknown>` if there is none.
pub(super) fn since(timestamp: &Value, now: Timestamp) -> String {
    match timestamp.as_str().and_then(|text| text.parse::<Timestamp>().ok()) {
        Some(then) => human(now.as_millisecond() - then.as_millisecond()),
        None => "<unknown>".into(),
    }
}

/// Returns the time between two timestamps.
pub(super) fn between(start: &Value, end: &Value) -> String {
    let read = |value: &Value| value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    match (read(start), read(end)) {
        (Some(start), Some(end)) => human(end.as_millisecond() - start.as_millisecond()),
        _ => String::new(),
    }
}

/// Formats a duration with at most two units, coarser for longer durations.
pub(super) fn human(span_ms: i64) -> String {
    let seconds = span_ms / 1000;
    // Because clocks differ, slightly negative ages count as zero.
    if seconds < -1 {
        return "<invalid>".into();
    }
    if seconds < 0 {
        return "0s".into();
    }
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 24 * 8 => two(days, "d", hours % 24, "h"),
        () if hours < 24 * 365 * 2 => format!("{days}d"),
        () if hours < 24 * 365 * 8 => two(days / 365, "y", days % 365, "d"),
        () => format!("{}y", days / 365),
    }
}

fn two(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 { format!("{large}{large_unit}") } else { format!("{large}{large_unit}{small}{small_unit}") }
}
