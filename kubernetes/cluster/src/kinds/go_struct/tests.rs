#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn settled(definition: &str, mut value: Value) -> Value {
    normalize(definition, &mut value);
    value
}

#[test]
fn structs_are_always_written() {
    assert_eq!(
        settled("api.core.v1.Service", json!({})),
        json!({"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}})
    );
}

#[test]
fn empty_values_disappear_but_pointers_stay() {
    let spec =
        json!({"hostNetwork": false, "hostname": "", "volumes": [], "containers": [], "enableServiceLinks": false});
    assert_eq!(settled("api.core.v1.PodSpec", spec), json!({"containers": null, "enableServiceLinks": false}));
}

#[test]
fn lists_without_omitempty_are_null() {
    assert_eq!(settled("api.rbac.v1.Role", json!({"rules": []})), json!({"metadata": {}, "rules": null}));
}

#[test]
fn scalars_have_one_spelling() {
    let event = settled("api.core.v1.Event", json!({"lastTimestamp": "2020-01-01T02:00:00+02:00"}));
    assert_eq!(event["lastTimestamp"], "2020-01-01T00:00:00Z");
    let resources = settled("api.core.v1.ResourceRequirements", json!({"limits": {"cpu": "0.5", "memory": "1024Mi"}}));
    assert_eq!(resources["limits"], json!({"cpu": "500m", "memory": "1Gi"}));
}

#[test]
fn normalizing_twice_changes_nothing() {
    let once = settled("api.apps.v1.Deployment", json!({"spec": {"template": {"spec": {"containers": [{}]}}}}));
    assert_eq!(settled("api.apps.v1.Deployment", once.clone()), once);
}

#[test]
fn every_struct_a_field_names_is_there() {
    fn named(shape: &FieldShape) -> Option<&'static str> {
        match shape {
            FieldShape::Struct(name) => Some(name),
            FieldShape::Pointer(inner) | FieldShape::List(inner) | FieldShape::Map(inner) => named(inner),
            _ => None,
        }
    }
    for (definition, fields) in STRUCTS.iter() {
        for field in fields {
            let known = named(&field.shape).is_none_or(|name| STRUCTS.contains_key(name));
            assert!(known, "{definition}.{} names an unknown struct", field.name);
        }
    }
}
