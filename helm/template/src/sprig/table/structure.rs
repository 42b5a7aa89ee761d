//! Functions for types, equality and copies.

use std::rc::Rc;

use super::{FunctionResult, FunctionTable, sig};
use crate::error::Error;
use crate::exec::cost::READ_PART_STEPS;
use crate::value::{GoMap, GoSlice, Value};

/// Maximum depth of a copied or compared value. Go overflows its stack for a value that contains itself.
const MAX_DEPTH: usize = 10_000;

pub(super) fn add(table: &mut FunctionTable) {
    table.add(&["typeOf"], sig!(ANY => STRING), |_, args| Ok(args[0].type_name().into()));
    table.add(&["kindOf"], sig!(ANY => STRING), |_, args| Ok(args[0].kind().name().into()));
    table.add(&["typeIs"], sig!(STRING, ANY => BOOL), |_, args| {
        Ok(Value::Bool(args[1].type_name() == *super::text(args, 0)))
    });
    table.add(&["kindIs"], sig!(STRING, ANY => BOOL), |_, args| {
        Ok(Value::Bool(args[1].kind().name() == super::text(args, 0)))
    });
    table.add(&["typeIsLike"], sig!(STRING, ANY => BOOL), |_, args| {
        let (name, wanted) = (args[1].type_name(), super::text(args, 0));
        Ok(Value::Bool(name == *wanted || name.strip_prefix('*') == Some(&wanted)))
    });
    table.add(&["deepEqual"], sig!(ANY, ANY => BOOL), |execution, args| {
        execution.charge_traversal(args, READ_PART_STEPS)?;
        Ok(Value::Bool(deep_equal(&args[0], &args[1])))
    });
}

/// Implements Go's `reflect.DeepEqual`.
pub(super) fn deep_equal(a: &Value, b: &Value) -> bool {
    equal_at(a, b, 0)
}

fn equal_at(a: &Value, b: &Value, depth: usize) -> bool {
    // Go remembers compared pairs, so two values that contain themselves in the same way are equal.
    if depth > MAX_DEPTH {
        return true;
    }
    if a.type_of() != b.type_of() {
        return false;
    }
    match (a, b) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Complex(a, b), Value::Complex(c, d)) => a == c && b == d,
        (Value::List(_, a), Value::List(_, b)) => {
            let same = Rc::ptr_eq(a, b) || equal_items(a, b, depth);
            a.is_nil() == b.is_nil() && a.len() == b.len() && same
        }
        (Value::Map(_, a), Value::Map(_, b)) => {
            Rc::ptr_eq(a, b) || (a.is_nil() == b.is_nil() && a.len() == b.len() && equal_entries(a, b, depth))
        }
        (Value::Object(a), Value::Object(b)) => Rc::ptr_eq(a, b) || a.equals(&**b),
        (Value::Func(_), _) => false,
        (a, b) => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => a == b,
            _ => a.as_i64() == b.as_i64() && a.as_u64() == b.as_u64(),
        },
    }
}

fn equal_items(a: &GoSlice, b: &GoSlice, depth: usize) -> bool {
    crate::stack::grow(|| a.iter().zip(b.iter()).all(|(a, b)| equal_at(a, b, depth + 1)))
}

fn equal_entries(a: &GoMap, b: &GoMap, depth: usize) -> bool {
    crate::stack::grow(|| {
        let (a, b) = (a.entries(), b.entries());
        a.iter().zip(b.iter()).all(|((key, a), (other, b))| key == other && equal_at(a, b, depth + 1))
    })
}

/// Copies like mitchellh/copystructure: new maps and lists, everything else shared.
pub(super) fn deep_copy(value: &Value) -> FunctionResult {
    match value {
        Value::Nil => Err(Error::call("reflect: call of reflect.Value.Type on zero Value")),
        value => copy_at(value, 0),
    }
}

fn copy_at(value: &Value, depth: usize) -> FunctionResult {
    if depth > MAX_DEPTH {
        return Err(Error::call("value is nested too deeply"));
    }
    crate::stack::grow(|| match value {
        Value::List(kind, list) if !list.is_nil() => {
            let items = list.iter().map(|item| copy_at(item, depth + 1)).collect::<Result<_, _>>()?;
            Ok(Value::typed_list(*kind, items))
        }
        Value::Map(kind, map) if !map.is_nil() => {
            let entries = map.snapshot().into_iter().map(|(key, value)| Ok((key, copy_at(&value, depth + 1)?)));
            Ok(Value::typed_map(*kind, entries.collect::<Result<_, Error>>()?))
        }
        Value::Object(object) => Ok(object.deep_copy().unwrap_or_else(|| value.clone())),
        other => Ok(other.clone()),
    })
}
