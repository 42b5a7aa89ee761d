//! Width, precision and flags: the layout of numbers and strings.

use switchboard_object::quote;

use super::{FloatWidth, ValuePrinter, append_float};
use crate::rune;

/// Flags of a directive.
#[derive(Clone, Copy, Default)]
pub(super) struct FormatFlags {
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    /// `%+v`
    pub(super) plus_v: bool,
    /// `%#v`
    pub(super) sharp_v: bool,
}

/// Maximum number of digits of an integer: 64 bits in base 2.
const MAX_DIGITS: usize = 64;

/// Appends an integer in base 10, without flags.
pub(super) fn append_decimal(out: &mut Vec<u8>, number: i64) {
    let mut digits = [0; 20];
    let mut rest = number.unsigned_abs();
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

impl ValuePrinter<'_> {
    fn padding(&mut self, count: usize) {
        let zero = self.flags.zero && !self.flags.minus;
        self.repeat(if zero { b'0' } else { b' ' }, count);
    }

    pub(super) fn pad(&mut self, text: &[u8]) {
        let Some(width) = self.flags.width.filter(|width| *width > 0) else { return self.push(text) };
        let padding = width.saturating_sub(rune::count(text));
        if self.flags.minus {
            self.push(text);
            self.padding(padding);
        } else {
            self.padding(padding);
            self.push(text);
        }
    }

    fn pad_with_spaces(&mut self, text: &[u8]) {
        let zero = std::mem::take(&mut self.flags.zero);
        self.pad(text);
        self.flags.zero = zero;
    }

    fn truncate<'s>(&self, text: &'s [u8]) -> &'s [u8] {
        let Some(precision) = self.flags.precision else { return text };
        rune::runes(text).nth(precision).map_or(text, |(at, _)| &text[..at])
    }

    pub(super) fn string(&mut self, text: &[u8]) {
        let text = self.truncate(text);
        self.pad(text);
    }

    pub(super) fn quoted(&mut self, text: &[u8]) {
        let text = self.truncate(text);
        if self.flags.sharp && quote::can_backquote(text) {
            let quoted = [b"`", text, b"`"].concat();
            return self.pad(&quoted);
        }
        let quoted = if self.flags.plus { quote::quote_to_ascii(text) } else { quote::quote_bytes(text) };
        self.pad(quoted.as_bytes());
    }

    /// Formats the bytes in hexadecimal.
    pub(super) fn hex_bytes(&mut self, text: &[u8], upper: bool) {
        let length = self.flags.precision.map_or(text.len(), |precision| precision.min(text.len()));
        let text = &text[..length];
        if text.is_empty() {
            return self.padding(self.flags.width.unwrap_or(0));
        }
        let prefix: &[u8] = match (self.flags.sharp, upper) {
            (false, _) => b"",
            (true, false) => b"0x",
            (true, true) => b"0X",
        };
        let mut hex = Vec::with_capacity(text.len() * 2 + prefix.len());
        for (index, byte) in text.iter().enumerate() {
            if index > 0 && self.flags.space {
                hex.push(b' ');
            }
            if index == 0 || self.flags.space {
                hex.extend_from_slice(prefix);
            }
            hex.extend([byte >> 4, byte & 15].map(|digit| hex_digit(digit, upper)));
        }
        let padding = self.flags.width.unwrap_or(0).saturating_sub(hex.len());
        if self.flags.minus {
            self.push(&hex);
            self.padding(padding);
        } else {
            self.padding(padding);
            self.push(&hex);
        }
    }

    pub(super) fn integer(&mut self, number: u64, base: u64, signed: bool, verb: char, upper: bool) {
        let negative = signed && (number as i64) < 0;
        let mut rest = if negative { number.wrapping_neg() } else { number };
        let mut zeros = 0;
        if let Some(precision) = self.flags.precision {
            zeros = precision;
            if precision == 0 && number == 0 {
                let zero = std::mem::take(&mut self.flags.zero);
                self.padding(self.flags.width.unwrap_or(0));
                self.flags.zero = zero;
                return;
            }
        } else if self.flags.zero && !self.flags.minus && self.flags.width.is_some() {
            zeros = self.flags.width.unwrap_or(0);
            if negative || self.flags.plus || self.flags.space {
                zeros = zeros.saturating_sub(1);
            }
        }
        let mut digits = [0; MAX_DIGITS];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = hex_digit((rest % base) as u8, upper);
            rest /= base;
            if rest == 0 {
                break;
            }
        }
        let digits = &digits[at..];
        let zeros = zeros.saturating_sub(digits.len());
        if !self.fits(zeros) {
            return;
        }
        let mut text = Vec::with_capacity(digits.len() + zeros + 3);
        match (negative, self.flags.plus, self.flags.space) {
            (true, ..) => text.push(b'-'),
            (_, true, _) => text.push(b'+'),
            (.., true) => text.push(b' '),
            _ => {}
        }
        if verb == 'O' {
            text.extend_from_slice(b"0o");
        }
        if self.flags.sharp {
            match base {
                2 => text.extend_from_slice(b"0b"),
                8 if zeros == 0 && digits[0] != b'0' => text.push(b'0'),
                16 => text.extend_from_slice(if upper { b"0X" } else { b"0x" }),
                _ => {}
            }
        }
        text.resize(text.len() + zeros, b'0');
        text.extend_from_slice(digits);
        self.pad_with_spaces(&text);
    }

    /// Formats `%c`.
    pub(super) fn character(&mut self, number: u64) {
        let c = code_point(number).unwrap_or(rune::ERROR);
        self.pad(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// Formats `%q` of a number.
    pub(super) fn quoted_character(&mut self, number: u64) {
        let c = code_point(number).unwrap_or(rune::ERROR);
        let quoted = quote::quote_rune(c, self.flags.plus);
        self.pad(quoted.as_bytes());
    }

    /// Formats `%U`.
    pub(super) fn unicode(&mut self, number: u64) {
        let digits = self.flags.precision.unwrap_or(4).max(4);
        if !self.fits(digits) {
            return;
        }
        let hex = format!("{number:X}");
        let mut text = format!("U+{}{hex}", "0".repeat(digits.saturating_sub(hex.len())));
        if let Some(c) = code_point(number).filter(|c| self.flags.sharp && rune::is_print(*c)) {
            text.push_str(&format!(" '{c}'"));
        }
        self.pad_with_spaces(text.as_bytes());
    }

    pub(super) fn float(&mut self, number: f64, width: FloatWidth, format: u8, default: Option<usize>) {
        let precision = self.flags.precision.or(default);
        if !self.fits(precision.unwrap_or(0)) {
            return;
        }
        let mut text = String::new();
        append_float(&mut text, number, format, precision, width);
        if !text.starts_with(['-', '+']) {
            text.insert(0, '+');
        }
        if self.flags.space && text.starts_with('+') && !self.flags.plus {
            text.replace_range(..1, " ");
        }
        if number.is_nan() || number.is_infinite() {
            let signless = number.is_nan() && !self.flags.space && !self.flags.plus;
            // Remove a plus sign that was not requested. Go keeps the sign of +Inf.
            return self.pad_with_spaces(&text.as_bytes()[usize::from(signless)..]);
        }
        if self.flags.sharp && format != b'b' {
            keep_zeros(&mut text, format, precision);
        }
        if self.flags.plus || !text.starts_with('+') {
            if self.flags.zero && !self.flags.minus && self.flags.width.is_some_and(|width| width > text.len()) {
                self.push(&text.as_bytes()[..1]);
                self.padding(self.flags.width.unwrap_or(0) - text.len());
                return self.push(&text.as_bytes()[1..]);
            }
            return self.pad(text.as_bytes());
        }
        self.pad(&text.as_bytes()[1..]);
    }
}

/// Formats `%#g`: always keeps the decimal point and trailing zeros. `text` includes its sign.
fn keep_zeros(text: &mut String, format: u8, precision: Option<usize>) {
    let mut missing = match format {
        b'g' | b'G' | b'x' => precision.unwrap_or(6) as i64,
        _ => 0,
    };
    let hexadecimal = matches!(format, b'x' | b'X');
    let mut point = false;
    let mut nonzero = false;
    let mut end = text.len();
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'.' => point = true,
            b'p' | b'P' => {
                end = at;
                break;
            }
            b'e' | b'E' if !hexadecimal => {
                end = at;
                break;
            }
            byte => {
                nonzero |= byte != b'0';
                missing -= i64::from(nonzero);
            }
        }
    }
    let tail = text.split_off(end);
    if !point {
        if text.len() == 2 && text.ends_with('0') {
            missing -= 1;
        }
        text.push('.');
    }
    text.push_str(&"0".repeat(missing.max(0) as usize));
    text.push_str(&tail);
}

fn code_point(number: u64) -> Option<char> {
    u32::try_from(number).ok().and_then(char::from_u32)
}

fn hex_digit(digit: u8, upper: bool) -> u8 {
    match digit {
        0..=9 => b'0' + digit,
        _ if upper => b'A' + digit - 10,
        _ => b'a' + digit - 10,
    }
}
