//! Options from a request's query, as in the typed options of each verb.

use serde_json::{Map, Value, json};

use crate::mutation::Action;

/// Returns the options of an action from the query. Unknown parameters are ignored.
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
        // The field selector of a deletion of a collection, which no options type has.
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

/// Parses a bool like Go's query decoder.
fn truth(text: &str) -> bool {
    text != "0" && !text.eq_ignore_ascii_case("false")
}
