//! Values of flags that are durations.

use std::ops::RangeInclusive;
use std::time::Duration;

use switchboard_object::duration::{self, DurationError};

/// Maximum timeout or interval: a day.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Accepted durations. A shorter timeout expires before any server responds.
const BOUNDS: RangeInclusive<Duration> = Duration::from_secs(1)..=MAX_TIMEOUT;

/// Error for the value of a flag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlagDurationError {
    /// The value is no duration.
    #[error("must be a duration such as `30s`, `5m` or `1m30s`")]
    Syntax,
    /// The value is a number.
    #[error("a unit is missing; write `{0}s`")]
    NoUnit(String),
    /// The value is out of bounds.
    #[error("must be between {}s and {}h", BOUNDS.start().as_secs(), BOUNDS.end().as_secs() / 3600)]
    OutOfBounds,
}

/// Parses a duration in Go's syntax, as in switchboard.yaml.
///
/// # Errors
/// If the text is no duration, has no unit, or exceeds the bounds.
pub fn parse(text: &str) -> Result<Duration, FlagDurationError> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let nanos = duration::parse(text).map_err(|error| match error {
        DurationError::TooLong(_) => FlagDurationError::OutOfBounds,
        _ if is_number => FlagDurationError::NoUnit(text.to_string()),
        _ => FlagDurationError::Syntax,
    })?;
    let read = u64::try_from(nanos).map(Duration::from_nanos).ok();
    read.filter(|duration| BOUNDS.contains(duration)).ok_or(FlagDurationError::OutOfBounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_with_units_are_accepted() {
        for (text, seconds) in [("30s", 30.0), ("5m", 300.0), ("1m30s", 90.0), ("1.5s", 1.5), ("24h", 86_400.0)] {
            assert_eq!(parse(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
    }

    #[test]
    fn number_without_unit_is_refused() {
        for text in ["5", "1", "86401", "18446744073709551615", "99999999999999999999"] {
            assert_eq!(parse(text), Err(FlagDurationError::NoUnit(text.to_string())), "{text}");
        }
        assert_eq!(FlagDurationError::NoUnit("5".to_string()).to_string(), "a unit is missing; write `5s`");
    }

    #[test]
    fn other_texts_are_errors() {
        for text in ["", "soon", "5 m", "1d", "1.5", "s"] {
            assert_eq!(parse(text), Err(FlagDurationError::Syntax), "{text}");
        }
        for text in ["0", "0s", "999ms", "-5s", "24h1s", "9999999999h"] {
            assert_eq!(parse(text), Err(FlagDurationError::OutOfBounds), "{text}");
        }
        let printed = [FlagDurationError::Syntax, FlagDurationError::OutOfBounds].map(|error| error.to_string());
        assert_eq!(printed, ["must be a duration such as `30s`, `5m` or `1m30s`", "must be between 1s and 24h"]);
    }
}
