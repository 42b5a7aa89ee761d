//! Quantities: `100m`, `1.5Gi`, `2e3`.
//!
//! Parsing, canonical form and comparison follow Go's `resource.Quantity`, oddities included.

mod decimal;

use std::cmp::Ordering;
use std::fmt;

use crate::Value;
use decimal::DecimalAmount;

/// Notation of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantityFormat {
    /// `1e3`.
    DecimalExponent,
    /// `1Ki`.
    BinarySi,
    /// `1k`.
    DecimalSi,
}

/// Amount with its notation. Equality and order compare the amount only.
#[derive(Clone, Debug)]
pub struct Quantity {
    amount: DecimalAmount,
    format: QuantityFormat,
    // Original text, if Go considers it canonical.
    text: Option<Box<str>>,
}

/// Error of a text that is not a quantity, in Go's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Neither a number nor a number with a suffix.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// Invalid number.
    #[error("unable to parse numeric part of quantity")]
    Number,
    /// Unknown suffix.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

// Numbers with up to this many digits take Go's fast path, which keeps more texts unchanged.
const FAST_DIGITS: usize = 18;
const NANO: i64 = -9;
const DECIMAL_SUFFIXES: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY_SUFFIXES: [(&str, i32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

impl Quantity {
    /// Parses a quantity.
    ///
    /// # Errors
    /// When the text is not a quantity.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let parts = QuantityParts::of(text)?;
        let (exponent, format) = interpret(parts.suffix).ok_or(QuantityError::Suffix)?;
        if let Some(fast) = parts.fast(text, exponent, format) {
            return Ok(fast);
        }
        let digits = format!("{}{}", parts.whole, parts.fraction);
        if !parts.has_digits() {
            return Err(QuantityError::Number);
        }
        let mut amount = DecimalAmount::new(parts.negative, &digits, -(parts.fraction.len() as i64));
        match format {
            QuantityFormat::BinarySi => amount = amount.times(1u64 << exponent),
            _ => amount = amount.shifted(i64::from(exponent)),
        }
        let mut amount = amount.rounded_away(NANO);
        let mut format = format;
        if format == QuantityFormat::BinarySi {
            amount = amount.capped(i64::MAX);
            if !amount.is_zero() && amount.magnitude_cmp_one() == Ordering::Less {
                format = QuantityFormat::DecimalSi;
            }
        }
        Ok(Self { amount, format, text: None })
    }

    /// Parses a quantity from JSON: a string or a number. `null` is zero.
    ///
    /// # Errors
    /// When the value is not a quantity.
    pub fn from_value(value: &Value) -> Result<Self, QuantityError> {
        match value {
            Value::Null => Ok(Self::from_integer(0)),
            Value::String(text) => Self::parse(text.trim()),
            other => Self::parse(&other.to_string()),
        }
    }

    /// Creates a quantity from an integer, in decimal notation.
    pub fn from_integer(value: i64) -> Self {
        Self {
            amount: DecimalAmount::new(value < 0, &value.unsigned_abs().to_string(), 0),
            format: QuantityFormat::DecimalSi,
            text: None,
        }
    }

    /// Returns the notation.
    pub fn format(&self) -> QuantityFormat {
        self.format
    }

    /// Whether the amount is zero.
    pub fn is_zero(&self) -> bool {
        self.amount.is_zero()
    }

    /// Returns -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        match (self.amount.is_zero(), self.amount.is_negative()) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// Returns the amount as an integer, rounded away from zero and clamped to 64 bits.
    pub fn value(&self) -> i64 {
        self.amount.rounded_away(0).to_i64()
    }

    /// Returns the amount as an integer, if it is one that fits 64 bits.
    pub fn as_integer(&self) -> Option<i64> {
        let rounded = self.amount.rounded_away(0);
        let value = rounded.to_i64();
        let exact = DecimalAmount::new(value < 0, &value.unsigned_abs().to_string(), 0);
        (exact.compare(&self.amount) == Ordering::Equal).then_some(value)
    }

    /// Returns the amount in thousandths, rounded away from zero and clamped to 64 bits.
    pub fn milli_value(&self) -> i64 {
        self.amount.clone().shifted(3).rounded_away(0).to_i64()
    }

    /// Returns the nearest floating-point number.
    pub fn to_f64(&self) -> f64 {
        self.amount.to_f64()
    }

    /// Returns the sum. A zero takes the notation of the other side.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { amount: self.amount.plus(&other.amount), format, text: None }
    }

    /// Returns the difference. A zero takes the notation of the other side.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let negated = Self { amount: other.amount.negated(), format: other.format, text: None };
        self.plus(&negated)
    }

    fn canonical(&self) -> String {
        if self.is_zero() {
            return "0".to_string();
        }
        let small = |bound: &DecimalAmount| self.amount.magnitude_cmp(bound) == Ordering::Less;
        let whole = self.amount.is_whole();
        if self.format == QuantityFormat::BinarySi && whole && !small(&DecimalAmount::new(false, "1024", 0)) {
            let (digits, times) = self.amount.without_factors_of_1024();
            let suffix = BINARY_SUFFIXES.iter().find(|(_, e)| *e == times * 10).map_or("", |(s, _)| s);
            return format!("{digits}{suffix}");
        }
        let (digits, exponent) = self.amount.in_thousands();
        match self.format {
            QuantityFormat::DecimalExponent if exponent == 0 => digits,
            QuantityFormat::DecimalExponent => format!("{digits}e{exponent}"),
            // Beyond the largest suffix, Go prints no suffix.
            _ => {
                let known = DECIMAL_SUFFIXES.iter().find(|(_, e)| i64::from(*e) == exponent);
                format!("{digits}{}", known.map_or("", |(s, _)| s))
            }
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => f.write_str(&self.canonical()),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.compare(&other.amount)
    }
}

struct QuantityParts<'a> {
    negative: bool,
    /// Digits before the decimal point, without leading zeros; `0` if there are none.
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
    /// Sign and number as in the parsed text.
    number: &'a str,
}

impl<'a> QuantityParts<'a> {
    fn of(text: &'a str) -> Result<Self, QuantityError> {
        let negative = text.starts_with('-');
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let trimmed = unsigned.trim_start_matches('0');
        if trimmed.is_empty() {
            return Ok(Self { negative, whole: "0", fraction: "", suffix: "", number: "0" });
        }
        let (whole, rest) = split_digits(trimmed);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        let letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let exponent = letters.strip_prefix(['-', '+']).unwrap_or(letters);
        if !split_digits(exponent).1.is_empty() {
            return Err(QuantityError::Format);
        }
        let number = &text[..text.len() - suffix.len()];
        Ok(Self { negative, whole: if whole.is_empty() { "0" } else { whole }, fraction, suffix, number })
    }

    fn has_digits(&self) -> bool {
        self.number.bytes().any(|b| b.is_ascii_digit())
    }

    // Implements Go's path for numbers that fit an int64, which decides which texts are kept unchanged.
    fn fast(&self, text: &str, exponent: i32, format: QuantityFormat) -> Option<Quantity> {
        let shifted = format!("{}{}", self.whole, self.fraction);
        let scale = match format {
            QuantityFormat::BinarySi => {
                let room = 15 - self.whole.len() as i64 - (exponent as f32 * 3.0 / 10.0) as i64 - 1;
                (self.fraction.is_empty() && room >= 0).then_some(0)?
            }
            _ => {
                let scale = i64::from(exponent.wrapping_sub(self.fraction.len() as i32));
                (shifted.len() <= FAST_DIGITS && scale >= NANO).then_some(scale)?
            }
        };
        let value: i64 = shifted.parse().ok()?;
        let kept = match format {
            QuantityFormat::BinarySi => value & 7 != 0,
            _ => scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0'),
        };
        let mut amount = DecimalAmount::new(self.negative, &shifted, scale);
        if format == QuantityFormat::BinarySi {
            amount = amount.times(1u64 << exponent);
        }
        let kept = kept || text == "0";
        Some(Quantity { amount, format, text: kept.then(|| text.into()) })
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len()))
}

fn interpret(suffix: &str) -> Option<(i32, QuantityFormat)> {
    let in_table = |table: &[(&str, i32)]| table.iter().find(|(s, _)| *s == suffix).map(|(_, e)| *e);
    if let Some(exponent) = in_table(&DECIMAL_SUFFIXES) {
        return Some((exponent, QuantityFormat::DecimalSi));
    }
    if let Some(exponent) = in_table(&BINARY_SUFFIXES) {
        return Some((exponent, QuantityFormat::BinarySi));
    }
    let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    // Go narrows to 32 bits the same way.
    Some((exponent as i32, QuantityFormat::DecimalExponent))
}

#[cfg(test)]
mod tests;
