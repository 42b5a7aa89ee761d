//! Entry point of the fuzzer.

use std::sync::{Arc, OnceLock};

use serde_json::json;

use super::{CelRules, RuleContext, check_rules};
use crate::Value;
use crate::schema::{Schema, ValidationRule, ValueValidation};

/// Compiles the text as a rule and runs it on an object with a field of every type, as a create and as an update.
pub fn fuzz(input: &[u8]) {
    let Ok(rule) = std::str::from_utf8(input) else { return };
    let mut schema = shape().clone();
    schema["x-kubernetes-validations"] = json!([{"rule": rule, "messageExpression": rule}]);
    check_rules(&schema, "rules", RuleContext { root: true, ..RuleContext::default() });
    let mut node = Schema::from_json(shape());
    let rules =
        vec![ValidationRule { rule: rule.into(), message_expression: rule.into(), ..ValidationRule::default() }];
    node.checks = Some(Box::new(ValueValidation { rules, ..ValueValidation::default() }));
    let rules = CelRules::new(Arc::new(node));
    rules.validate(object(), None);
    rules.validate(object(), Some(object()));
}

fn shape() -> &'static Value {
    static SHAPE: OnceLock<Value> = OnceLock::new();
    SHAPE.get_or_init(|| {
        json!({"type": "object", "properties": {
            "n": {"type": "integer"}, "f": {"type": "number"}, "s": {"type": "string"}, "b": {"type": "boolean"},
            "l": {"type": "array", "items": {"type": "integer"}},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "o": {"type": "object", "properties": {"x": {"type": "string"}}},
            "at": {"type": "string", "format": "date-time"}, "d": {"type": "string", "format": "duration"},
            "raw": {"type": "string", "format": "byte"}, "any": {"x-kubernetes-int-or-string": true},
        }})
    })
}

fn object() -> &'static Value {
    static OBJECT: OnceLock<Value> = OnceLock::new();
    OBJECT.get_or_init(|| {
        json!({"apiVersion": "a/v1", "kind": "T", "metadata": {"name": "x"}, "n": 5, "f": 1.5, "s": "héllo", "b": true,
            "l": [3, 1, 2], "set": ["x", "y"], "m": {"k": "v"}, "o": {"x": "y"}, "at": "2020-01-02T03:04:05Z",
            "d": "90m", "raw": "YWI=", "any": "5%"})
    })
}
