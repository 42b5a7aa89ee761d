#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use serde_json::json;

use super::*;

mod merge;
mod properties;
mod recorded;
mod scale;
mod server;

static DEFINITIONS: LazyLock<Definitions> =
    LazyLock::new(|| Definitions::from_json(&serde_json::from_str(include_str!("../../data/schemas.json")).unwrap()));

const DEPLOYMENT: &str = "io.k8s.api.apps.v1.Deployment";

fn kind_schema(name: &str) -> KindSchema<'static> {
    KindSchema::built_in(&DEFINITIONS, DEFINITIONS.get(name).unwrap())
}

fn writer<'a>(manager: &'a str, now: &'a str) -> WriteOrigin<'a> {
    WriteOrigin { manager, api_version: "apps/v1", kind: "Deployment", subresource: "", now }
}

fn deployment(replicas: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{
                    "name": "web", "image": "web:1",
                    "ports": [{"containerPort": 80}],
                    "env": [{"name": "A", "value": "1"}],
                }]},
            },
        },
    })
}

fn reset() -> ResetFields {
    ResetFields::built_in("apps", "Deployment", "")
}

#[test]
fn a_create_gives_its_writer_every_field_it_states() {
    let mut object = deployment(2);
    update(None, &mut object, writer("kubectl-create", "2026-01-01T00:00:00Z"), kind_schema(DEPLOYMENT), &reset());
    assert_eq!(
        object["metadata"]["managedFields"],
        json!([{
            "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "manager": "kubectl-create", "operation": "Update",
            "time": "2026-01-01T00:00:00Z",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {
                    "f:replicas": {},
                    "f:selector": {},
                    "f:template": {
                        "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                        "f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {
                            ".": {}, "f:name": {}, "f:image": {},
                            "f:ports": {".": {}, "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                            "f:env": {".": {}, "k:{\"name\":\"A\"}": {".": {}, "f:name": {}, "f:value": {}}},
                        }}},
                    },
                },
            },
        }])
    );
}

#[test]
fn two_appliers_conflict_until_one_forces() {
    let first =
        apply(None, &deployment(2), writer("one", "2026-01-01T00:00:00Z"), kind_schema(DEPLOYMENT), false, &reset())
            .unwrap();
    let patch = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 3},
    });
    let second = writer("two", "2026-01-01T00:00:01Z");
    let refused = apply(Some(&first), &patch, second, kind_schema(DEPLOYMENT), false, &reset()).unwrap_err();
    assert_eq!(refused.message, "Apply failed with 1 conflict: conflict with \"one\": .spec.replicas");
    let forced = apply(Some(&first), &patch, second, kind_schema(DEPLOYMENT), true, &reset()).unwrap();
    assert_eq!(forced["spec"]["replicas"], 3);
    let entries = forced["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[1]["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(entries[0]["fieldsV1"]["f:spec"].get("f:replicas"), None);
}

/// Checks that writes of objects at the size limit take time proportional to their size.
#[test]
fn huge_levels_are_walked_side_by_side() {
    const KEYS: usize = 50_000;
    let config_map = kind_schema("io.k8s.api.core.v1.ConfigMap");
    let writer = WriteOrigin { kind: "ConfigMap", api_version: "v1", ..writer("one", "2026-01-01T00:00:00Z") };
    let object = |value: &str, step: usize| {
        let data: crate::Map = (0..KEYS).step_by(step).map(|i| (format!("{i:06}"), json!(value))).collect();
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"}, "data": data})
    };
    let none = ResetFields::default();
    let mut live = object("a", 2);
    update(None, &mut live, writer, config_map, &none);
    let mut new = object("b", 1);
    update(Some(&live), &mut new, WriteOrigin { manager: "two", ..writer }, config_map, &none);
    let owners = new["metadata"]["managedFields"].as_array().unwrap();
    let owned = |entry: &Value| entry["fieldsV1"]["f:data"].as_object().map_or(0, crate::Map::len);
    // The first manager keeps `data` itself, which did not change.
    assert_eq!(owners.iter().map(owned).collect::<Vec<_>>(), [0, KEYS]);
    assert_eq!(owners[0]["fieldsV1"], json!({"f:data": {}}));
}
