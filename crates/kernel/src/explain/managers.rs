//! Who owns what, as the object itself says.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FieldPath;

/// A field manager of the object as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manager {
    /// Its name.
    pub name: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// When it last wrote, in the API server's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
}

/// The managers of a live object, newest first; of one field when given.
pub(super) fn managers(live: &Value, field: Option<&FieldPath>) -> Vec<Manager> {
    let all = live.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let own = all.filter(|entry| field.is_none_or(|field| owns(&entry["fieldsV1"], &field.0)));
    let text = |value: &Value| value.as_str().map(str::to_string);
    let manager = |entry: &Value| Manager {
        name: text(&entry["manager"]).unwrap_or_else(|| "unknown".to_string()),
        operation: text(&entry["operation"]).unwrap_or_default(),
        time: text(&entry["time"]),
    };
    let mut found: Vec<Manager> = own.map(manager).collect();
    found.sort_by(|a, b| b.time.cmp(&a.time));
    found
}

fn owns(fields: &Value, path: &[String]) -> bool {
    let Some((step, rest)) = path.split_first() else { return true };
    let Some(fields) = fields.as_object() else { return false };
    if let Some(inner) = fields.get(&format!("f:{step}")) {
        return owns(inner, rest);
    }
    // Items of lists are owned by key, not by place: any of them may be the one.
    let numbered = step.parse::<usize>().is_ok();
    numbered && fields.iter().any(|(key, inner)| key.starts_with("k:") && owns(inner, rest))
}
