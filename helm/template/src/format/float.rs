//! Go's `strconv.AppendFloat`.

use std::fmt::Write as _;

/// Size of the number, which decides how many digits distinguish it from its neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FloatWidth {
    Single,
    Double,
}

/// Decimal digits and the position of the point.
struct DecimalDigits {
    digits: Vec<u8>,
    point: i32,
}

/// Appends the number in format `b`, `e`, `E`, `f`, `g`, `G`, `x` or `X`. Without a precision, it has as many digits as
/// needed. Infinities always have a sign.
pub(crate) fn append(out: &mut String, number: f64, format: u8, precision: Option<usize>, width: FloatWidth) {
    if number.is_nan() {
        return out.push_str("NaN");
    }
    if number.is_infinite() {
        return out.push_str(if number > 0.0 { "+Inf" } else { "-Inf" });
    }
    if number.is_sign_negative() {
        out.push('-');
    }
    let number = number.abs();
    match format {
        b'b' => binary(out, number, width),
        b'x' | b'X' => hexadecimal(out, number, format, precision, width),
        _ => decimal(out, number, format, precision, width),
    }
}

fn decimal(out: &mut String, number: f64, format: u8, precision: Option<usize>, width: FloatWidth) {
    let digits = match precision {
        None => shortest(number, width),
        Some(precision) => fixed(number, format, precision),
    };
    let count = digits.digits.len() as i32;
    match format {
        b'e' | b'E' => scientific(out, &digits, precision.unwrap_or((count - 1).max(0) as usize), format),
        b'f' => plain(out, &digits, precision.unwrap_or((count - digits.point).max(0) as usize)),
        _ => {
            let mut limit = match precision {
                None => 6,
                Some(0) => 1,
                Some(precision) => precision as i32,
            };
            if limit > count && count >= digits.point {
                limit = count;
            }
            if precision.is_none() {
                limit = 6;
            }
            let exponent = digits.point - 1;
            if exponent < -4 || exponent >= limit {
                let precision = (count - 1).max(0) as usize;
                return scientific(out, &digits, precision, if format == b'g' { b'e' } else { b'E' });
            }
            plain(out, &digits, (count - digits.point).max(0) as usize);
        }
    }
}

/// Returns the fewest digits that parse back to the same number.
fn shortest(number: f64, width: FloatWidth) -> DecimalDigits {
    if number == 0.0 {
        return DecimalDigits { digits: Vec::new(), point: 0 };
    }
    let text = match width {
        FloatWidth::Double => format!("{number:e}"),
        FloatWidth::Single => format!("{:e}", number as f32),
    };
    from_scientific(&text)
}

/// Maximum number of significant digits. Any digits requested beyond it are zeros.
const MAX_DIGITS: usize = 1100;

/// Returns as many digits as the precision requires, rounded half to even.
fn fixed(number: f64, format: u8, precision: usize) -> DecimalDigits {
    let precision = precision.min(MAX_DIGITS);
    if number == 0.0 {
        return DecimalDigits { digits: Vec::new(), point: 0 };
    }
    match format {
        b'e' | b'E' => from_scientific(&format!("{number:.precision$e}")),
        b'f' => from_plain(&format!("{number:.precision$}")),
        _ => {
            let digits = precision.max(1) - 1;
            let mut decimal = from_scientific(&format!("{number:.digits$e}"));
            while decimal.digits.last() == Some(&b'0') {
                decimal.digits.pop();
            }
            decimal
        }
    }
}

fn from_scientific(text: &str) -> DecimalDigits {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits = mantissa.bytes().filter(|byte| *byte != b'.').collect();
    DecimalDigits { digits, point: exponent.parse::<i32>().unwrap_or(0) + 1 }
}

fn from_plain(text: &str) -> DecimalDigits {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    DecimalDigits { digits: digits[zeros..].to_vec(), point: whole.len() as i32 - zeros as i32 }
}

fn scientific(out: &mut String, decimal: &DecimalDigits, precision: usize, format: u8) {
    let digit = |at: usize| char::from(decimal.digits.get(at).copied().unwrap_or(b'0'));
    out.push(digit(0));
    if precision > 0 {
        out.push('.');
        out.extend((1..=precision).map(digit));
    }
    let exponent = if decimal.digits.is_empty() { 0 } else { decimal.point - 1 };
    out.push(char::from(format));
    write!(out, "{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()).expect("a String takes all");
}

fn plain(out: &mut String, decimal: &DecimalDigits, precision: usize) {
    let digit = |at: i32| {
        let digit = usize::try_from(at).ok().and_then(|at| decimal.digits.get(at));
        char::from(digit.copied().unwrap_or(b'0'))
    };
    if decimal.point > 0 {
        out.extend((0..decimal.point).map(digit));
    } else {
        out.push('0');
    }
    if precision > 0 {
        out.push('.');
        out.extend((0..precision as i32).map(|at| digit(decimal.point + at)));
    }
}

/// Returns the mantissa with the implicit bit, the exponent of its lowest bit, and the number of fraction bits.
fn parts(number: f64, width: FloatWidth) -> (u64, i32, u32) {
    let (bits, fraction, bias) = match width {
        FloatWidth::Double => (number.to_bits(), 52, 1023),
        FloatWidth::Single => (u64::from((number as f32).to_bits()), 23, 127),
    };
    let exponent = (bits >> fraction) as i32;
    let mantissa = bits & ((1 << fraction) - 1);
    match exponent {
        0 => (mantissa, 1 - bias, fraction),
        exponent => (mantissa | 1 << fraction, exponent - bias, fraction),
    }
}

fn binary(out: &mut String, number: f64, width: FloatWidth) {
    let (mantissa, exponent, fraction) = parts(number, width);
    write!(out, "{mantissa}p{:+}", exponent - fraction as i32).expect("a String takes all");
}

fn hexadecimal(out: &mut String, number: f64, format: u8, precision: Option<usize>, width: FloatWidth) {
    let (mut mantissa, mut exponent, fraction) = parts(number, width);
    if mantissa == 0 {
        exponent = 0;
    }
    // Shift the leading 1, if any, to bit 60, so that 15 hexadecimal digits follow it.
    mantissa <<= 60 - fraction;
    while mantissa != 0 && mantissa & 1 << 60 == 0 {
        mantissa <<= 1;
        exponent -= 1;
    }
    if let Some(precision) = precision.filter(|precision| *precision < 15) {
        let shift = precision as u32 * 4;
        let extra = (mantissa << shift) & ((1 << 60) - 1);
        mantissa >>= 60 - shift;
        if extra | (mantissa & 1) > 1 << 59 {
            mantissa += 1;
        }
        mantissa <<= 60 - shift;
        if mantissa & 1 << 61 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let digits: &[u8; 16] = if format == b'x' { b"0123456789abcdef" } else { b"0123456789ABCDEF" };
    out.push_str(if format == b'x' { "0x" } else { "0X" });
    out.push(if mantissa >> 60 & 1 == 1 { '1' } else { '0' });
    mantissa <<= 4;
    if precision.is_none() && mantissa != 0 || precision.is_some_and(|precision| precision > 0) {
        out.push('.');
        let mut written = 0;
        while precision.map_or(mantissa != 0, |precision| written < precision) {
            out.push(char::from(digits[(mantissa >> 60 & 15) as usize]));
            mantissa <<= 4;
            written += 1;
        }
    }
    out.push(if format == b'x' { 'p' } else { 'P' });
    write!(out, "{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()).expect("a String takes all");
}
