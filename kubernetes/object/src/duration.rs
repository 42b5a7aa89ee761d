//! Durations in Go's syntax: `200ms`, `1.5s`, `-1h30m`.
//!
//! A port of `time.ParseDuration`, error texts included: <https://pkg.go.dev/time#ParseDuration>.

use crate::quote::quote_for_time;

/// Largest number of nanoseconds before the sign: that of Go's smallest duration.
const LIMIT: u64 = 1 << 63;

/// Error for a text that is not a duration, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text does not have Go's syntax.
    #[error("time: invalid duration {}", quote_for_time(.0.as_bytes()))]
    Invalid(String),
    /// The text has Go's syntax, but the duration exceeds 64 bits. Go's error is that of [`DurationError::Invalid`].
    #[error("time: invalid duration {}", quote_for_time(.0.as_bytes()))]
    TooLong(String),
    /// A number has no unit.
    #[error("time: missing unit in duration {}", quote_for_time(.0.as_bytes()))]
    MissingUnit(String),
    /// A number has a unit that Go does not know.
    #[error("time: unknown unit {} in duration {}", quote_for_time(.unit.as_bytes()), quote_for_time(.text.as_bytes()))]
    UnknownUnit {
        /// The whole text.
        text: String,
        /// The unit.
        unit: String,
    },
}

/// Parses a duration to nanoseconds.
///
/// # Errors
/// As in Go, for a text that has another syntax or exceeds 64 bits.
pub fn parse(text: &str) -> Result<i64, DurationError> {
    let invalid = || DurationError::Invalid(text.to_string());
    let too_long = || DurationError::TooLong(text.to_string());
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    // `None` after an overflow. The rest is still read, so that only a text with Go's syntax is too long.
    let mut total = Some(0u64);
    while !rest.is_empty() {
        let (whole, tail) = split_digits(rest);
        let (fraction, tail) = tail.strip_prefix('.').map_or(("", tail), split_digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let number = whole_number(whole);
        // Go reports the first error. A number that is too large comes before a wrong unit.
        let overflowed = total.is_none() || number.is_none();
        let end = tail.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(tail.len());
        let (word, tail) = tail.split_at(end);
        let Some(unit) = unit_nanoseconds(word) else {
            return Err(match word {
                _ if overflowed => invalid(),
                "" => DurationError::MissingUnit(text.to_string()),
                unit => DurationError::UnknownUnit { text: text.to_string(), unit: unit.to_string() },
            });
        };
        rest = tail;
        let part = number.filter(|whole| *whole <= LIMIT / unit).map(|whole| whole * unit + share(fraction, unit));
        total = total.zip(part).and_then(|(total, part)| total.checked_add(part)).filter(|total| *total <= LIMIT);
    }
    match total {
        Some(LIMIT) if negative => Ok(i64::MIN),
        Some(total) => i64::try_from(total).map(|nanos| if negative { -nanos } else { nanos }).map_err(|_| too_long()),
        None => Err(too_long()),
    }
}

fn unit_nanoseconds(word: &str) -> Option<u64> {
    Some(match word {
        "ns" => 1,
        // The micro sign and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Returns the value of digits within [`LIMIT`].
fn whole_number(digits: &str) -> Option<u64> {
    digits.bytes().try_fold(0u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0')).filter(|number| *number <= LIMIT)
    })
}

/// Returns the nanoseconds of a fraction of a unit. Go ignores digits beyond 63 bits and computes in floating point.
fn share(digits: &str, unit: u64) -> u64 {
    let (mut number, mut scale) = (0u64, 1.0);
    for digit in digits.bytes() {
        let Some(next) = number.checked_mul(10).and_then(|n| n.checked_add(u64::from(digit - b'0'))) else { break };
        if number > (LIMIT - 1) / 10 || next > LIMIT {
            break;
        }
        (number, scale) = (next, scale * 10.0);
    }
    (number as f64 * (unit as f64 / scale)) as u64
}

#[cfg(test)]
mod tests;
