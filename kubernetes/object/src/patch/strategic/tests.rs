#![allow(clippy::unwrap_used)]
use serde_json::json;

use super::*;

fn schema() -> (Definitions, Schema) {
    let definitions = Definitions::from_json(&json!({
        "io.test.Item": {"type": "object", "properties": {
            "name": {"type": "string"}, "value": {"type": "integer"}, "other": {"type": "integer"},
            "simple": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
            "nested": {"type": "array", "items": {"$ref": "#/x/io.test.Item"},
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"},
        }},
        "io.test.Thing": {"type": "object", "properties": {
            "items": {"type": "array", "items": {"$ref": "#/x/io.test.Item"},
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"},
            "atomic": {"type": "array", "items": {"$ref": "#/x/io.test.Item"}},
            "keyless": {"type": "array", "items": {"$ref": "#/x/io.test.Item"}, "x-kubernetes-patch-strategy": "merge"},
            "strings": {"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
            "numbers": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-patch-strategy": "merge"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "strategy": {"allOf": [{"$ref": "#/x/io.test.Item"}], "x-kubernetes-patch-strategy": "retainKeys"},
            "whole": {"allOf": [{"$ref": "#/x/io.test.Item"}], "x-kubernetes-patch-strategy": "replace"},
            "one": {"$ref": "#/x/io.test.Item"}, "name": {"type": "string"},
        }},
    }));
    (definitions, Schema::from_json(&json!({"$ref": "#/x/io.test.Thing"})))
}

fn patch(target: Value, patch: Value) -> StrategicResult<Value> {
    let (definitions, schema) = schema();
    apply(&definitions, &schema, target, patch)
}

fn check(target: Value, with: Value, expected: Value) {
    assert_eq!(patch(target.clone(), with.clone()).unwrap(), expected, "{target} + {with}");
}

fn check_error(target: Value, with: Value, expected: &str) {
    assert_eq!(patch(target, with).unwrap_err().to_string(), expected);
}

#[test]
fn maps() {
    check(
        json!({"name": "a", "labels": {"x": "1"}}),
        json!({"labels": {"y": "2"}}),
        json!({"name": "a", "labels": {"x": "1", "y": "2"}}),
    );
    check(
        json!({"name": "a"}),
        json!({"name": null, "one": {"value": null, "name": "x"}}),
        json!({"one": {"name": "x"}}),
    );
    check(
        json!({"one": {"name": "a", "value": 1}}),
        json!({"one": {"$patch": "replace", "value": 2}}),
        json!({"one": {"value": 2}}),
    );
    check(json!({"one": {"name": "a"}}), json!({"one": {"$patch": "delete"}}), json!({"one": {}}));
    check(json!({}), json!({"one": {"$patch": "delete"}}), json!({}));
    check(json!({"whole": {"name": "a", "value": 1}}), json!({"whole": {"value": 2}}), json!({"whole": {"value": 2}}));
    check(json!({"name": "a"}), json!({"$patch": "replace", "labels": {}}), json!({"labels": {}}));
    check_error(
        json!({"one": {}}),
        json!({"one": {"$patch": "bogus"}}),
        "unknown patch type: bogus in map: map[$patch:bogus]",
    );
}

#[test]
fn lists_of_maps_merge_by_key() {
    let target = json!({"items": [{"name": "a", "value": 1}, {"name": "b", "value": 2}]});
    check(
        target.clone(),
        json!({"items": [{"name": "b", "value": 3}]}),
        json!({"items": [{"name": "a", "value": 1}, {"name": "b", "value": 3}]}),
    );
    check(
        target.clone(),
        json!({"items": [{"name": "c"}]}),
        json!({"items": [{"name": "c"}, {"name": "a", "value": 1}, {"name": "b", "value": 2}]}),
    );
    check(
        target.clone(),
        json!({"items": [{"name": "a", "$patch": "delete"}]}),
        json!({"items": [{"name": "b", "value": 2}]}),
    );
    check(target.clone(), json!({"items": [{"$patch": "replace"}, {"name": "z"}]}), json!({"items": [{"name": "z"}]}));
    check(
        target.clone(),
        json!({"items": [{"name": "a", "value": null}]}),
        json!({"items": [{"name": "a"}, {"name": "b", "value": 2}]}),
    );
    check(target.clone(), json!({"items": null}), json!({}));
    check_error(
        target.clone(),
        json!({"items": [{"value": 1}]}),
        "map: map[value:1] does not contain declared merge key: name",
    );
    check_error(
        target.clone(),
        json!({"items": ["x"]}),
        "list element types are not identical: [[map[name:a value:1] map[name:b value:2]] [x]]",
    );
    check_error(
        target.clone(),
        json!({"items": [{"$patch": "merge"}]}),
        "merging lists cannot yet be specified in the patch",
    );
    check_error(json!({"keyless": [{}]}), json!({"keyless": [{}]}), "cannot merge lists without merge key for struct");
    check(json!({"atomic": [{"name": "a"}]}), json!({"atomic": [{"name": "b"}]}), json!({"atomic": [{"name": "b"}]}));
    check(
        json!({"items": [{"name": "a", "nested": [{"name": "x", "value": 1}]}]}),
        json!({"items": [{"name": "a", "nested": [{"name": "x", "other": 2}]}]}),
        json!({"items": [{"name": "a", "nested": [{"name": "x", "value": 1, "other": 2}]}]}),
    );
}

#[test]
fn lists_of_scalars_merge_as_sets() {
    check(json!({"strings": ["a", "b"]}), json!({"strings": ["b", "c"]}), json!({"strings": ["a", "b", "c"]}));
    check(json!({"numbers": [1, 2]}), json!({"$deleteFromPrimitiveList/numbers": [1]}), json!({"numbers": [2]}));
    check(json!({}), json!({"$deleteFromPrimitiveList/numbers": [1]}), json!({}));
    check_error(
        json!({"numbers": [1]}),
        json!({"$deleteFromPrimitiveList": [1]}),
        "invalid patch format of primitive list",
    );
}

#[test]
fn set_element_order() {
    let target = json!({"items": [{"name": "a"}, {"name": "b"}, {"name": "c"}]});
    check(
        target.clone(),
        json!({"$setElementOrder/items": [{"name": "c"}, {"name": "a"}], "items": [{"name": "a", "value": 1}]}),
        json!({"items": [{"name": "b"}, {"name": "c"}, {"name": "a", "value": 1}]}),
    );
    check(
        json!({"strings": ["a", "b", "c"]}),
        json!({"$setElementOrder/strings": ["c", "d", "a"], "strings": ["d"]}),
        json!({"strings": ["b", "c", "d", "a"]}),
    );
    check(target.clone(), json!({"$setElementOrder/items": [{"name": "b"}]}), target.clone());
    check_error(
        target.clone(),
        json!({"$setElementOrder/items": [{"name": "a"}], "items": [{"name": "z"}]}),
        "The order in patch list:\n[map[name:z]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    );
    check_error(target, json!({"$setElementOrder/items": 1}), "expected a []interface {}, but received a int64");
}

#[test]
fn retain_keys() {
    check(
        json!({"strategy": {"name": "rolling", "value": 1}}),
        json!({"strategy": {"$retainKeys": ["name"], "name": "recreate"}}),
        json!({"strategy": {"name": "recreate"}}),
    );
    check_error(
        json!({"strategy": {}}),
        json!({"strategy": {"$retainKeys": ["name"], "value": 1}}),
        "invalid patch format of retainKeys",
    );
    check_error(json!({"strategy": {}}), json!({"strategy": {"$retainKeys": 1}}), "invalid patch format of retainKeys");
    assert_eq!(patch(json!({"strategy": {}}), json!({"strategy": {"$retainKeys": 1}})).unwrap_err().status().code, 400);
}

#[test]
fn not_an_object() {
    check_error(json!({}), json!([]), "json: cannot unmarshal array into Go value of type map[string]interface {}");
}
