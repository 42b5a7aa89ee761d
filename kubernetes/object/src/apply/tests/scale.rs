//! Writes of a Deployment's `Scale`, with the Deployment's managed fields recorded from kube-apiserver.

use super::*;

const PATHS: &ReplicasPaths<'static> = &[("apps/v1", Some(&["spec", "replicas"]))];

fn run(step: &Value) -> Result<Option<Value>, Status> {
    let parent = step["Live"].pointer("/metadata/managedFields");
    let mut old = step["OldScale"].clone();
    if let Some(entries) = scale_entries(parent, PATHS) {
        old["metadata"]["managedFields"] = entries;
    }
    let writer = WriteOrigin {
        manager: step["Manager"].as_str().unwrap(),
        api_version: "autoscaling/v1",
        kind: "Scale",
        subresource: "scale",
        now: step["Now"].as_str().unwrap(),
    };
    let typed = kind_schema("io.k8s.api.autoscaling.v1.Scale");
    let none = ResetFields::default();
    let written = if step["Op"] == "apply" {
        apply(Some(&old), &step["Input"], writer, typed, step["Force"] == true, &none)?
    } else {
        let mut new = step["Input"].clone();
        update(Some(&old), &mut new, writer, typed, &none);
        new
    };
    Ok(parent_entries(parent, written.pointer("/metadata/managedFields"), "apps/v1", PATHS))
}

#[test]
fn writing_a_scale_moves_the_replicas_of_the_resource() {
    for text in include_str!("../../../cases/apply/scale/deployment.jsonl").lines() {
        let step: Value = serde_json::from_str(text).unwrap();
        match run(&step) {
            Ok(entries) => assert_eq!(entries.unwrap_or_default(), step["ManagedFields"], "{}", step["Manager"]),
            Err(status) => assert_eq!(status.message, step["Error"]),
        }
    }
}
