//! Exact decimals for schemas and values, so that 0.3 is a multiple of 0.1.

use std::cmp::Ordering;

use switchboard_object::Value;

/// Digits and the position of the decimal point.
#[derive(Clone, Copy, Debug)]
pub struct SchemaNumber {
    digits: i128,
    exponent: i32,
    float: f64,
}

impl SchemaNumber {
    /// Converts a value if it is a number.
    pub fn of(value: &Value) -> Option<Self> {
        let Value::Number(number) = value else { return None };
        let float = number.as_f64()?;
        let text = number.to_string();
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}").parse().unwrap_or(0);
        let exponent = exponent.parse::<i32>().unwrap_or(0) - i32::try_from(fraction.len()).unwrap_or(0);
        Some(Self { digits, exponent, float })
    }

    /// Scales both numbers to integers with the same exponent, if they fit.
    fn aligned(self, other: Self) -> Option<(i128, i128)> {
        let least = self.exponent.min(other.exponent);
        let scaled = |number: Self| {
            let factor = 10i128.checked_pow(u32::try_from(number.exponent - least).ok()?)?;
            number.digits.checked_mul(factor)
        };
        Some((scaled(self)?, scaled(other)?))
    }

    /// Compares two numbers.
    pub fn compare(self, other: Self) -> Ordering {
        match self.aligned(other) {
            Some((a, b)) => a.cmp(&b),
            None => self.float.total_cmp(&other.float),
        }
    }

    /// Whether the number is a multiple of another one.
    pub fn is_multiple_of(self, other: Self) -> bool {
        match self.aligned(other) {
            Some((_, 0)) => false,
            Some((a, b)) => a % b == 0,
            None => (self.float / other.float).fract() == 0.0,
        }
    }

    /// Whether the number has no fraction.
    pub fn is_whole(self) -> bool {
        self.float.fract() == 0.0
    }

    /// Formats the number like the validator: in English, with commas between thousands, and with a power of ten from a
    /// million on.
    pub fn to_english(self) -> String {
        if self.float == 0.0 {
            return "0".to_string();
        }
        let scientific = format!("{:e}", self.float);
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        if !(-4..6).contains(&exponent) {
            let sign = if exponent < 0 { "⁻" } else { "" };
            let raised: String = format!("{:02}", exponent.abs()).chars().map(superscript).collect();
            return format!("{mantissa}×10{sign}{raised}");
        }
        let text = format!("{}", self.float);
        let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
        let (whole, fraction) = text.split_once('.').map_or((text, None), |(w, f)| (w, Some(f)));
        let fraction = fraction.map_or(String::new(), |fraction| format!(".{fraction}"));
        format!("{sign}{}{fraction}", grouped(whole))
    }
}

fn superscript(digit: char) -> char {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digit.to_digit(10).map_or(digit, |digit| digits[digit as usize])
}

/// Formats a count in English.
pub fn count(number: usize) -> String {
    grouped(&number.to_string())
}

fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
