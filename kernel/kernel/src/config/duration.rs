//! Durations in Go's format: `200ms`, `1.5s`, `10m`, `1h30m`.

use std::time::Duration;

use super::report::ConfigProblem;

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", NANOS_PER_SECOND),
    ("m", 60 * NANOS_PER_SECOND),
    ("h", 3600 * NANOS_PER_SECOND),
];
// Maximum number of significant digits after the point; the smallest fraction of an hour that counts has twelve.
const MAX_FRACTION_DIGITS: usize = 15;

/// Parses a duration.
pub(super) fn parse(text: &str) -> Result<Duration, ConfigProblem> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "0" {
        return Ok(Duration::ZERO);
    }
    let mut nanos: u128 = 0;
    let mut rest = unsigned;
    while !rest.is_empty() || unsigned.is_empty() {
        let (part, behind) = part(rest).ok_or_else(|| invalid_duration(text))?;
        nanos = nanos.saturating_add(part);
        rest = behind;
    }
    if text.starts_with('-') && nanos > 0 {
        return Err(ConfigProblem::new(format!(
            "must not be negative: {}",
            super::section::display_value(&text.into())
        )));
    }
    let seconds = u64::try_from(nanos / NANOS_PER_SECOND).unwrap_or(u64::MAX);
    Ok(Duration::new(seconds, (nanos % NANOS_PER_SECOND) as u32))
}

// Parses a number with its unit, and returns nanoseconds and the rest of the text.
fn part(text: &str) -> Option<(u128, &str)> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let number = |digits: &str| if digits.is_empty() { 0 } else { digits.parse::<u128>().unwrap_or(u128::MAX) };
    let fraction = &fraction[..fraction.len().min(MAX_FRACTION_DIGITS)];
    let behind_point = number(fraction) * size / 10u128.pow(fraction.len() as u32);
    Some((number(whole).saturating_mul(*size).saturating_add(behind_point), rest))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

fn invalid_duration(text: &str) -> ConfigProblem {
    let problem =
        ConfigProblem::new(format!("must be a duration, not {}", super::section::display_value(&text.into())));
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok()).and_then(|days| days.checked_mul(24));
    match days {
        Some(hours) => problem.hint(format!("write days in hours: `{hours}h`")),
        None if text.parse::<u64>().is_ok() => problem.hint(format!("add a unit, such as `{text}s` or `{text}ms`")),
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
