//! Decimals for `addf` and similar functions: the subset of shopspring/decimal that sprig uses.

use num_bigint::BigInt;
use num_traits::{Signed, Zero};

/// Number of decimal places of a quotient.
const DIVISION_DIGITS: i64 = 16;
/// Maximum number of digits of a product. Go has no limit except memory.
const MAX_DIGITS: i64 = 100_000;

/// A decimal number: `value × 10^exponent`.
#[derive(Debug, Clone)]
pub struct BigDecimal {
    value: BigInt,
    exponent: i64,
}

impl BigDecimal {
    /// Converts a float to its shortest decimal. The error has the text of Go's panic.
    pub fn from_float(number: f64) -> Result<BigDecimal, String> {
        if !number.is_finite() {
            let shown = if number.is_nan() {
                "NaN"
            } else if number > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            };
            return Err(format!("Cannot create a Decimal from {shown}"));
        }
        let text = format!("{number:e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let fraction = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i64);
        let value = digits.replace('.', "").parse().unwrap_or_default();
        Ok(BigDecimal { value, exponent: power.parse::<i64>().unwrap_or(0) - fraction })
    }

    /// Converts to the nearest float.
    pub fn to_float(&self) -> f64 {
        format!("{}e{}", self.value, self.exponent).parse().unwrap_or(f64::NAN)
    }

    fn at(&self, exponent: i64) -> BigInt {
        &self.value * power_of_ten(self.exponent - exponent)
    }

    /// Adds two decimals.
    pub fn add(&self, other: &BigDecimal) -> Result<BigDecimal, String> {
        let exponent = self.exponent.min(other.exponent);
        Ok(BigDecimal { value: self.at(exponent) + other.at(exponent), exponent })
    }

    /// Subtracts `other`.
    pub fn sub(&self, other: &BigDecimal) -> Result<BigDecimal, String> {
        let exponent = self.exponent.min(other.exponent);
        Ok(BigDecimal { value: self.at(exponent) - other.at(exponent), exponent })
    }

    /// Multiplies two decimals.
    pub fn mul(&self, other: &BigDecimal) -> Result<BigDecimal, String> {
        let exponent = self.exponent + other.exponent;
        if exponent.abs() > MAX_DIGITS {
            return Err(format!("exponent {exponent} overflows an int32!"));
        }
        Ok(BigDecimal { value: &self.value * &other.value, exponent })
    }

    /// Divides by `other`, rounding half away from zero.
    pub fn div(&self, other: &BigDecimal) -> Result<BigDecimal, String> {
        if other.value.is_zero() {
            return Err("decimal division by 0".to_string());
        }
        let shift = self.exponent - other.exponent + DIVISION_DIGITS;
        let (above, below) = if shift < 0 {
            (self.value.clone(), &other.value * power_of_ten(-shift))
        } else {
            (&self.value * power_of_ten(shift), other.value.clone())
        };
        let (mut quotient, rest) = (&above / &below, &above % &below);
        if rest.abs() * 2 >= below.abs() {
            quotient += if self.value.is_negative() == other.value.is_negative() { 1 } else { -1 };
        }
        Ok(BigDecimal { value: quotient, exponent: -DIVISION_DIGITS })
    }
}

fn power_of_ten(exponent: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent).unwrap_or(0))
}
