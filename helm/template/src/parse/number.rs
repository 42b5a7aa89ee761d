//! Go's number literals.

use switchboard_object::quote;

use crate::parse::node::{NumberNode, Pos};
use crate::parse::token::TokenKind;
use crate::parse::unquote;

/// Parses the number of a token.
pub(super) fn number(position: Pos, text: &[u8], kind: TokenKind) -> Result<NumberNode, String> {
    let source = String::from_utf8_lossy(text).into_owned();
    let mut number = NumberNode { position, source, ..NumberNode::default() };
    match kind {
        TokenKind::CharConstant => {
            let (c, tail) = unquote::character(&text[1..], b'\'').ok_or("invalid syntax")?;
            if tail != b"'" {
                return Err(format!("malformed character constant: {}", number.source));
            }
            (number.int, number.uint, number.float) = (Some(c.into()), Some(c.into()), Some(c.into()));
            return Ok(number);
        }
        TokenKind::Complex => {
            number.complex = Some(complex(&number.source).ok_or("syntax error scanning complex number")?);
            number.simplify();
            return Ok(number);
        }
        _ => {}
    }
    if let Some(imaginary) = number.source.strip_suffix('i').and_then(float) {
        number.complex = Some((0.0, imaginary));
        number.simplify();
        return Ok(number);
    }
    number.read()?;
    Ok(number)
}

impl NumberNode {
    fn read(&mut self) -> Result<(), String> {
        self.uint = unsigned(&self.source);
        self.int = signed(&self.source);
        if self.int == Some(0) {
            self.uint = self.uint.or(Some(0)); // -0
        }
        self.float = self.int.map(|int| int as f64).or(self.uint.map(|uint| uint as f64));
        if self.float.is_some() {
            return Ok(());
        }
        let Some(float) = float(&self.source) else {
            return Err(format!("illegal number syntax: {}", quote::quote_bytes(self.source.as_bytes())));
        };
        if !self.source.contains(['.', 'e', 'E', 'p', 'P']) {
            return Err(format!("integer overflow: {}", quote::quote_bytes(self.source.as_bytes())));
        }
        self.whole(float);
        Ok(())
    }

    /// Sets the integers if the float is integral.
    fn whole(&mut self, float: f64) {
        self.float = Some(float);
        self.int = ((float as i64) as f64 == float && float < i64::MAX as f64).then_some(float as i64);
        self.uint = ((float as u64) as f64 == float && float < u64::MAX as f64).then_some(float as u64);
    }

    fn simplify(&mut self) {
        if let Some((real, 0.0)) = self.complex {
            self.whole(real);
        }
    }
}

/// Parses like Go's `strconv.ParseUint` with base 0.
fn unsigned(text: &str) -> Option<u64> {
    let (base, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, &text[2..]),
        [b'0', b'b' | b'B', _, ..] => (2, &text[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &text[2..]),
        [b'0', ..] => (8, &text[1..]),
        _ => (10, text),
    };
    if text.is_empty() || digits.starts_with(['+', '-']) {
        return None;
    }
    if text.contains('_') && !underscores_ok(text) {
        return None;
    }
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    if plain.is_empty() { (text == "0").then_some(0) } else { u64::from_str_radix(&plain, base).ok() }
}

fn signed(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = unsigned(digits)?;
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Parses like Go's `strconv.ParseFloat`, without the names of infinity, which no number of a template starts with.
pub(crate) fn float(text: &str) -> Option<f64> {
    if text.contains('_') && !underscores_ok(text) {
        return None;
    }
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    let (sign, magnitude) = match plain.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    if magnitude.starts_with("0x") || magnitude.starts_with("0X") {
        return hex_float(&magnitude[2..]).map(|float| sign * float);
    }
    let digits = magnitude.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if !digits {
        return None;
    }
    magnitude.parse::<f64>().ok().filter(|float| float.is_finite()).map(|float| sign * float)
}

/// Parses `1.8p3`. The exponent is required.
fn hex_float(text: &str) -> Option<f64> {
    let (digits, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty()
        || !exponent.trim_start_matches(['+', '-']).bytes().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let mut power: i64 = exponent.parse().ok()?;
    let mut mantissa: u128 = 0;
    // Digits beyond 120 bits only affect rounding, depending on whether all of them are zero.
    let mut sticky = false;
    for (index, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u128::from(digit.to_digit(16)?);
        let is_fraction = index >= whole.len();
        if mantissa >> 120 == 0 {
            mantissa = mantissa << 4 | digit;
            power -= if is_fraction { 4 } else { 0 };
        } else {
            sticky |= digit != 0;
            power += if is_fraction { 0 } else { 4 };
        }
    }
    let float = scale(mantissa | u128::from(sticky), power);
    float.is_finite().then_some(float)
}

/// Returns `mantissa * 2^power`, rounded once.
fn scale(mantissa: u128, power: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let bits = 128 - i64::from(mantissa.leading_zeros());
    let exponent = bits + power; // The value is in [2^(exponent-1), 2^exponent).
    if exponent > 1024 {
        return f64::INFINITY;
    }
    let kept = (exponent + 1074).clamp(0, 53).min(bits);
    let dropped = bits - kept;
    let (mut top, rest) =
        if dropped >= 128 { (0, mantissa) } else { (mantissa >> dropped, mantissa & ((1u128 << dropped) - 1)) };
    if dropped > 0 {
        let half = 1u128 << (dropped - 1).min(127);
        if dropped <= 128 && (rest > half || rest == half && top & 1 == 1) {
            top += 1;
        }
    }
    // Multiply in two steps, because 2^-1074 times 2^1023 has no single power.
    let power = power + dropped;
    let (first, second) = (power.clamp(-1000, 1000), power - power.clamp(-1000, 1000));
    top as f64 * 2f64.powi(first as i32) * 2f64.powi(second as i32)
}

/// Parses `1+2i`, the inside of `(1+2i)`.
fn complex(text: &str) -> Option<(f64, f64)> {
    let text = text.strip_suffix('i')?;
    let exponent =
        |at: usize| at > 0 && matches!(text.as_bytes()[at - 1], b'e' | b'E' | b'p' | b'P') && !text.starts_with("0x");
    let sign = (1..text.len()).rev().find(|at| matches!(text.as_bytes()[*at], b'+' | b'-') && !exponent(*at))?;
    Some((float(&text[..sign])?, float(&text[sign..])?))
}

/// Whether underscores only appear between digits, or between a base prefix and a digit.
fn underscores_ok(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text).as_bytes();
    let hex = matches!(text, [b'0', b'x' | b'X', ..]);
    let prefixed = matches!(text, [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', ..]);
    let mut last = if prefixed { b'0' } else { b'^' };
    for byte in &text[if prefixed { 2 } else { 0 }..] {
        last = match byte {
            b'0'..=b'9' => b'0',
            b'a'..=b'f' | b'A'..=b'F' if hex => b'0',
            b'_' if last == b'0' => b'_',
            b'_' => return false,
            _ if last == b'_' => return false,
            _ => b'!',
        };
    }
    last != b'_'
}
