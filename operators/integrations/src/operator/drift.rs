//! Whether an object is still what was wanted. What the server and others add does not count; what is missing does.

use serde_json::Value;
use switchboard_object::quantity::Quantity;

/// Fields of metadata that are not wanted by anybody.
const NOISE: [&str; 6] = ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

/// Whether something that is wanted is not there, or is otherwise.
pub fn drifts(wanted: &Value, live: &Value) -> bool {
    !holds(wanted, live, Around::Anything)
}

/// What stands around a value, as far as it changes how it is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Anything,
    /// Amounts: `1024Mi` is `1Gi`.
    Amounts,
}

fn holds(wanted: &Value, live: &Value, around: Around) -> bool {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => wanted.iter().all(|(key, value)| {
            let around = if matches!(key.as_str(), "requests" | "limits") { Around::Amounts } else { around };
            match live.get(key) {
                Some(there) => holds(value, there, around),
                // The server drops what says nothing.
                None => says_nothing(value) || NOISE.contains(&key.as_str()),
            }
        }),
        (Value::Array(wanted), Value::Array(live)) => {
            wanted.len() == live.len() && wanted.iter().zip(live).all(|(one, other)| holds(one, other, around))
        }
        (wanted, live) if wanted == live => true,
        (wanted, live) if around == Around::Amounts => same_amount(wanted, live),
        (Value::Null, _) => true,
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => false,
    }
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(says_nothing) && map.is_empty(),
        _ => false,
    }
}

fn same_amount(one: &Value, other: &Value) -> bool {
    match (Quantity::from_value(one), Quantity::from_value(other)) {
        (Ok(one), Ok(other)) => one.minus(&other).is_zero(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Spec 8.4, 13: amounts are compared as amounts.
    #[test]
    fn amounts_are_compared_as_amounts_and_other_texts_as_texts() {
        let wanted =
            json!({"resources": {"requests": {"cpu": "0.1", "memory": "1024Mi", "storage": 10}}, "env": "1024Mi"});
        let live =
            json!({"resources": {"requests": {"cpu": "100m", "memory": "1Gi", "storage": "10"}}, "env": "1024Mi"});
        assert!(!drifts(&wanted, &live));
        assert!(drifts(&json!({"env": "1024Mi"}), &json!({"env": "1Gi"})));
        assert!(drifts(&json!({"limits": {"memory": "1Gi"}}), &json!({"limits": {"memory": "2Gi"}})));
    }

    /// Spec 8.4, 13: a label that has another name now was taken for a move, which counted for nothing.
    #[test]
    fn what_is_missing_counts_even_if_its_value_stands_elsewhere() {
        assert!(drifts(&json!({"labels": {"app": "x"}}), &json!({"labels": {"renamed": "x"}})));
    }

    #[test]
    fn what_others_add_does_not_count_and_lists_are_whole() {
        assert!(!drifts(&json!({"a": 1, "e": "", "n": null, "l": []}), &json!({"a": 1, "added": true})));
        assert!(drifts(&json!({"l": [1]}), &json!({"l": [1, 2]})));
        assert!(drifts(&json!({"l": [{"name": "a"}]}), &json!({"l": []})));
        assert!(!drifts(&json!({"l": [{"name": "a"}]}), &json!({"l": [{"name": "a", "default": 1}]})));
        assert!(drifts(&json!({"v": {"emptyDir": {}}}), &json!({"v": {"hostPath": {}}})) || says_nothing(&json!({})));
    }
}
