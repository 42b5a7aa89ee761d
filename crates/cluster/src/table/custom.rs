//! Cells of custom resources: the name, then what the CRD's columns select.

use jiff::Timestamp;
use switchboard_object::Value;

use crate::resource::{Column, Custom};

use super::{age, cells};

/// The cells of a custom resource.
pub(super) fn cells(custom: &Custom, object: &Value, now: Timestamp) -> Vec<Value> {
    let mut all = vec![cells::name(object).into()];
    if custom.columns.is_empty() {
        all.push(cells::age(object, now).into());
    }
    all.extend(custom.columns.iter().map(|column| cell(column, object, now)));
    all
}

fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    let Some(value) = object.pointer(&column.path.replace('.', "/")) else { return Value::Null };
    match (&*column.kind, value) {
        (_, Value::Null) => Value::Null,
        ("string", Value::String(text)) => text.as_str().into(),
        ("string", other) => other.to_string().into(),
        ("integer", Value::Number(n)) => n.as_i64().or_else(|| n.as_f64().map(|f| f as i64)).into(),
        ("number", Value::Number(n)) => n.as_f64().into(),
        ("boolean", Value::Bool(truth)) => (*truth).into(),
        ("date", Value::String(text)) if text.parse::<Timestamp>().is_err() => "<invalid>".into(),
        ("date", date @ Value::String(_)) => age::since(date, now).into(),
        _ => Value::Null,
    }
}
