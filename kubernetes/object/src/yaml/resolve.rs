//! Resolution of plain scalars: YAML 1.1 as in go-yaml v2.

use super::timestamp::is_timestamp;
use crate::Value;

/// Resolved scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Integer(i64),
    /// Integer beyond the signed range.
    Unsigned(u64),
    Float(f64),
    /// Text that looks like a time, and stays text.
    Timestamp(String),
    Text(String),
}

impl Scalar {
    /// Returns go-yaml's short tag.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Integer(_) | Self::Unsigned(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::Timestamp(_) => "!!timestamp",
            Self::Text(_) => "!!str",
        }
    }

    /// Converts to a JSON value, if JSON can represent it.
    pub fn into_value(self) -> Result<Value, String> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(bool) => Value::Bool(bool),
            Self::Integer(integer) => Value::from(integer),
            // The API server reads an integer of that size as a float.
            Self::Unsigned(integer) => Value::from(integer as f64),
            Self::Float(float) if float.is_nan() => return Err("json: unsupported value: NaN".to_string()),
            Self::Float(float) if float == f64::INFINITY => return Err("json: unsupported value: +Inf".to_string()),
            Self::Float(float) if float.is_infinite() => return Err("json: unsupported value: -Inf".to_string()),
            Self::Float(float) => crate::json::whole(float),
            Self::Timestamp(text) | Self::Text(text) => Value::String(text),
        })
    }
}

/// Length of the longest word below.
const MAX_WORD_BYTES: usize = 5;

/// Whether a text is a word with a special meaning.
pub(super) fn is_word(text: &str) -> bool {
    text.len() <= MAX_WORD_BYTES && word(text).is_some()
}

fn word(text: &str) -> Option<Scalar> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// Resolves an untagged plain scalar.
pub(super) fn plain(text: &str) -> Scalar {
    if text.len() <= MAX_WORD_BYTES
        && let Some(scalar) = word(text)
    {
        return scalar;
    }
    match text.as_bytes()[0] {
        b'.' => match text.parse::<f64>().ok().filter(|f| f.is_finite() && is_float(text)) {
            Some(float) => Scalar::Float(float),
            None => Scalar::Text(text.to_string()),
        },
        b'+' | b'-' | b'0'..=b'9' if is_timestamp(text) => Scalar::Timestamp(text.to_string()),
        b'+' | b'-' | b'0'..=b'9' => number(text).unwrap_or_else(|| Scalar::Text(text.to_string())),
        _ => Scalar::Text(text.to_string()),
    }
}

/// Resolves a scalar with a standard YAML tag.
pub(super) fn tagged(tag: &str, text: &str) -> Result<Scalar, String> {
    if tag == "str" {
        return Ok(Scalar::Text(text.to_string()));
    }
    let wanted = format!("!!{tag}");
    match (plain(text), tag) {
        (Scalar::Integer(integer), "float") => Ok(Scalar::Float(integer as f64)),
        (scalar, _) if scalar.tag() == wanted => Ok(scalar),
        (scalar, _) => Err(format!("yaml: cannot decode {} `{text}` as a {wanted}", scalar.tag())),
    }
}

fn number(text: &str) -> Option<Scalar> {
    let plain = text.replace('_', "");
    let (negative, digits) = match plain.as_bytes().first()? {
        b'-' => (true, &plain[1..]),
        b'+' => (false, &plain[1..]),
        _ => (false, plain.as_str()),
    };
    if let Some(magnitude) = integer(digits) {
        let signed = plain.len() != digits.len();
        if let Ok(positive) = i64::try_from(magnitude) {
            return Some(Scalar::Integer(if negative { -positive } else { positive }));
        }
        if negative && magnitude == 1 << 63 {
            return Some(Scalar::Integer(i64::MIN));
        }
        if !signed {
            return Some(Scalar::Unsigned(magnitude));
        }
    }
    let float: f64 = plain.parse().ok().filter(|_| is_float(&plain))?;
    float.is_finite().then_some(Scalar::Float(float))
}

// Parses like Go's base 0: a prefix sets the base, a leading zero means octal.
fn integer(digits: &str) -> Option<u64> {
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

// Matches `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`.
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (text, None),
    };
    if exponent.is_some_and(|e| e.is_empty() || !digits(e)) {
        return false;
    }
    match number.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && digits(fraction),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => !number.is_empty() && digits(number),
    }
}
