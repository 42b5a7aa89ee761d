//! Go's `time.Duration`.

use switchboard_object::duration::{self, DurationError};

/// A duration in nanoseconds: Go's `time.Duration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(pub i64);

impl GoDuration {
    /// Implements Go's `time.ParseDuration`.
    pub fn parse(text: &str) -> Result<GoDuration, DurationError> {
        duration::parse(text).map(GoDuration)
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
