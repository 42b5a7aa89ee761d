//! Operators: arithmetic, order, equality, membership.

use std::cmp::Ordering;
use std::sync::Arc;

use super::value::{Fail, Outcome, Val};
use crate::schema::{ListType, Schema};

const MAX_SECONDS: i128 = 253_402_300_799;
const MIN_SECONDS: i128 = -62_135_596_800;

/// `+ - * / %` on two values.
pub(super) fn arithmetic<'a>(operator: &str, a: &Val<'a>, b: &Val<'a>) -> Outcome<'a> {
    let overflow = || Fail::text("integer overflow");
    match (operator, a, b) {
        ("_+_", Val::Int(a), Val::Int(b)) => a.checked_add(*b).map(Val::Int).ok_or_else(overflow),
        ("_-_", Val::Int(a), Val::Int(b)) => a.checked_sub(*b).map(Val::Int).ok_or_else(overflow),
        ("_*_", Val::Int(a), Val::Int(b)) => a.checked_mul(*b).map(Val::Int).ok_or_else(overflow),
        ("_/_", Val::Int(_), Val::Int(0)) | ("_/_", Val::Uint(_), Val::Uint(0)) => Err(Fail::text("division by zero")),
        ("_%_", Val::Int(_), Val::Int(0)) | ("_%_", Val::Uint(_), Val::Uint(0)) => Err(Fail::text("modulus by zero")),
        ("_/_", Val::Int(a), Val::Int(b)) => a.checked_div(*b).map(Val::Int).ok_or_else(overflow),
        ("_%_", Val::Int(a), Val::Int(b)) => a.checked_rem(*b).map(Val::Int).ok_or_else(overflow),
        (operator, Val::Uint(a), Val::Uint(b)) => unsigned(operator, *a, *b),
        ("_+_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        ("_-_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
        ("_*_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
        ("_/_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
        ("_+_", Val::Text(a), Val::Text(b)) => Ok(Val::text(format!("{}{}", &**a, &**b))),
        ("_+_", Val::Bytes(a), Val::Bytes(b)) => Ok(Val::Bytes([&**a, &**b].concat().into())),
        ("_+_", Val::Duration(a), Val::Duration(b)) => duration(a.checked_add(*b)),
        ("_-_", Val::Duration(a), Val::Duration(b)) => duration(a.checked_sub(*b)),
        ("_+_", Val::Timestamp(at), Val::Duration(d)) | ("_+_", Val::Duration(d), Val::Timestamp(at)) => {
            timestamp(at + i128::from(*d))
        }
        ("_-_", Val::Timestamp(at), Val::Duration(d)) => timestamp(at - i128::from(*d)),
        ("_-_", Val::Timestamp(a), Val::Timestamp(b)) => duration(i64::try_from(a - b).ok()),
        ("_+_", a, b) => concatenated(a, b),
        _ => Err(Fail::overload()),
    }
}

fn unsigned<'a>(operator: &str, a: u64, b: u64) -> Outcome<'a> {
    let result = match operator {
        "_+_" => a.checked_add(b),
        "_-_" => a.checked_sub(b),
        "_*_" => a.checked_mul(b),
        "_/_" => a.checked_div(b),
        "_%_" => a.checked_rem(b),
        _ => return Err(Fail::overload()),
    };
    result.map(Val::Uint).ok_or_else(|| Fail::text("unsigned integer overflow"))
}

fn duration<'a>(nanoseconds: Option<i64>) -> Outcome<'a> {
    nanoseconds.map(Val::Duration).ok_or_else(|| Fail::text("integer overflow"))
}

fn timestamp<'a>(nanoseconds: i128) -> Outcome<'a> {
    let seconds = nanoseconds.div_euclid(1_000_000_000);
    match (MIN_SECONDS..=MAX_SECONDS).contains(&seconds) {
        true => Ok(Val::Timestamp(nanoseconds)),
        false => Err(Fail::text("timestamp overflow")),
    }
}

/// Lists end to end; sets and maps of the schema keep each element once.
fn concatenated<'a>(a: &Val<'a>, b: &Val<'a>) -> Outcome<'a> {
    let (Some(left), Some(right)) = (a.items(), b.items()) else { return Err(Fail::overload()) };
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
    Ok(Val::List(Arc::new(out)))
}

fn list_schema<'a>(value: &Val<'a>) -> Option<&'a Schema> {
    match value {
        Val::JsonList(_, schema) => Some(schema),
        _ => None,
    }
}

fn same_keys(a: &Val<'_>, b: &Val<'_>, schema: &Schema) -> bool {
    schema.map_keys.iter().all(|key| match (a.field(key), b.field(key)) {
        (Ok(Some(a)), Ok(Some(b))) => equal(&a, &b),
        (Ok(None), Ok(None)) => true,
        _ => false,
    })
}

pub(super) fn contains(items: &[Val<'_>], value: &Val<'_>) -> bool {
    items.iter().any(|item| equal(item, value))
}

/// `==`. Values of different types are not equal, numbers apart.
pub(super) fn equal(a: &Val<'_>, b: &Val<'_>) -> bool {
    match (a, b) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::Text(a), Val::Text(b)) => **a == **b,
        (Val::Bytes(a), Val::Bytes(b)) => a == b,
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
        (Val::Type(a), Val::Type(b)) => a == b,
        (Val::Url(a), Val::Url(b)) => a == b,
        (Val::Ip(a), Val::Ip(b)) => a == b,
        (Val::Cidr(a), Val::Cidr(b)) => a == b,
        (Val::Quantity(a), Val::Quantity(b)) => a == b,
        (Val::Semver(a), Val::Semver(b)) => a == b,
        (Val::Format(a), Val::Format(b)) => a == b,
        (Val::Optional(a), Val::Optional(b)) => match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => equal(a, b),
            _ => false,
        },
        (Val::JsonList(a, _), Val::JsonList(b, _)) if std::ptr::eq(*a, *b) => true,
        (Val::List(a), Val::List(b)) if Arc::ptr_eq(a, b) => true,
        (Val::List(_) | Val::JsonList(..), Val::List(_) | Val::JsonList(..)) => equal_lists(a, b),
        (Val::Map(_) | Val::JsonMap(..) | Val::Object(..), Val::Map(_) | Val::JsonMap(..) | Val::Object(..)) => {
            equal_maps(a, b)
        }
        _ => compare(a, b) == Some(Ordering::Equal),
    }
}

fn equal_lists(a: &Val<'_>, b: &Val<'_>) -> bool {
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

fn equal_maps(a: &Val<'_>, b: &Val<'_>) -> bool {
    let (Some(Ok(left)), Some(Ok(right))) = (a.entries(), b.entries()) else { return false };
    left.len() == right.len()
        && left.iter().all(|(key, value)| right.iter().any(|(k, v)| equal(key, k) && equal(value, v)))
}

/// The order of two values; `None` when they have none.
pub(super) fn compare(a: &Val<'_>, b: &Val<'_>) -> Option<Ordering> {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(b)),
        (Val::Uint(a), Val::Uint(b)) => Some(a.cmp(b)),
        (Val::Int(a), Val::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Uint(a), Val::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Val::Double(a), Val::Double(b)) => a.partial_cmp(b),
        (Val::Double(a), Val::Int(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Int(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Double(a), Val::Uint(b)) => a.partial_cmp(&(*b as f64)),
        (Val::Uint(a), Val::Double(b)) => (*a as f64).partial_cmp(b),
        (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
        (Val::Text(a), Val::Text(b)) => Some((**a).cmp(&**b)),
        (Val::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
        (Val::Duration(a), Val::Duration(b)) => Some(a.cmp(b)),
        (Val::Timestamp(a), Val::Timestamp(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// `in`.
pub(super) fn is_in<'a>(value: &Val<'a>, container: &Val<'a>) -> Outcome<'a> {
    if let Some(items) = container.items() {
        return Ok(Val::Bool(contains(&items?, value)));
    }
    match (container, value) {
        (Val::Map(map), value) => Ok(Val::Bool(value.key().is_some_and(|key| map.contains_key(&key)))),
        (Val::JsonMap(map, _) | Val::Object(map, _), Val::Text(key)) => Ok(Val::Bool(map.contains_key(&**key))),
        (Val::JsonMap(..) | Val::Object(..), _) => Ok(Val::Bool(false)),
        _ => Err(Fail::overload()),
    }
}

/// `container[key]`; `Ok(None)` when there is no such element.
pub(super) fn element<'a>(container: &Val<'a>, key: &Val<'a>) -> Result<Option<Val<'a>>, Fail> {
    match container {
        Val::List(_) | Val::JsonList(..) => {
            let index = match key {
                Val::Int(n) => *n,
                Val::Uint(n) => i64::try_from(*n).unwrap_or(i64::MAX),
                Val::Double(f) if f.fract() == 0.0 => *f as i64,
                Val::Double(f) => return Err(Fail::text(format!("unsupported index value {f} in list"))),
                other => {
                    let kind = other.type_name();
                    return Err(Fail::text(format!("unsupported index type '{kind}' in list")));
                }
            };
            let index = usize::try_from(index).ok();
            match container {
                Val::List(items) => Ok(index.and_then(|index| items.get(index).cloned())),
                Val::JsonList(items, schema) => {
                    let item = index.and_then(|index| items.get(index));
                    let schema = schema.items.as_deref();
                    item.zip(schema).map(|(item, schema)| super::value::typed(item, schema)).transpose()
                }
                _ => Ok(None),
            }
        }
        Val::Map(map) => Ok(key.key().and_then(|key| map.get(&key).cloned())),
        Val::JsonMap(..) => match key {
            Val::Text(name) => container.field(name),
            _ => Ok(None),
        },
        _ => Err(Fail::overload()),
    }
}
