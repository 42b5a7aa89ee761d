//! `eq`, `lt` and the others made of them.

use std::cmp::Ordering;

use crate::error::Error;
use crate::exec::Slot;
use crate::format;
use crate::value::{Kind, Value};

/// Kinds that compare with each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    Bool,
    Complex,
    Int,
    Float,
    String,
    Uint,
}

fn basic(value: &Value) -> Option<Basic> {
    Some(match value.kind() {
        Kind::Bool => Basic::Bool,
        Kind::Complex128 => Basic::Complex,
        Kind::Float32 | Kind::Float64 => Basic::Float,
        Kind::String => Basic::String,
        kind if kind.is_signed() => Basic::Int,
        kind if kind.is_unsigned() => Basic::Uint,
        _ => return None,
    })
}

/// `a == b || a == c || ...`
pub(super) fn equal(first: &Value, others: &[Slot]) -> Result<bool, Error> {
    if others.is_empty() {
        return Err(Error::call("missing argument for comparison"));
    }
    for other in others {
        if equals(first, &other.value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equals(a: &Value, b: &Value) -> Result<bool, Error> {
    match (a, b) {
        (Value::String(a), Value::String(b)) => return Ok(a == b),
        (Value::Int(a), Value::Int(b)) => return Ok(a == b),
        (Value::Nil, Value::Nil) => return Ok(true),
        _ => {}
    }
    let (kind, other) = (basic(a), basic(b));
    if kind != other {
        return match (kind, other) {
            (Some(Basic::Int), Some(Basic::Uint)) => Ok(signed_equals(a, b)),
            (Some(Basic::Uint), Some(Basic::Int)) => Ok(signed_equals(b, a)),
            _ if matches!(a, Value::Nil) || matches!(b, Value::Nil) => Ok(false),
            _ => Err(incompatible(a, b)),
        };
    }
    Ok(match kind {
        Some(Basic::Bool) => a.as_bool() == b.as_bool(),
        Some(Basic::Complex) => matches!((a, b), (Value::Complex(r, i), Value::Complex(s, j)) if r == s && i == j),
        Some(Basic::Float) => a.as_f64() == b.as_f64(),
        Some(Basic::Int) => a.as_i64() == b.as_i64(),
        Some(Basic::Uint) => a.as_u64() == b.as_u64(),
        Some(Basic::String) => string(a) == string(b),
        None => return same(a, b),
    })
}

/// Values of other kinds: nil, or the very same.
fn same(a: &Value, b: &Value) -> Result<bool, Error> {
    if a.kind() != b.kind() && a.kind() != Kind::Invalid && b.kind() != Kind::Invalid {
        let (a_type, b_type) = (a.type_name(), b.type_name());
        let b_text = format::text_of(b);
        return Err(Error::call(format!("non-comparable types {}: {a_type}, {b_type}: {b_text}", as_string(a))));
    }
    if a.is_nil() || b.is_nil() {
        return Ok(a.is_nil() == b.is_nil());
    }
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => Ok(a.go_type() == b.go_type() && a.equals(&**b)),
        _ => Err(Error::call(format!("non-comparable type {}: {}", as_string(b), b.type_name()))),
    }
}

/// `%s`
fn as_string(value: &Value) -> String {
    String::from_utf8_lossy(&format::sprintf("%s", std::slice::from_ref(value))).into_owned()
}

fn signed_equals(signed: &Value, unsigned: &Value) -> bool {
    signed.as_i64().and_then(|signed| u64::try_from(signed).ok()) == unsigned.as_u64()
}

fn string(value: &Value) -> Option<crate::value::Str> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(object) => object.scalar()?.as_str().cloned(),
        _ => None,
    }
}

/// `a < b`
pub(super) fn less(a: &Value, b: &Value) -> Result<bool, Error> {
    let bad = || Error::call("invalid type for comparison");
    let (kind, other) = (basic(a).ok_or_else(bad)?, basic(b).ok_or_else(bad)?);
    Ok(match (kind, other) {
        (Basic::Int, Basic::Uint) => a.as_i64().is_some_and(|a| a < 0 || b.as_u64() > Some(a as u64)),
        (Basic::Uint, Basic::Int) => b.as_i64().is_some_and(|b| b >= 0 && a.as_u64() < Some(b as u64)),
        (kind, other) if kind != other => return Err(incompatible(a, b)),
        (Basic::Bool | Basic::Complex, _) => return Err(bad()),
        (Basic::Float, _) => a.as_f64().partial_cmp(&b.as_f64()) == Some(Ordering::Less),
        (Basic::Int, _) => a.as_i64() < b.as_i64(),
        (Basic::Uint, _) => a.as_u64() < b.as_u64(),
        (Basic::String, _) => string(a) < string(b),
    })
}

/// `a <= b`
pub(super) fn less_or_equal(a: &Value, b: &[Slot]) -> Result<bool, Error> {
    Ok(less(a, &b[0].value)? || equal(a, b)?)
}

fn incompatible(a: &Value, b: &Value) -> Error {
    Error::call(format!("incompatible types for comparison: {} and {}", a.type_name(), b.type_name()))
}
