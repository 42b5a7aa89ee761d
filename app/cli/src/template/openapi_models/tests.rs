//! Messages are those of Go.
#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn models() -> OpenApiModels {
    OpenApiModels::new(json!({"definitions": {
        "shop.Order": {
            "type": "object", "required": ["lines"],
            "x-kubernetes-group-version-kind": [{"group": "shop", "version": "v1", "kind": "Order"}],
            "properties": {
                "kind": {"type": "string"},
                "lines": {"type": "array", "items": {"$ref": "#/definitions/shop.Line"}},
                "notes": {"type": "object", "additionalProperties": {"type": "string"}},
                "more": {}
            }
        },
        "shop.Line": {"properties": {"count": {"type": "integer"}, "gift": {"type": "boolean"}}}
    }}))
}

#[track_caller]
fn check(object: Value, expected: &[&str]) {
    assert_eq!(models().problems(&object, "shop", "v1", "Order"), expected);
}

#[test]
fn valid_objects_have_no_errors() {
    check(json!({"kind": 5, "lines": [{"count": 1.5, "gift": null}], "notes": {"a": "b"}, "more": [1]}), &[]);
}

#[test]
fn errors_have_paths() {
    check(
        json!({"lines": [{"count": "1", "size": 3}, null, 7], "notes": {"a": {}, "b": null}, "more": 1}),
        &[
            "ValidationError(Order.lines[0].count): invalid type for shop.Line.count: got \"string\", expected \"integer\"",
            "ValidationError(Order.lines[0]): unknown field \"size\" in shop.Line",
            "ValidationError(Order.lines): unknown object type \"nil\" in Order.lines[1]",
            "ValidationError(Order.lines[2]): invalid type for shop.Line: got \"integer\", expected \"map\"",
            "ValidationError(Order.notes.a): invalid type for shop.Order.notes: got \"map\", expected \"string\"",
            "unknown object type \"nil\" in Order.notes.b",
        ],
    );
    check(json!({}), &["ValidationError(Order): missing required field \"lines\" in shop.Order"]);
}

#[test]
fn kind_without_a_schema_is_valid() {
    assert!(models().problems(&json!({"x": 1}), "shop", "v2", "Order").is_empty());
}
