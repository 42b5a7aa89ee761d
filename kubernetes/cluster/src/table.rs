//! Tables for `kubectl get`.
//!
//! ```text
//! objects ─▶ row (cells by kind) ─▶ Table { columnDefinitions, rows }
//! ```
//!
//! Pure functions. Ages depend on the time, which is passed in as `now`.

mod age;
mod builtin;
mod cells;
mod columns;
mod custom;
mod pod;
mod scaling;
#[cfg(test)]
mod tests;
mod workload;

use jiff::Timestamp;
use serde_json::json;
use switchboard_object::{Map, Value};

use crate::resource::ServedResource;

pub use columns::columns;

/// Part of the object that each row includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum IncludeObject {
    /// No object.
    None,
    /// Metadata of the object.
    #[default]
    Metadata,
    /// Whole object.
    Object,
}

impl IncludeObject {
    /// Parses `includeObject`; an empty text is the default.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "Metadata" => Some(Self::Metadata),
            "None" => Some(Self::None),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// Returns a table of `rows` with the resource's columns. `metadata` is that of the list, or of the single object.
pub fn table(resource: &ServedResource, metadata: Value, rows: Vec<Value>, headers: bool) -> Value {
    let columns = if headers { columns(resource) } else { Value::Null };
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    })
}

/// Returns the row of an object.
pub fn row(resource: &ServedResource, object: &Value, now: Timestamp, include: IncludeObject) -> Value {
    let (cells, conditions) = match &resource.custom {
        Some(custom) => (custom::cells(custom, object, now), None),
        None => builtin::cells(&resource.kind, object, now),
    };
    let mut row = Map::new();
    row.insert("cells".into(), cells.into());
    if let Some(conditions) = conditions {
        row.insert("conditions".into(), conditions);
    }
    let carried = match include {
        IncludeObject::None => Value::Null,
        IncludeObject::Metadata => partial(object),
        IncludeObject::Object => object.clone(),
    };
    row.insert("object".into(), carried);
    Value::Object(row)
}

/// Returns the `PartialObjectMetadata` of an object.
pub fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}
