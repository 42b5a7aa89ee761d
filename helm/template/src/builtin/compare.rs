//! `eq`, `lt` and the functions derived from them.

use std::cmp::Ordering;

use crate::error::Error;
use crate::exec::ReflectValue;
use crate::format;
use crate::value::{ReflectKind, Value};

/// Kinds of values that can be compared with each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BasicKind {
    Bool,
    Complex,
    Int,
    Float,
    String,
    Uint,
}

fn basic(value: &Value) -> Option<BasicKind> {
    Some(match value.kind() {
        ReflectKind::Bool => BasicKind::Bool,
        ReflectKind::Complex128 => BasicKind::Complex,
        ReflectKind::Float32 | ReflectKind::Float64 => BasicKind::Float,
        ReflectKind::String => BasicKind::String,
        kind if kind.is_signed() => BasicKind::Int,
        kind if kind.is_unsigned() => BasicKind::Uint,
        _ => return None,
    })
}

/// Returns `a == b || a == c || ...`.
pub(super) fn equal(first: &Value, others: &[ReflectValue]) -> Result<bool, Error> {
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
            (Some(BasicKind::Int), Some(BasicKind::Uint)) => Ok(signed_equals(a, b)),
            (Some(BasicKind::Uint), Some(BasicKind::Int)) => Ok(signed_equals(b, a)),
            _ if matches!(a, Value::Nil) || matches!(b, Value::Nil) => Ok(false),
            _ => Err(incompatible(a, b)),
        };
    }
    Ok(match kind {
        Some(BasicKind::Bool) => a.as_bool() == b.as_bool(),
        Some(BasicKind::Complex) => matches!((a, b), (Value::Complex(r, i), Value::Complex(s, j)) if r == s && i == j),
        Some(BasicKind::Float) => a.as_f64() == b.as_f64(),
        Some(BasicKind::Int) => a.as_i64() == b.as_i64(),
        Some(BasicKind::Uint) => a.as_u64() == b.as_u64(),
        Some(BasicKind::String) => string(a) == string(b),
        None => return same(a, b),
    })
}

/// Compares values of other kinds: both are nil, or both are the same object.
fn same(a: &Value, b: &Value) -> Result<bool, Error> {
    if a.kind() != b.kind() && a.kind() != ReflectKind::Invalid && b.kind() != ReflectKind::Invalid {
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

/// Formats a value with `%s`.
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

/// Returns `a < b`.
pub(super) fn less(a: &Value, b: &Value) -> Result<bool, Error> {
    let bad = || Error::call("invalid type for comparison");
    let (kind, other) = (basic(a).ok_or_else(bad)?, basic(b).ok_or_else(bad)?);
    Ok(match (kind, other) {
        (BasicKind::Int, BasicKind::Uint) => a.as_i64().is_some_and(|a| a < 0 || b.as_u64() > Some(a as u64)),
        (BasicKind::Uint, BasicKind::Int) => b.as_i64().is_some_and(|b| b >= 0 && a.as_u64() < Some(b as u64)),
        (kind, other) if kind != other => return Err(incompatible(a, b)),
        (BasicKind::Bool | BasicKind::Complex, _) => return Err(bad()),
        (BasicKind::Float, _) => a.as_f64().partial_cmp(&b.as_f64()) == Some(Ordering::Less),
        (BasicKind::Int, _) => a.as_i64() < b.as_i64(),
        (BasicKind::Uint, _) => a.as_u64() < b.as_u64(),
        (BasicKind::String, _) => string(a) < string(b),
    })
}

/// Returns `a <= b`.
pub(super) fn less_or_equal(a: &Value, b: &[ReflectValue]) -> Result<bool, Error> {
    Ok(less(a, &b[0].value)? || equal(a, b)?)
}

fn incompatible(a: &Value, b: &Value) -> Error {
    Error::call(format!("incompatible types for comparison: {} and {}", a.type_name(), b.type_name()))
}
