//! Differences between the fields of two objects.

use serde::Serialize;
use serde_json::{Map, Value};

/// Changed field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldChange {
    /// Path of the field. List elements are named if possible: `spec.containers[int].image`.
    pub field: String,
    /// Old value; `None` if the field was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// New value; `None` if the field was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// Returns the fields that differ.
pub fn changes(from: &Value, to: &Value) -> Vec<FieldChange> {
    let mut found = Vec::new();
    compare("", Some(from), Some(to), &mut found);
    found
}

fn compare(path: &str, from: Option<&Value>, to: Option<&Value>, found: &mut Vec<FieldChange>) {
    match (from, to) {
        (Some(one), Some(other)) if one == other => {}
        (Some(Value::Object(one)), Some(Value::Object(other))) => maps(path, one, other, found),
        (Some(Value::Array(one)), Some(Value::Array(other))) => lists(path, one, other, found),
        _ => found.push(FieldChange { field: path.to_string(), from: from.cloned(), to: to.cloned() }),
    }
}

fn maps(path: &str, one: &Map<String, Value>, other: &Map<String, Value>, found: &mut Vec<FieldChange>) {
    let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys {
        let dot = if path.is_empty() { "" } else { "." };
        let shown = if key.contains('.') { format!("{path}[{key}]") } else { format!("{path}{dot}{key}") };
        compare(&shown, one.get(key), other.get(key), found);
    }
}

fn lists(path: &str, one: &[Value], other: &[Value], found: &mut Vec<FieldChange>) {
    if let (Some(names), Some(others)) = (names(one), names(other)) {
        let gone = names.iter().enumerate().filter(|(_, name)| !others.contains(name));
        for (index, name) in gone {
            compare(&format!("{path}[{name}]"), one.get(index), None, found);
        }
        for (index, name) in others.iter().enumerate() {
            let before = names.iter().position(|known| known == name).and_then(|at| one.get(at));
            compare(&format!("{path}[{name}]"), before, other.get(index), found);
        }
        let stayed: Vec<&&str> = names.iter().filter(|name| others.contains(name)).collect();
        let stay: Vec<&&str> = others.iter().filter(|name| names.contains(name)).collect();
        if stayed != stay {
            let order = |names: &[&str]| Some(Value::from(names.iter().map(|n| (*n).to_string()).collect::<Vec<_>>()));
            found.push(FieldChange { field: format!("{path} (order)"), from: order(&names), to: order(&others) });
        }
        return;
    }
    for index in 0..one.len().max(other.len()) {
        compare(&format!("{path}[{index}]"), one.get(index), other.get(index), found);
    }
}

/// Returns the names of list elements if they are unique.
fn names(list: &[Value]) -> Option<Vec<&str>> {
    let names: Vec<&str> = list.iter().map(|item| item.get("name")?.as_str()).collect::<Option<_>>()?;
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    (sorted.len() == names.len()).then_some(names)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn named_list_elements_are_compared_by_name_and_order() {
        let from = json!({"c": [{"name": "a", "v": 1}, {"name": "b", "v": 2}], "l": [1, 2], "s": {"x.y": 1}});
        let to = json!({"c": [{"name": "b", "v": 3}, {"name": "a", "v": 1}, {"name": "n"}], "l": [1], "s": {"x.y": 2}});
        let found: Vec<String> = changes(&from, &to)
            .iter()
            .map(|change| format!("{} {:?} {:?}", change.field, change.from.is_some(), change.to.is_some()))
            .collect();
        assert_eq!(
            found,
            ["c[b].v true true", "c[n] false true", "c (order) true true", "l[1] true false", "s[x.y] true true"]
        );
        assert!(changes(&from, &from).is_empty());
    }
}
