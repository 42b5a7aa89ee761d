#![allow(clippy::unwrap_used)]
use serde_json::json;

use super::*;

fn patched(target: Value, patch: Value) -> Value {
    apply(target, &patch).unwrap()
}

fn error_of(target: Value, patch: Value) -> String {
    apply(target, &patch).unwrap_err().to_string()
}

#[test]
fn operations() {
    for (target, operation, expected) in [
        (json!({"a": 1}), json!({"op": "add", "path": "/b", "value": 2}), json!({"a": 1, "b": 2})),
        (json!({"a": [1]}), json!({"op": "add", "path": "/a/-", "value": 2}), json!({"a": [1, 2]})),
        (json!({"a": [1]}), json!({"op": "add", "path": "/a/0", "value": 2}), json!({"a": [2, 1]})),
        (json!({"a": [1]}), json!({"op": "add", "path": "/a/-1", "value": 2}), json!({"a": [1, 2]})),
        (json!({}), json!({"op": "add", "path": "/a"}), json!({"a": null})),
        (json!({"a": {"x/y": 1, "m~n": 2}}), json!({"op": "remove", "path": "/a/x~1y"}), json!({"a": {"m~n": 2}})),
        (json!({"a": {"m~n": 2}}), json!({"op": "remove", "path": "/a/m~0n"}), json!({"a": {}})),
        (json!({"a": [1, 2]}), json!({"op": "remove", "path": "/a/0"}), json!({"a": [2]})),
        (json!({"a": 1}), json!({"op": "replace", "path": "/a", "value": 2}), json!({"a": 2})),
        (json!({"a": 1}), json!({"op": "replace", "path": "/new", "value": 2}), json!({"a": 1, "new": 2})),
        (json!({"a": 1}), json!({"op": "replace", "path": "", "value": {"b": 1}}), json!({"b": 1})),
        (json!({"a": {"b": 1}}), json!({"op": "move", "from": "/a/b", "path": "/c"}), json!({"a": {}, "c": 1})),
        (json!({"a": [1]}), json!({"op": "copy", "from": "/a", "path": "/b"}), json!({"a": [1], "b": [1]})),
        (json!({"a": [1]}), json!({"op": "test", "path": "/a/0", "value": 1}), json!({"a": [1]})),
        (json!({}), json!({"op": "test", "path": "/a", "value": null}), json!({})),
        (json!({"a": 1}), json!({"op": "test", "path": "", "value": {"a": 1}}), json!({"a": 1})),
    ] {
        assert_eq!(patched(target, json!([operation])), expected, "{operation}");
    }
    assert_eq!(patched(json!({"a": 1}), json!([])), json!({"a": 1}));
}

#[test]
fn refusals() {
    for (operation, expected) in [
        (
            json!({"op": "remove", "path": "/b"}),
            "error in remove for path: '/b': Unable to remove nonexistent key: b: missing value",
        ),
        (
            json!({"op": "remove", "path": "/b/c"}),
            "remove operation does not apply: doc is missing path: \"/b/c\": missing value",
        ),
        (json!({"op": "add", "path": ""}), "add operation does not apply: doc is missing path: \"\": missing value"),
        (json!({"op": "add"}), "add operation failed to decode path: missing value"),
        (
            json!({"op": "add", "path": "/l/5"}),
            "error in add for path: '/l/5': Unable to access invalid index: 5: invalid index referenced",
        ),
        (
            json!({"op": "add", "path": "/l/x"}),
            "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax",
        ),
        (
            json!({"op": "replace", "path": "/l/5"}),
            "replace operation does not apply: doc is missing key: /l/5: missing value",
        ),
        (json!({"op": "test", "path": "/a", "value": 2}), "testing value /a failed: test failed"),
        (json!({"op": "test", "path": "/z", "value": 2}), "testing value /z failed: test failed"),
        (
            json!({"op": "move", "path": "/a"}),
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            json!({"op": "copy", "from": "/z/z", "path": "/a"}),
            "copy operation does not apply: doc is missing from path: /z/z: missing value",
        ),
        (json!({"op": "increment", "path": "/a"}), "Unexpected kind: increment"),
        (json!({"path": "/a"}), "Unexpected kind: unknown"),
    ] {
        assert_eq!(error_of(json!({"a": 1, "l": [1]}), json!([operation])), expected, "{operation}");
        assert_eq!(apply(json!({"a": 1, "l": [1]}), &json!([operation])).unwrap_err().status().code, 422);
    }
}

#[test]
fn patches_that_are_none() {
    assert_eq!(
        error_of(json!({}), json!({})),
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
    );
    assert_eq!(
        error_of(json!({}), json!(["x"])),
        "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"
    );
    assert_eq!(
        error_of(json!({}), json!([{"op": 1}])),
        "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"
    );
    let operation = json!({"op": "test", "path": "/a", "value": null});
    let many = Value::Array(vec![operation; MAX_OPERATIONS + 1]);
    let error = apply(json!({}), &many).unwrap_err();
    assert_eq!(error.status().code, 413);
    assert_eq!(error.to_string(), "The allowed maximum operations in a JSON patch is 10000, got 10001");
    assert_eq!(unknown_fields(&json!([{"op": "add", "foo": 1}])), ["unknown field \"[0].foo\""]);
}

#[test]
fn copies_are_bounded() {
    let target = json!({"a": "x".repeat(100_000)});
    let operation = json!({"op": "copy", "from": "/a", "path": "/b"});
    let patch = Value::Array(vec![operation; 40]);
    assert!(error_of(target, patch).starts_with("Unable to complete the copy"));
}
