//! Decimal numbers of any size: a digit string and a power of ten. Quantities are short, so digit strings suffice.

use std::cmp::Ordering;

/// `±digits × 10^exponent`; `digits` has no leading zeros and is empty for zero.
#[derive(Clone, Debug)]
pub(super) struct DecimalAmount {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

/// Amounts whose exponents differ by more than this are not added digit by digit.
const MAX_ALIGNMENT: i64 = 4096;

impl DecimalAmount {
    pub fn new(negative: bool, digits: &str, exponent: i64) -> Self {
        Self::of(negative, digits.bytes().map(|b| b.wrapping_sub(b'0')).collect(), exponent)
    }

    // Normalizes a number: drops leading zeros, and moves trailing zeros to the exponent.
    fn of(negative: bool, mut digits: Vec<u8>, mut exponent: i64) -> Self {
        let zeros = digits.iter().take_while(|d| **d == 0).count();
        digits.drain(..zeros);
        while digits.last() == Some(&0) {
            digits.pop();
            exponent += 1;
        }
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: 0 };
        }
        Self { negative, digits, exponent }
    }

    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub fn is_negative(&self) -> bool {
        self.negative
    }

    pub fn is_whole(&self) -> bool {
        self.exponent >= 0
    }

    pub fn negated(&self) -> Self {
        Self { negative: !self.negative && !self.is_zero(), ..self.clone() }
    }

    pub fn shifted(mut self, by: i64) -> Self {
        if !self.is_zero() {
            self.exponent += by;
        }
        self
    }

    pub fn times(&self, factor: u64) -> Self {
        let mut out = Vec::with_capacity(self.digits.len() + 20);
        let mut carry = 0u128;
        for digit in self.digits.iter().rev() {
            let product = u128::from(*digit) * u128::from(factor) + carry;
            out.push((product % 10) as u8);
            carry = product / 10;
        }
        while carry > 0 {
            out.push((carry % 10) as u8);
            carry /= 10;
        }
        out.reverse();
        Self::of(self.negative, out, self.exponent)
    }

    /// Rounds to a multiple of `10^exponent`, away from zero.
    pub fn rounded_away(&self, exponent: i64) -> Self {
        if self.is_zero() || self.exponent >= exponent {
            return self.clone();
        }
        let dropped = exponent - self.exponent;
        let kept = (self.digits.len() as i64 - dropped).max(0) as usize;
        // There are no trailing zeros, so the dropped digits are not zero.
        let mut digits = self.digits[..kept].to_vec();
        increment(&mut digits);
        Self::of(self.negative, digits, exponent)
    }

    pub fn capped(self, max: i64) -> Self {
        let bound = Self::new(self.negative, &max.to_string(), 0);
        if self.magnitude_cmp(&bound) == Ordering::Greater { bound } else { self }
    }

    pub fn magnitude_cmp_one(&self) -> Ordering {
        self.magnitude_cmp(&Self::new(false, "1", 0))
    }

    pub fn magnitude_cmp(&self, other: &Self) -> Ordering {
        if self.is_zero() || other.is_zero() {
            return other.is_zero().cmp(&self.is_zero());
        }
        let size = |d: &Self| d.digits.len() as i64 + d.exponent;
        // Neither has trailing zeros, so of two digit strings with a common prefix the shorter one is smaller.
        size(self).cmp(&size(other)).then_with(|| self.digits.cmp(&other.digits))
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude_cmp(other),
            (true, true) => other.magnitude_cmp(self),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }

    pub fn plus(&self, other: &Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return if self.is_zero() { other.clone() } else { self.clone() };
        }
        let exponent = self.exponent.min(other.exponent);
        if (self.exponent - exponent).max(other.exponent - exponent) > MAX_ALIGNMENT {
            let greater = self.magnitude_cmp(other) == Ordering::Greater;
            return if greater { self.clone() } else { other.clone() };
        }
        let (a, b) = (self.reversed_at(exponent), other.reversed_at(exponent));
        if self.negative == other.negative {
            return Self::of(self.negative, add(&a, &b), exponent);
        }
        match self.magnitude_cmp(other) {
            Ordering::Less => Self::of(other.negative, subtract(&b, &a), exponent),
            _ => Self::of(self.negative, subtract(&a, &b), exponent),
        }
    }

    // Returns the digits, least significant first, at the given exponent.
    fn reversed_at(&self, exponent: i64) -> Vec<u8> {
        let zeros = (self.exponent - exponent) as usize;
        std::iter::repeat_n(0, zeros).chain(self.digits.iter().rev().copied()).collect()
    }

    /// Returns the digits and an exponent that is a multiple of three.
    pub fn in_thousands(&self) -> (String, i64) {
        let rest = self.exponent.rem_euclid(3);
        (self.text(rest as usize), self.exponent - rest)
    }

    /// Divides an integer by 1024 as often as possible. Returns the digits and the number of divisions.
    pub fn without_factors_of_1024(&self) -> (String, i32) {
        let mut digits = self.digits.clone();
        digits.extend(std::iter::repeat_n(0, self.exponent.clamp(0, MAX_ALIGNMENT) as usize));
        let mut times = 0;
        loop {
            let (quotient, remainder) = divide(&digits, 1024);
            if remainder != 0 || quotient.is_empty() {
                break;
            }
            digits = quotient;
            times += 1;
        }
        (Self { negative: self.negative, digits, exponent: 0 }.text(0), times)
    }

    fn text(&self, zeros: usize) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits: String = self.digits.iter().map(|d| char::from(b'0' + d)).collect();
        format!("{sign}{digits}{}", "0".repeat(zeros))
    }

    /// Converts an integer, clamped to 64 bits.
    pub fn to_i64(&self) -> i64 {
        let limit = if self.negative { i64::MIN } else { i64::MAX };
        if self.digits.len() as i64 + self.exponent > 19 {
            return limit;
        }
        self.text(self.exponent.max(0) as usize).parse().unwrap_or(if self.is_zero() { 0 } else { limit })
    }

    pub fn to_f64(&self) -> f64 {
        if self.is_zero() {
            return 0.0;
        }
        format!("{}e{}", self.text(0), self.exponent).parse().unwrap_or(f64::INFINITY)
    }
}

fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return;
        }
        *digit = 0;
    }
    digits.insert(0, 1);
}

fn add(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(a.len().max(b.len()) + 1);
    let mut carry = 0;
    for index in 0..a.len().max(b.len()) {
        let sum = a.get(index).unwrap_or(&0) + b.get(index).unwrap_or(&0) + carry;
        out.push(sum % 10);
        carry = sum / 10;
    }
    out.push(carry);
    out.reverse();
    out
}

// Subtracts digit strings; `a` must not be smaller than `b`.
fn subtract(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(a.len());
    let mut borrow = 0;
    for (index, digit) in a.iter().enumerate() {
        let less = b.get(index).unwrap_or(&0) + borrow;
        borrow = u8::from(*digit < less);
        out.push(digit + borrow * 10 - less);
    }
    out.reverse();
    out
}

fn divide(digits: &[u8], divisor: u32) -> (Vec<u8>, u32) {
    let mut quotient = Vec::with_capacity(digits.len());
    let mut remainder = 0;
    for digit in digits {
        let current = remainder * 10 + u32::from(*digit);
        let part = (current / divisor) as u8;
        if !(quotient.is_empty() && part == 0) {
            quotient.push(part);
        }
        remainder = current % divisor;
    }
    (quotient, remainder)
}
