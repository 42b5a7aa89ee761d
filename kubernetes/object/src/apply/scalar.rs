//! Values inside path elements, with Go's comparison and formatting.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;

use crate::quote::quote;
use crate::{Value, go_format};

/// Value of a key field or of a set's item; nearly always a scalar.
#[derive(Clone, Debug)]
pub(crate) enum PathValue<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    /// List or object. The format allows these, but no known client produces them.
    Other(Cow<'a, Value>),
}

impl<'a> PathValue<'a> {
    pub(crate) fn from_value(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(b) => Self::Bool(*b),
            Value::Number(n) => Self::number(n),
            Value::String(s) => Self::Text(Cow::Borrowed(s)),
            other => Self::Other(Cow::Borrowed(other)),
        }
    }

    /// Converts a value of a stored path element. structured-merge-diff reads these without telling integers from
    /// floats.
    pub(crate) fn from_owned(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(b) => Self::Bool(b),
            Value::Number(n) => Self::Float(n.as_f64().unwrap_or(f64::NAN)),
            Value::String(s) => Self::Text(Cow::Owned(s)),
            other => Self::Other(Cow::Owned(other)),
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let read = serde_json::from_str(text).map(Self::from_owned).map_err(|e| e.to_string())?;
        match read {
            // serde_json rounds floats inexactly, and the text is part of an identity.
            Self::Float(_) => text.trim().parse().map(Self::Float).map_err(|_| format!("not a number: {text}")),
            other => Ok(other),
        }
    }

    fn number(n: &serde_json::Number) -> Self {
        n.as_i64().map_or_else(|| Self::Float(n.as_f64().unwrap_or(f64::NAN)), Self::Int)
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Float(_) | Self::Int(_) => 0,
            Self::Text(_) => 1,
            Self::Bool(_) => 2,
            Self::Other(_) => 3,
            Self::Null => 4,
        }
    }

    /// Writes the value as it appears in a path.
    pub(crate) fn write_text(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Self::Int(i) => {
                let _ = write!(out, "{i}");
            }
            Self::Float(f) => out.push_str(&go_format::float(*f)),
            Self::Text(s) => out.push_str(&quote(s)),
            Self::Other(v) => write_value_text(out, v),
        }
    }

    /// Writes the value as it appears in `fieldsV1`.
    pub(crate) fn write_json(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Self::Int(i) => {
                let _ = write!(out, "{i}");
            }
            Self::Float(f) => out.push_str(&json_float(*f)),
            Self::Text(s) => write_json_string(out, s, true),
            Self::Other(v) => out.push_str(&v.to_string()),
        }
    }
}

impl Ord for PathValue<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => compare_floats(*a, *b),
            (Self::Int(a), Self::Float(b)) => compare_floats(*a as f64, *b),
            (Self::Float(a), Self::Int(b)) => compare_floats(*a, *b as f64),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Other(a), Self::Other(b)) => compare_values(a, b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

impl PartialOrd for PathValue<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathValue<'_> {}

/// Compares two floats. JSON has no NaN, so floats are totally ordered, and the two zeros are equal.
fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

fn compare_values(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            let pairs = a.iter().zip(b).map(|(a, b)| compare_values(a, b));
            pairs.into_iter().find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let pairs = a.iter().zip(b).map(|((ak, av), (bk, bv))| ak.cmp(bk).then_with(|| compare_values(av, bv)));
            pairs.into_iter().find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Array(_), Value::Object(_)) => Ordering::Less,
        (Value::Object(_), Value::Array(_)) => Ordering::Greater,
        (a, b) => PathValue::from_value(a).cmp(&PathValue::from_value(b)),
    }
}

/// Whether two values are equal, with numbers compared by value.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => match (x.as_i64(), y.as_i64()) {
            (Some(x), Some(y)) => x == y,
            _ => x.as_f64() == y.as_f64(),
        },
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|((xk, xv), (yk, yv))| xk == yk && same(xv, yv))
        }
        _ => a == b,
    }
}

/// Formats a float as structured-merge-diff encodes path elements, with exponents padded to two digits.
fn json_float(f: f64) -> String {
    const PLAIN: std::ops::Range<f64> = 1e-6..1e21;
    if f == 0.0 || PLAIN.contains(&f.abs()) {
        return format!("{f}");
    }
    let text = format!("{f:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// Writes a JSON string as Go's encoder does.
pub(crate) fn write_json_string(out: &mut String, text: &str, escape_html: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if escape_html => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn write_value_text(out: &mut String, value: &Value) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value_text(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                out.push_str(name);
                out.push('=');
                write_value_text(out, value);
            }
        }
        scalar => PathValue::from_value(scalar).write_text(out),
    }
}

/// Returns Go's `%#v` of a decoded value.
pub(crate) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::String(s) => quote(s),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(k, v)| format!("{}:{}", quote(k), go_syntax(v))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        other => go_format::value(other),
    }
}
