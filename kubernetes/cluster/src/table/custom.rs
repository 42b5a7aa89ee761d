//! Cells of custom resources: the name, then the values of the CRD's columns.

use std::borrow::Cow;

use jiff::Timestamp;
use switchboard_object::Value;
use switchboard_object::jsonpath::JsonPathTemplate;

use crate::resource::{CrdVersion, PrinterColumn};

use super::{age, cells};

/// Returns the cells of a custom resource.
pub(super) fn cells(custom: &CrdVersion, object: &Value, now: Timestamp) -> Vec<Value> {
    let mut all = vec![cells::name(object).into()];
    if custom.columns.is_empty() {
        all.push(cells::age(object, now).into());
    }
    all.extend(custom.columns.iter().map(|column| cell(column, object, now)));
    all
}

fn cell(column: &PrinterColumn, object: &Value, now: Timestamp) -> Value {
    let Ok(path) = JsonPathTemplate::parse(&format!("{{{}}}", column.path)) else { return Value::Null };
    let Some(value) = path.find(object, false).ok().and_then(first) else { return Value::Null };
    match (&*column.kind, value.as_ref()) {
        // Strings are printed like kubectl's JSONPath results.
        ("string", _) => path.print(object, false).map_or(Value::Null, Value::from),
        ("integer", Value::Number(n)) => n.as_i64().or_else(|| n.as_f64().map(|f| f as i64)).into(),
        ("number", Value::Number(n)) => n.as_f64().into(),
        ("boolean", Value::Bool(truth)) => (*truth).into(),
        ("date", Value::String(text)) if text.parse::<Timestamp>().is_err() => "<invalid>".into(),
        ("date", date @ Value::String(_)) => age::since(date, now).into(),
        _ => Value::Null,
    }
}

fn first(found: Vec<Vec<Cow<'_, Value>>>) -> Option<Cow<'_, Value>> {
    found.into_iter().next()?.into_iter().next()
}
