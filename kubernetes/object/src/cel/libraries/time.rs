//! Parts of timestamps and durations.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use crate::cel::value::{CelValue, EvalError, EvalResult};

/// Implements `getHours` and the other accessors of a timestamp, in UTC or in the given zone.
pub(in crate::cel) fn part<'a>(name: &str, at: i128, rest: &[CelValue<'a>]) -> EvalResult<'a> {
    let zone = match rest {
        [] => TimeZone::UTC,
        [CelValue::Text(zone)] => time_zone(zone)?,
        _ => return Err(EvalError::overload()),
    };
    let at = Timestamp::from_nanosecond(at).map_err(|_| EvalError::text("timestamp overflow"))?.to_zoned(zone);
    Ok(CelValue::Int(match name {
        "getFullYear" => i64::from(at.year()),
        "getMonth" => i64::from(at.month()) - 1,
        "getDate" => i64::from(at.day()),
        "getDayOfMonth" => i64::from(at.day()) - 1,
        "getDayOfWeek" => i64::from(at.weekday().to_sunday_zero_offset()),
        "getDayOfYear" => i64::from(at.day_of_year()) - 1,
        "getHours" => i64::from(at.hour()),
        "getMinutes" => i64::from(at.minute()),
        "getSeconds" => i64::from(at.second()),
        "getMilliseconds" => i64::from(at.millisecond()),
        _ => return Err(EvalError::overload()),
    }))
}

fn time_zone(name: &str) -> Result<TimeZone, EvalError> {
    let unknown = || EvalError::text(format!("unknown time zone {name}"));
    if name.is_empty() || name.eq_ignore_ascii_case("utc") {
        return Ok(TimeZone::UTC);
    }
    let Some((hours, minutes)) = name.split_once(':') else { return TimeZone::get(name).map_err(|_| unknown()) };
    let (sign, hours) = match hours.strip_prefix('-') {
        Some(hours) => (-1, hours),
        None => (1, hours.strip_prefix('+').unwrap_or(hours)),
    };
    let (hours, minutes): (i32, i32) = (hours.parse().map_err(|_| unknown())?, minutes.parse().map_err(|_| unknown())?);
    let offset = Offset::from_seconds(sign * (hours.saturating_mul(3600).saturating_add(minutes.saturating_mul(60))));
    offset.map(TimeZone::fixed).map_err(|_| unknown())
}

/// Implements `getHours` and the other accessors of a duration: the whole duration in that unit.
pub(in crate::cel) fn duration_part<'a>(name: &str, nanoseconds: i64) -> EvalResult<'a> {
    Ok(CelValue::Int(match name {
        "getHours" => nanoseconds / 3_600_000_000_000,
        "getMinutes" => nanoseconds / 60_000_000_000,
        "getSeconds" => nanoseconds / 1_000_000_000,
        "getMilliseconds" => nanoseconds / 1_000_000,
        _ => return Err(EvalError::overload()),
    }))
}

/// Formats a duration in seconds with the unit: `3600s`, `1.5s`.
pub(in crate::cel) fn duration_text(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let (whole, rest) = (nanoseconds.unsigned_abs() / 1_000_000_000, nanoseconds.unsigned_abs() % 1_000_000_000);
    if rest == 0 {
        return format!("{sign}{whole}s");
    }
    let fraction = format!("{rest:09}");
    format!("{sign}{whole}.{}s", fraction.trim_end_matches('0'))
}

/// Formats a timestamp as RFC 3339 in UTC, with as many fractional digits as needed.
pub(in crate::cel) fn timestamp_text(at: i128) -> String {
    Timestamp::from_nanosecond(at).map(|at| at.to_string()).unwrap_or_default()
}
