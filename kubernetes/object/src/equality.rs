//! Semantic equality, like Go's `equality.Semantic.DeepEqual`.
//!
//! An absent field, `null`, an empty list and an empty map are equal. If a schema declares a field as a quantity or a
//! time, quantities are compared by amount and times by instant.

use crate::schema::{Definitions, Schema};
use crate::{Map, Value, quantity::Quantity};

/// Whether two values are semantically equal, without knowing their types.
pub fn equal(a: &Value, b: &Value) -> bool {
    compare(a, b, None)
}

/// Whether two values of this schema are semantically equal.
pub fn equal_typed(definitions: &Definitions, schema: &Schema, a: &Value, b: &Value) -> bool {
    compare(a, b, Some((definitions, schema)))
}

type TypedSchema<'a> = Option<(&'a Definitions, &'a Schema)>;

fn compare(a: &Value, b: &Value, typed: TypedSchema<'_>) -> bool {
    match (a, b) {
        _ if is_empty(a) && is_empty(b) => true,
        (Value::Object(a), Value::Object(b)) => {
            let both = |key: &String| field(a, b, key, typed);
            a.keys().all(both) && b.keys().filter(|k| !a.contains_key(*k)).all(both)
        }
        (Value::Array(a), Value::Array(b)) => {
            let items = typed.and_then(|(d, s)| Some((d, d.resolve(s).items.as_deref()?)));
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| compare(a, b, items))
        }
        (Value::Number(x), Value::Number(y)) => x == y || (x.as_f64() == y.as_f64() && (x.is_f64() || y.is_f64())),
        _ => a == b || typed.is_some_and(|(d, s)| same_amount(d, s, a, b)),
    }
}

fn field(a: &Map, b: &Map, key: &str, typed: TypedSchema<'_>) -> bool {
    let child = typed.and_then(|(definitions, schema)| {
        let schema = definitions.resolve(schema);
        let child = schema.properties.get(key).or(schema.additional.as_ref())?;
        Some((definitions, child.as_ref()))
    });
    let null = Value::Null;
    compare(a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null), child)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

fn same_amount(definitions: &Definitions, schema: &Schema, a: &Value, b: &Value) -> bool {
    if schema.reference.as_deref() == Some(QUANTITY) {
        return match (Quantity::from_value(a), Quantity::from_value(b)) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        };
    }
    if definitions.resolve(schema).format.as_deref() == Some("date-time") {
        let instant = |v: &Value| v.as_str().and_then(|s| s.parse::<jiff::Timestamp>().ok());
        return instant(a).is_some() && instant(a) == instant(b);
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_and_empty_are_the_same() {
        assert!(equal(&json!({"a": null, "b": [], "c": {}}), &json!({})));
        assert!(equal(&json!({"a": {"b": {}}}), &json!({"a": {}})));
        assert!(!equal(&json!({"a": ""}), &json!({})));
        assert!(!equal(&json!({"a": [1]}), &json!({"a": [1, 2]})));
        assert!(!equal(&json!({"a": 0}), &json!({"a": null})));
        assert!(equal(&json!({"a": 1.0}), &json!({"a": 1})));
    }

    #[test]
    fn quantities_and_times_are_compared_by_what_they_mean() {
        let definitions = Definitions::from_json(&json!({
            QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
            "Time": {"type": "string", "format": "date-time"},
        }));
        let schema = Schema::from_json(&json!({
            "type": "object",
            "properties": {
                "limits": {"type": "object", "additionalProperties": {"$ref": format!("#/definitions/{QUANTITY}")}},
                "at": {"type": "array", "items": {"allOf": [{"$ref": "#/definitions/Time"}]}},
                "text": {"type": "string"},
            },
        }));
        let same = |a: Value, b: Value| equal_typed(&definitions, &schema, &a, &b);
        assert!(same(json!({"limits": {"cpu": "1"}}), json!({"limits": {"cpu": "1000m"}})));
        assert!(same(json!({"limits": {"cpu": 1}}), json!({"limits": {"cpu": "1"}})));
        assert!(!same(json!({"limits": {"cpu": "1"}}), json!({"limits": {"cpu": "2"}})));
        assert!(same(json!({"at": ["2026-01-01T00:00:00Z"]}), json!({"at": ["2026-01-01T01:00:00+01:00"]})));
        assert!(!same(json!({"text": "1"}), json!({"text": "1000m"})));
    }
}
