//! Resolution of plain YAML scalars by PyYAML's rules for YAML 1.1, which differ from Go's.
//!
//! `yes` is true and `y` a text; `1:30` is 90; `1e3` is a text; `2024-01-01` is a date.

use serde_json::{Number, Value};

/// Resolved scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum PlainScalar {
    /// Value that JSON supports.
    Value(Value),
    /// Date or time, which JSON does not support.
    Time,
    /// Infinity or NaN.
    Unbounded,
    /// Text.
    Text,
}

/// Resolves an untagged plain scalar.
pub fn resolve(text: &str) -> PlainScalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return PlainScalar::Value(Value::Null),
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return PlainScalar::Value(true.into());
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return PlainScalar::Value(false.into());
        }
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return PlainScalar::Text;
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return PlainScalar::Unbounded;
    }
    let negative = text.starts_with('-');
    if let Some(float) = float(text, unsigned) {
        let float = if negative { -float } else { float };
        return Number::from_f64(float).map_or(PlainScalar::Unbounded, |number| PlainScalar::Value(number.into()));
    }
    if let Some(integer) = integer(unsigned) {
        return PlainScalar::Value(signed(integer, negative));
    }
    if is_time(text) { PlainScalar::Time } else { PlainScalar::Text }
}

fn signed(integer: u128, negative: bool) -> Value {
    let signed = i128::try_from(integer).unwrap_or(i128::MAX) * if negative { -1 } else { 1 };
    match (i64::try_from(signed), u64::try_from(signed)) {
        (Ok(integer), _) => integer.into(),
        (_, Ok(integer)) => integer.into(),
        // Python's integers are unbounded; the magnitude is sufficient here.
        _ => Value::from(signed as f64),
    }
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'_')
}

fn float(text: &str, unsigned: &str) -> Option<f64> {
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-'])?;
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
    }
    let (whole, part) = mantissa.split_once('.')?;
    let part_fits = part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    if whole.contains(':') {
        let fits = exponent.is_none() && part_fits;
        return fits.then(|| sexagesimal(whole)).flatten().map(|whole| whole as f64 + fraction(part));
    }
    // A number that begins with the decimal point has no sign and at least one digit.
    let fits = match whole.is_empty() {
        true => text.starts_with('.') && part.starts_with(|c: char| c.is_ascii_digit()),
        false => whole.starts_with(|c: char| c.is_ascii_digit()) && digits(whole),
    };
    if !fits || !part_fits {
        return None;
    }
    let clean = |text: &str| text.replace('_', "");
    let exponent = exponent.map(|e| format!("e{e}")).unwrap_or_default();
    format!("{}.{}{exponent}", non_empty(clean(whole)), non_empty(clean(part))).parse().ok()
}

fn non_empty(text: String) -> String {
    if text.is_empty() { "0".to_string() } else { text }
}

fn fraction(part: &str) -> f64 {
    format!("0.{}", non_empty(part.replace('_', ""))).parse().unwrap_or_default()
}

fn sexagesimal(text: &str) -> Option<u128> {
    let mut parts = text.split(':');
    let first = parts.next()?;
    if !first.starts_with(|c: char| c.is_ascii_digit()) || !digits(first) {
        return None;
    }
    let mut value: u128 = first.replace('_', "").parse().ok()?;
    for part in parts {
        let number: u128 = part.parse().ok().filter(|n| *n < 60)?;
        if part.len() > 2 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        value = value.checked_mul(60)?.checked_add(number)?;
    }
    Some(value)
}

fn integer(unsigned: &str) -> Option<u128> {
    let radix = |digits: &str, radix: u32| {
        let clean = digits.replace('_', "");
        let fits = !digits.is_empty() && digits.bytes().all(|b| b == b'_' || (b as char).is_digit(radix));
        fits.then(|| u128::from_str_radix(&clean, radix).ok()).flatten()
    };
    if let Some(digits) = unsigned.strip_prefix("0b") {
        return radix(digits, 2);
    }
    if let Some(digits) = unsigned.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if unsigned == "0" {
        return Some(0);
    }
    if let Some(digits) = unsigned.strip_prefix('0') {
        return radix(digits, 8);
    }
    if unsigned.contains(':') {
        return sexagesimal(unsigned);
    }
    unsigned.starts_with(|c: char| c.is_ascii_digit()).then(|| radix(unsigned, 10)).flatten()
}

/// Whether the text is a date like `2024-01-01`, or a date with one or two digits and a time.
fn is_time(text: &str) -> bool {
    let number = |text: &str, least: usize, most: usize| {
        (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
    };
    let (date, time) = match text.find(['T', 't', ' ', '\t']) {
        Some(at) => (&text[..at], Some(text[at + 1..].trim_start_matches([' ', '\t']))),
        None => (text, None),
    };
    let parts: Vec<&str> = date.split('-').collect();
    let least = if time.is_some() { 1 } else { 2 };
    let [year, month, day] = parts[..] else { return false };
    if !number(year, 4, 4) || !number(month, least, 2) || !number(day, least, 2) {
        return false;
    }
    let Some(time) = time else { return true };
    let clock = time.split(['Z', '+', '-', '.', ' ', '\t']).next().unwrap_or_default();
    let parts: Vec<&str> = clock.split(':').collect();
    matches!(parts[..], [h, m, s] if number(h, 1, 2) && number(m, 2, 2) && number(s, 2, 2))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_are_resolved_like_pyyaml() {
        for (text, value) in [
            ("yes", json!(true)),
            ("Off", json!(false)),
            ("~", json!(null)),
            ("1:30", json!(90)),
            ("-1:30", json!(-90)),
            ("012", json!(10)),
            ("0x1F", json!(31)),
            ("0b101", json!(5)),
            ("1_000", json!(1000)),
            ("+7", json!(7)),
            ("1.5", json!(1.5)),
            ("1.", json!(1.0)),
            (".5", json!(0.5)),
            ("1.0e+3", json!(1000.0)),
            ("1:30.5", json!(90.5)),
            ("18446744073709551615", json!(18_446_744_073_709_551_615u64)),
        ] {
            assert_eq!(resolve(text), PlainScalar::Value(value), "{text}");
        }
        for text in
            ["y", "n", "1e3", "1e+06", "08", "1.2.3", "-.5", "1:60", "0o17", "1.0e3", "+", "-", ".", "a", "100m"]
        {
            assert_eq!(resolve(text), PlainScalar::Text, "{text}");
        }
        for text in ["2024-01-01", "2024-1-1 1:02:03", "2024-01-01T10:00:00Z", "2024-01-01 10:00:00.5 +02:00"] {
            assert_eq!(resolve(text), PlainScalar::Time, "{text}");
        }
        assert_eq!(resolve("2024-1-1"), PlainScalar::Text);
        assert_eq!((resolve("-.inf"), resolve(".nan")), (PlainScalar::Unbounded, PlainScalar::Unbounded));
    }
}
