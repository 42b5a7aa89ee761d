//! The options of a request's query, as the typed options of each verb take them.

use serde_json::{Map, Value, json};

use crate::mutation::Action;

/// What stands in the query for the options of an action; parameters it does not know are passed over.
pub(super) fn of_query(action: Action, query: &[(String, String)]) -> Value {
    let first = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let text = |name: &str| first(name).filter(|value| !value.is_empty()).map(Value::from);
    let mut options = Map::new();
    let mut set = |name: &str, value: Option<Value>| value.map(|value| options.insert(name.to_string(), value));
    let dry_run: Vec<&str> = query.iter().filter(|(key, _)| key == "dryRun").map(|(_, value)| value.as_str()).collect();
    set("dryRun", (!dry_run.is_empty()).then(|| json!(dry_run)));
    if action == Action::Delete {
        set("gracePeriodSeconds", first("gracePeriodSeconds").and_then(|n| n.parse::<i64>().ok()).map(Value::from));
        set("orphanDependents", first("orphanDependents").map(|flag| truth(flag).into()));
        set("propagationPolicy", text("propagationPolicy"));
        // Of a deletion of many; no type of the original has them.
        set("fieldSelector", text("fieldSelector"));
        set("labelSelector", text("labelSelector"));
        return Value::Object(options);
    }
    set("fieldManager", text("fieldManager"));
    set("fieldValidation", text("fieldValidation"));
    if action.is_patch() || action.is_apply() {
        set("force", first("force").map(|flag| truth(flag).into()));
    }
    Value::Object(options)
}

/// As Go's query decoder reads a boolean.
fn truth(text: &str) -> bool {
    text != "0" && !text.eq_ignore_ascii_case("false")
}
