//! Conversions: spf13/cast for sprig v3, sprig's own for v2, and Go's `strconv`.

use super::SprigVersion;
use super::time_values::{Month, Weekday};
use crate::value::Value;

/// Converts a float like Go on amd64, including numbers that do not fit.
pub fn truncate(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

/// Converts like `int64` and `int`. Returns 0 for a value that is not a number.
pub fn to_int(value: &Value, sprig: SprigVersion) -> i64 {
    match value {
        Value::String(text) => match sprig {
            SprigVersion::V2 => parse_int(&text.to_text(), 10).unwrap_or(0),
            SprigVersion::V3 => parse_int(trim_zero_decimal(&text.to_text()), 0).unwrap_or(0),
        },
        Value::Bool(bool) => i64::from(*bool),
        Value::Float32(number) => truncate(f64::from(*number)),
        Value::Float64(number) => truncate(*number),
        Value::Object(object) => match (sprig, object.scalar()) {
            (SprigVersion::V2, Some(scalar)) => to_int(&scalar, sprig),
            // cast supports some of the named numbers of `time`, by name.
            (SprigVersion::V3, Some(scalar)) if is_calendar(value) => to_int(&scalar, sprig),
            _ => 0,
        },
        other => match (other.as_i64(), other.as_u64()) {
            (Some(number), _) => number,
            (None, Some(number)) if sprig == SprigVersion::V2 => i64::try_from(number).unwrap_or(i64::MAX),
            (None, Some(number)) => number as i64,
            (None, None) => 0,
        },
    }
}

/// Converts like `float64`. Returns 0 for a value that is not a number.
pub fn to_float(value: &Value, sprig: SprigVersion) -> f64 {
    match value {
        Value::String(text) => parse_float(&text.to_text()).unwrap_or(0.0),
        Value::Bool(bool) => f64::from(u8::from(*bool)),
        Value::Object(object) => match (sprig, object.scalar()) {
            (SprigVersion::V2, Some(scalar)) => to_float(&scalar, sprig),
            (SprigVersion::V3, Some(scalar)) if is_calendar(value) => to_float(&scalar, sprig),
            _ => 0.0,
        },
        other => match (other.as_f64(), other.as_i64(), other.as_u64()) {
            (Some(number), ..) => number,
            (None, Some(number), _) => number as f64,
            (None, None, Some(number)) => number as f64,
            (None, None, None) => 0.0,
        },
    }
}

fn is_calendar(value: &Value) -> bool {
    value.object::<Month>().is_some() || value.object::<Weekday>().is_some()
}

/// Removes a zero fraction: cast reads `1.00` as `1`.
fn trim_zero_decimal(text: &str) -> &str {
    let digits = text.trim_end_matches('0');
    match digits.strip_suffix('.') {
        Some(whole) if digits.len() < text.len() => whole,
        _ => text,
    }
}

/// Error for a text that is not an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseIntError {
    /// The text is not a number.
    Syntax,
    /// The number does not fit. Contains the nearest one that fits.
    Range(i64),
}

impl ParseIntError {
    /// Returns the value that Go returns together with the error.
    pub fn value(self) -> i64 {
        match self {
            ParseIntError::Syntax => 0,
            ParseIntError::Range(nearest) => nearest,
        }
    }
}

/// Parses like Go's `strconv.ParseInt` with 64 bits. Base 0 allows prefixes and underscores.
pub fn parse_int(text: &str, base: u32) -> Result<i64, ParseIntError> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = if base == 0 { prefixed(digits)? } else { (base, digits.to_string()) };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(ParseIntError::Syntax);
    }
    let nearest = if negative { i64::MIN } else { i64::MAX };
    let magnitude = i128::from_str_radix(&digits, radix).map_err(|_| ParseIntError::Range(nearest))?;
    let number = if negative { -magnitude } else { magnitude };
    i64::try_from(number).map_err(|_| ParseIntError::Range(nearest))
}

/// Returns the base of the prefix and the digits without underscores, which are only allowed between digits.
fn prefixed(text: &str) -> Result<(u32, String), ParseIntError> {
    let lower = text.to_ascii_lowercase();
    let (radix, start) = match lower.as_bytes() {
        [b'0', b'x', _, ..] => (16, 2),
        [b'0', b'b', _, ..] => (2, 2),
        [b'0', b'o', _, ..] => (8, 2),
        [b'0', _, ..] => (8, 1),
        _ => (10, 0),
    };
    let body = &lower[start..];
    // A prefix counts as a digit here: `0x_1` is valid, `_1` and `1__0` are not.
    let with_prefix = if start > 0 { format!("0{body}") } else { body.to_string() };
    let misplaced = with_prefix.starts_with('_') || with_prefix.ends_with('_') || with_prefix.contains("__");
    if misplaced { Err(ParseIntError::Syntax) } else { Ok((radix, body.replace('_', ""))) }
}

/// Parses like Go's `strconv.ParseFloat` with 64 bits. Returns `None` for a text that is not a number or does not fit.
pub fn parse_float(text: &str) -> Option<f64> {
    let plain = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    if text.len() - plain.len() > 1 {
        return None;
    }
    if let Some(digits) = plain.strip_prefix("0x") {
        return hex_float(digits).map(|number| if text.starts_with('-') { -number } else { number });
    }
    let number = without_underscores(text)?.parse::<f64>().ok()?;
    let spelled = matches!(plain.as_str(), "inf" | "infinity" | "nan");
    (number.is_finite() || spelled).then_some(number)
}

/// Removes underscores, which are only allowed between digits.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let fits = |at: usize| bytes[at] != b'_' || (digit(at.checked_sub(1)) && digit(at.checked_add(1)));
    (0..bytes.len()).all(fits).then(|| text.replace('_', ""))
}

/// Parses `1.8p3`: digits in base 16, then a power of two.
fn hex_float(text: &str) -> Option<f64> {
    let (digits, power) = text.split_once('p')?;
    let power: i32 = power.parse().ok()?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}").replace('_', "");
    if all.is_empty() || all.len() > 16 || !all.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let number = u64::from_str_radix(&all, 16).ok()? as f64;
    Some(number * 2f64.powi(power - 4 * fraction.len() as i32)).filter(|n| n.is_finite())
}
