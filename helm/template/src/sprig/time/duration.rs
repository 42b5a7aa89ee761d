//! Go's `time.Duration`.

use thiserror::Error;

use super::quote;

/// A duration in nanoseconds: Go's `time.Duration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(pub i64);

/// Go's error for a text that is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("time: {message} {}", quote(.value.as_bytes()))]
pub struct ParseDurationError {
    message: String,
    value: String,
}

const LIMIT: u64 = 1 << 63;

impl GoDuration {
    /// Implements Go's `time.ParseDuration`.
    pub fn parse(text: &str) -> Result<GoDuration, ParseDurationError> {
        let refuse = |message: String| Err(ParseDurationError { message, value: text.to_string() });
        let invalid = || refuse("invalid duration".to_string());
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(GoDuration(0));
        }
        if rest.is_empty() {
            return invalid();
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            if !rest.starts_with(|c: char| c == '.' || c.is_ascii_digit()) {
                return invalid();
            }
            let Some((whole, tail)) = leading_int(rest) else { return invalid() };
            let mut digits = tail.len() != rest.len();
            rest = tail;
            let (mut fraction, mut scale) = (0, 1.0);
            if let Some(tail) = rest.strip_prefix('.') {
                let found = leading_fraction(tail);
                digits |= found.2.len() != tail.len();
                (fraction, scale, rest) = found;
            }
            if !digits {
                return invalid();
            }
            let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
            if end == 0 {
                return refuse("missing unit in duration".to_string());
            }
            let (word, tail) = rest.split_at(end);
            rest = tail;
            let Some(unit) = unit(word) else {
                return refuse(format!("unknown unit {} in duration", quote(word.as_bytes())));
            };
            if whole > LIMIT / unit {
                return invalid();
            }
            let mut part = whole * unit;
            if fraction > 0 {
                part += (fraction as f64 * (unit as f64 / scale)) as u64;
            }
            total = total.saturating_add(part);
            if part > LIMIT || total > LIMIT {
                return invalid();
            }
        }
        match (negative, i64::try_from(total)) {
            (true, _) => Ok(GoDuration((total as i64).wrapping_neg())),
            (false, Ok(nanos)) => Ok(GoDuration(nanos)),
            (false, Err(_)) => invalid(),
        }
    }

    /// Implements Go's `Round`: rounds half away from zero, and does nothing for a step that is not positive.
    pub fn round(self, step: i64) -> GoDuration {
        if step <= 0 {
            return self;
        }
        let rest = self.0 % step;
        if self.0 < 0 {
            let rest = -rest;
            let up = if rest + rest < step { self.0.checked_add(rest) } else { self.0.checked_sub(step - rest) };
            return GoDuration(up.unwrap_or(i64::MIN));
        }
        let down = if rest + rest < step { self.0.checked_sub(rest) } else { self.0.checked_add(step - rest) };
        GoDuration(down.unwrap_or(i64::MAX))
    }
}

fn unit(word: &str) -> Option<u64> {
    Some(match word {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

fn leading_int(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].bytes().try_fold(0u64, |x, digit| {
        (x <= LIMIT / 10).then(|| x * 10 + u64::from(digit - b'0')).filter(|x| *x <= LIMIT)
    })?;
    Some((number, &text[end..]))
}

fn leading_fraction(text: &str) -> (u64, f64, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (mut number, mut scale) = (0u64, 1.0);
    for digit in text[..end].bytes() {
        if number > (LIMIT - 1) / 10 {
            break;
        }
        let next = number * 10 + u64::from(digit - b'0');
        if next > LIMIT {
            break;
        }
        number = next;
        scale *= 10.0;
    }
    (number, scale, &text[end..])
}

impl std::fmt::Display for GoDuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nanos = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        if nanos == 0 {
            return f.write_str("0s");
        }
        if nanos < 1_000_000_000 {
            let (unit, digits, word) = match nanos {
                0..1_000 => (1, 0, "ns"),
                1_000..1_000_000 => (1_000, 3, "µs"),
                _ => (1_000_000, 6, "ms"),
            };
            return write!(f, "{sign}{}{}{word}", nanos / unit, fraction(nanos % unit, digits));
        }
        let seconds = nanos / 1_000_000_000;
        f.write_str(sign)?;
        if seconds >= 3600 {
            write!(f, "{}h", seconds / 3600)?;
        }
        if seconds >= 60 {
            write!(f, "{}m", seconds / 60 % 60)?;
        }
        write!(f, "{}{}s", seconds % 60, fraction(nanos % 1_000_000_000, 9))
    }
}

/// Formats a fraction, such as `.5` for 500 with 3 digits, or an empty text for 0.
fn fraction(value: u64, digits: usize) -> String {
    let text = format!("{value:0digits$}");
    match text.trim_end_matches('0') {
        "" => String::new(),
        kept => format!(".{kept}"),
    }
}
