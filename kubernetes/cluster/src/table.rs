//! Tables: what `kubectl get` prints.
//!
//! ```text
//! objects ─▶ row (cells by kind) ─▶ Table { columnDefinitions, rows }
//! ```
//!
//! Pure: the clock comes in as `now`, because ages are cells.

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

use crate::resource::Resource;

pub use columns::columns;

/// How much of the object each row carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Include {
    /// Nothing.
    None,
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

impl Include {
    /// Reads `includeObject`; an empty text is the default.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "Metadata" => Some(Self::Metadata),
            "None" => Some(Self::None),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }
}

/// A table of `rows` under the resource's columns. `metadata` is that of the list, or of the single object.
pub fn table(resource: &Resource, metadata: Value, rows: Vec<Value>, headers: bool) -> Value {
    let columns = if headers { columns(resource) } else { Value::Null };
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    })
}

/// The row of one object.
pub fn row(resource: &Resource, object: &Value, now: Timestamp, include: Include) -> Value {
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
        Include::None => Value::Null,
        Include::Metadata => partial(object),
        Include::Object => object.clone(),
    };
    row.insert("object".into(), carried);
    Value::Object(row)
}

/// The `PartialObjectMetadata` of an object.
pub fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}
