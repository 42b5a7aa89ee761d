//! Operators: arithmetic, order, equality, membership.

use std::cmp::Ordering;
use std::sync::Arc;

use super::value::{CelValue, EvalError, EvalResult};
use crate::schema::{ListType, Schema};

const MAX_SECONDS: i128 = 253_402_300_799;
const MIN_SECONDS: i128 = -62_135_596_800;

/// Implements `+ - * / %` on two values.
pub(super) fn arithmetic<'a>(operator: &str, a: &CelValue<'a>, b: &CelValue<'a>) -> EvalResult<'a> {
    let overflow = || EvalError::text("integer overflow");
    match (operator, a, b) {
        ("_+_", CelValue::Int(a), CelValue::Int(b)) => a.checked_add(*b).map(CelValue::Int).ok_or_else(overflow),
        ("_-_", CelValue::Int(a), CelValue::Int(b)) => a.checked_sub(*b).map(CelValue::Int).ok_or_else(overflow),
        ("_*_", CelValue::Int(a), CelValue::Int(b)) => a.checked_mul(*b).map(CelValue::Int).ok_or_else(overflow),
        ("_/_", CelValue::Int(_), CelValue::Int(0)) | ("_/_", CelValue::Uint(_), CelValue::Uint(0)) => {
            Err(EvalError::text("division by zero"))
        }
        ("_%_", CelValue::Int(_), CelValue::Int(0)) | ("_%_", CelValue::Uint(_), CelValue::Uint(0)) => {
            Err(EvalError::text("modulus by zero"))
        }
        ("_/_", CelValue::Int(a), CelValue::Int(b)) => a.checked_div(*b).map(CelValue::Int).ok_or_else(overflow),
        ("_%_", CelValue::Int(a), CelValue::Int(b)) => a.checked_rem(*b).map(CelValue::Int).ok_or_else(overflow),
        (operator, CelValue::Uint(a), CelValue::Uint(b)) => unsigned(operator, *a, *b),
        ("_+_", CelValue::Double(a), CelValue::Double(b)) => Ok(CelValue::Double(a + b)),
        ("_-_", CelValue::Double(a), CelValue::Double(b)) => Ok(CelValue::Double(a - b)),
        ("_*_", CelValue::Double(a), CelValue::Double(b)) => Ok(CelValue::Double(a * b)),
        ("_/_", CelValue::Double(a), CelValue::Double(b)) => Ok(CelValue::Double(a / b)),
        ("_+_", CelValue::Text(a), CelValue::Text(b)) => Ok(CelValue::text(format!("{}{}", &**a, &**b))),
        ("_+_", CelValue::Bytes(a), CelValue::Bytes(b)) => Ok(CelValue::Bytes([&**a, &**b].concat().into())),
        ("_+_", CelValue::Duration(a), CelValue::Duration(b)) => duration(a.checked_add(*b)),
        ("_-_", CelValue::Duration(a), CelValue::Duration(b)) => duration(a.checked_sub(*b)),
        ("_+_", CelValue::Timestamp(at), CelValue::Duration(d))
        | ("_+_", CelValue::Duration(d), CelValue::Timestamp(at)) => timestamp(at + i128::from(*d)),
        ("_-_", CelValue::Timestamp(at), CelValue::Duration(d)) => timestamp(at - i128::from(*d)),
        ("_-_", CelValue::Timestamp(a), CelValue::Timestamp(b)) => duration(i64::try_from(a - b).ok()),
        ("_+_", a, b) => concatenate(a, b),
        _ => Err(EvalError::overload()),
    }
}

fn unsigned<'a>(operator: &str, a: u64, b: u64) -> EvalResult<'a> {
    let result = match operator {
        "_+_" => a.checked_add(b),
        "_-_" => a.checked_sub(b),
        "_*_" => a.checked_mul(b),
        "_/_" => a.checked_div(b),
        "_%_" => a.checked_rem(b),
        _ => return Err(EvalError::overload()),
    };
    result.map(CelValue::Uint).ok_or_else(|| EvalError::text("unsigned integer overflow"))
}

fn duration<'a>(nanoseconds: Option<i64>) -> EvalResult<'a> {
    nanoseconds.map(CelValue::Duration).ok_or_else(|| EvalError::text("integer overflow"))
}

fn timestamp<'a>(nanoseconds: i128) -> EvalResult<'a> {
    let seconds = nanoseconds.div_euclid(1_000_000_000);
    match (MIN_SECONDS..=MAX_SECONDS).contains(&seconds) {
        true => Ok(CelValue::Timestamp(nanoseconds)),
        false => Err(EvalError::text("timestamp overflow")),
    }
}

/// Concatenates two lists. Sets and maps of the schema keep each element once.
fn concatenate<'a>(a: &CelValue<'a>, b: &CelValue<'a>) -> EvalResult<'a> {
    let (Some(left), Some(right)) = (a.items(), b.items()) else { return Err(EvalError::overload()) };
    let (mut out, right) = (left?, right?);
    match list_schema(a) {
        Some(schema) if schema.list_type == Some(ListType::Set) => {
            for item in right {
                if !contains(&out, &item) {
                    out.push(item);
                }
            }
        }
        Some(schema) if schema.list_type == Some(ListType::Map) => {
            for item in right {
                match out.iter_mut().find(|old| same_keys(old, &item, schema)) {
                    Some(old) => *old = item,
                    None => out.push(item),
                }
            }
        }
        _ => out.extend(right),
    }
    Ok(CelValue::List(Arc::new(out)))
}

fn list_schema<'a>(value: &CelValue<'a>) -> Option<&'a Schema> {
    match value {
        CelValue::JsonList(_, schema) => Some(schema),
        _ => None,
    }
}

fn same_keys(a: &CelValue<'_>, b: &CelValue<'_>, schema: &Schema) -> bool {
    schema.map_keys.iter().all(|key| match (a.field(key), b.field(key)) {
        (Ok(Some(a)), Ok(Some(b))) => equal(&a, &b),
        (Ok(None), Ok(None)) => true,
        _ => false,
    })
}

pub(super) fn contains(items: &[CelValue<'_>], value: &CelValue<'_>) -> bool {
    items.iter().any(|item| equal(item, value))
}

/// Implements `==`. Values of different types are not equal, except numbers.
pub(super) fn equal(a: &CelValue<'_>, b: &CelValue<'_>) -> bool {
    match (a, b) {
        (CelValue::Null, CelValue::Null) => true,
        (CelValue::Bool(a), CelValue::Bool(b)) => a == b,
        (CelValue::Text(a), CelValue::Text(b)) => **a == **b,
        (CelValue::Bytes(a), CelValue::Bytes(b)) => a == b,
        (CelValue::Duration(a), CelValue::Duration(b)) => a == b,
        (CelValue::Timestamp(a), CelValue::Timestamp(b)) => a == b,
        (CelValue::Type(a), CelValue::Type(b)) => a == b,
        (CelValue::Url(a), CelValue::Url(b)) => a == b,
        (CelValue::Ip(a), CelValue::Ip(b)) => a == b,
        (CelValue::Cidr(a), CelValue::Cidr(b)) => a == b,
        (CelValue::Quantity(a), CelValue::Quantity(b)) => a == b,
        (CelValue::Semver(a), CelValue::Semver(b)) => a == b,
        (CelValue::Format(a), CelValue::Format(b)) => a == b,
        (CelValue::Optional(a), CelValue::Optional(b)) => match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => equal(a, b),
            _ => false,
        },
        (CelValue::JsonList(a, _), CelValue::JsonList(b, _)) if std::ptr::eq(*a, *b) => true,
        (CelValue::List(a), CelValue::List(b)) if Arc::ptr_eq(a, b) => true,
        (CelValue::List(_) | CelValue::JsonList(..), CelValue::List(_) | CelValue::JsonList(..)) => equal_lists(a, b),
        (
            CelValue::Map(_) | CelValue::JsonMap(..) | CelValue::Object(..),
            CelValue::Map(_) | CelValue::JsonMap(..) | CelValue::Object(..),
        ) => equal_maps(a, b),
        _ => compare(a, b) == Some(Ordering::Equal),
    }
}

fn equal_lists(a: &CelValue<'_>, b: &CelValue<'_>) -> bool {
    let (Some(Ok(left)), Some(Ok(right))) = (a.items(), b.items()) else { return false };
    if left.len() != right.len() {
        return false;
    }
    match list_schema(a).or(list_schema(b)) {
        Some(schema) if schema.list_type == Some(ListType::Set) => left.iter().all(|item| contains(&right, item)),
        Some(schema) if schema.list_type == Some(ListType::Map) => {
            left.iter().all(|item| right.iter().any(|other| same_keys(item, other, schema) && equal(item, other)))
        }
        _ => left.iter().zip(&right).all(|(a, b)| equal(a, b)),
    }
}

fn equal_maps(a: &CelValue<'_>, b: &CelValue<'_>) -> bool {
    let (Some(Ok(left)), Some(Ok(right))) = (a.entries(), b.entries()) else { return false };
    left.len() == right.len()
        && left.iter().all(|(key, value)| right.iter().any(|(k, v)| equal(key, k) && equal(value, v)))
}

/// Compares two values; `None` if they cannot be ordered.
pub(super) fn compare(a: &CelValue<'_>, b: &CelValue<'_>) -> Option<Ordering> {
    match (a, b) {
        (CelValue::Int(a), CelValue::Int(b)) => Some(a.cmp(b)),
        (CelValue::Uint(a), CelValue::Uint(b)) => Some(a.cmp(b)),
        (CelValue::Int(a), CelValue::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (CelValue::Uint(a), CelValue::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (CelValue::Double(a), CelValue::Double(b)) => a.partial_cmp(b),
        (CelValue::Double(a), CelValue::Int(b)) => a.partial_cmp(&(*b as f64)),
        (CelValue::Int(a), CelValue::Double(b)) => (*a as f64).partial_cmp(b),
        (CelValue::Double(a), CelValue::Uint(b)) => a.partial_cmp(&(*b as f64)),
        (CelValue::Uint(a), CelValue::Double(b)) => (*a as f64).partial_cmp(b),
        (CelValue::Bool(a), CelValue::Bool(b)) => Some(a.cmp(b)),
        (CelValue::Text(a), CelValue::Text(b)) => Some((**a).cmp(&**b)),
        (CelValue::Bytes(a), CelValue::Bytes(b)) => Some(a.cmp(b)),
        (CelValue::Duration(a), CelValue::Duration(b)) => Some(a.cmp(b)),
        (CelValue::Timestamp(a), CelValue::Timestamp(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// Implements `in`.
pub(super) fn is_in<'a>(value: &CelValue<'a>, container: &CelValue<'a>) -> EvalResult<'a> {
    if let Some(items) = container.items() {
        return Ok(CelValue::Bool(contains(&items?, value)));
    }
    match (container, value) {
        (CelValue::Map(map), value) => Ok(CelValue::Bool(value.key().is_some_and(|key| map.contains_key(&key)))),
        (CelValue::JsonMap(map, _) | CelValue::Object(map, _), CelValue::Text(key)) => {
            Ok(CelValue::Bool(map.contains_key(&**key)))
        }
        (CelValue::JsonMap(..) | CelValue::Object(..), _) => Ok(CelValue::Bool(false)),
        _ => Err(EvalError::overload()),
    }
}

/// Implements `container[key]`; `Ok(None)` if there is no such element.
pub(super) fn element<'a>(container: &CelValue<'a>, key: &CelValue<'a>) -> Result<Option<CelValue<'a>>, EvalError> {
    match container {
        CelValue::List(_) | CelValue::JsonList(..) => {
            let index = match key {
                CelValue::Int(n) => *n,
                CelValue::Uint(n) => i64::try_from(*n).unwrap_or(i64::MAX),
                CelValue::Double(f) if f.fract() == 0.0 => *f as i64,
                CelValue::Double(f) => return Err(EvalError::text(format!("unsupported index value {f} in list"))),
                other => {
                    let kind = other.type_name();
                    return Err(EvalError::text(format!("unsupported index type '{kind}' in list")));
                }
            };
            let index = usize::try_from(index).ok();
            match container {
                CelValue::List(items) => Ok(index.and_then(|index| items.get(index).cloned())),
                CelValue::JsonList(items, schema) => {
                    let item = index.and_then(|index| items.get(index));
                    let schema = schema.items.as_deref();
                    item.zip(schema).map(|(item, schema)| super::value::typed_value(item, schema)).transpose()
                }
                _ => Ok(None),
            }
        }
        CelValue::Map(map) => Ok(key.key().and_then(|key| map.get(&key).cloned())),
        CelValue::JsonMap(..) => match key {
            CelValue::Text(name) => container.field(name),
            _ => Ok(None),
        },
        _ => Err(EvalError::overload()),
    }
}
