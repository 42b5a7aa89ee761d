//! `index`, `slice` and `len`.

use std::rc::Rc;

use crate::error::Error;
use crate::exec::ReflectValue;
use crate::value::{GoSlice, ReflectKind, Str, Value};

/// Returns `x[1][2]` for `index x 1 2`.
pub(super) fn index(item: &ReflectValue, indexes: &[ReflectValue]) -> Result<ReflectValue, Error> {
    if matches!(item.value, Value::Nil) {
        return Err(Error::call("index of untyped nil"));
    }
    let mut item = ReflectValue::concrete(item.value.clone());
    for index in indexes {
        item = match &item.value {
            Value::Nil => return Err(Error::call("index of nil pointer")),
            Value::String(text) => ReflectValue::concrete(Value::Uint8(*at(text, &index.value, "string")?)),
            Value::Bytes(bytes) => ReflectValue::concrete(Value::Uint8(*at(bytes, &index.value, "slice")?)),
            Value::List(go_type, list) => ReflectValue::element(*go_type, at(list, &index.value, "slice")?.clone()),
            Value::Map(go_type, map) => {
                let key = key(&index.value)?;
                ReflectValue::element(*go_type, map.get(key).unwrap_or_else(|| Value::zero(go_type.element())))
            }
            other => return Err(Error::call(format!("can't index item of type {}", pointed_at(other)))),
        };
    }
    Ok(item)
}

/// Returns the element at `index`. Go's check accepts an index equal to the length; then its runtime panics with
/// another text.
fn at<'l, T>(items: &'l [T], index: &Value, what: &str) -> Result<&'l T, Error> {
    let index = position(index, items.len())?;
    items.get(index).ok_or_else(|| Error::call(format!("reflect: {what} index out of range")))
}

fn position(index: &Value, length: usize) -> Result<usize, Error> {
    let number = match (index.as_i64(), index.as_u64()) {
        (Some(number), _) => number,
        (None, Some(number)) => number as i64,
        _ if matches!(index, Value::Nil) => return Err(Error::call("cannot index slice/array with nil")),
        _ => return Err(Error::call(format!("cannot index slice/array with type {}", index.type_name()))),
    };
    match usize::try_from(number) {
        Ok(position) if position <= length => Ok(position),
        _ => Err(Error::call(format!("index out of range: {number}"))),
    }
}

fn key(index: &Value) -> Result<&Str, Error> {
    match index {
        Value::String(key) => Ok(key),
        Value::Nil => Err(Error::call("value is nil; should be of type string")),
        other => Err(Error::call(format!("value has type {}; should be string", other.type_name()))),
    }
}

/// Returns `x[1:2]` for `slice x 1 2`.
pub(super) fn slice(item: &ReflectValue, indexes: &[ReflectValue]) -> Result<ReflectValue, Error> {
    if matches!(item.value, Value::Nil) {
        return Err(Error::call("slice of untyped nil"));
    }
    if indexes.len() > 3 {
        return Err(Error::call(format!("too many slice indexes: {}", indexes.len())));
    }
    let length = match &item.value {
        Value::String(_) if indexes.len() == 3 => return Err(Error::call("cannot 3-index slice a string")),
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(_, list) => list.len(),
        other => return Err(Error::call(format!("can't slice item of type {}", pointed_at(other)))),
    };
    let mut bounds = [0, length, length];
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        if index.is_interface {
            return Err(Error::call("cannot index slice/array with type interface {}"));
        }
        *bound = position(&index.value, length)?;
    }
    let [from, to, capacity] = bounds;
    let last = if indexes.len() == 3 { capacity } else { to };
    for (low, high) in [(from, to), (to, last)] {
        if low > high {
            return Err(Error::call(format!("invalid slice index: {low} > {high}")));
        }
    }
    Ok(ReflectValue::concrete(match &item.value {
        Value::String(text) => Value::string(&text[from..to]),
        Value::Bytes(bytes) => Value::bytes(&bytes[from..to]),
        Value::List(go_type, list) => Value::List(*go_type, Rc::new(GoSlice::new(list[from..to].to_vec()))),
        other => other.clone(),
    }))
}

/// Returns the name of the value's type, without the pointer.
fn pointed_at(value: &Value) -> String {
    match value.type_of() {
        Some(go_type) if go_type.kind() == ReflectKind::Pointer => go_type.element().to_string(),
        _ => value.type_name(),
    }
}

/// Returns the length of a string, list or map.
pub(super) fn length(item: &ReflectValue) -> Result<usize, Error> {
    match &item.value {
        Value::Nil if item.is_interface => Err(Error::call("len of nil pointer")),
        Value::Nil => Err(Error::call("reflect: call of reflect.Value.Type on zero Value")),
        Value::String(text) => Ok(text.len()),
        Value::Bytes(bytes) => Ok(bytes.len()),
        Value::List(_, list) => Ok(list.len()),
        Value::Map(_, map) => Ok(map.len()),
        other if other.kind() == ReflectKind::String => Ok(crate::format::text_of(other).len()),
        other => Err(Error::call(format!("len of type {}", pointed_at(other)))),
    }
}
