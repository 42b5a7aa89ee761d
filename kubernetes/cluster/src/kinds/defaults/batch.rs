//! Conditional defaults of jobs, network policies, RBAC subjects, devices and CRDs.

use serde_json::{Value, json};

use super::{FieldMap, child_object, is_absent, set, text};

pub(super) fn job(map: &mut FieldMap) {
    let labels = map.get("spec").and_then(|s| s.pointer("/template/metadata/labels")).cloned();
    if let (Some(labels), Some(metadata)) = (labels.filter(Value::is_object), child_object(map, "metadata")) {
        set(metadata, "labels", labels);
    }
    let Some(spec) = child_object(map, "spec") else { return };
    if is_absent(spec, "completions") && is_absent(spec, "parallelism") {
        set(spec, "completions", 1);
    }
    set(spec, "parallelism", 1);
    let limit = if is_absent(spec, "backoffLimitPerIndex") { 6 } else { i32::MAX };
    set(spec, "backoffLimit", limit);
    set(spec, "completionMode", "NonIndexed");
    set(spec, "suspend", false);
    let replacement = if is_absent(spec, "podFailurePolicy") { "TerminatingOrFailed" } else { "Failed" };
    set(spec, "podReplacementPolicy", replacement);
    set(spec, "manualSelector", false);
}

/// Sets the policy types: ingress, and egress if the policy has egress rules.
pub(super) fn network_policy(map: &mut FieldMap) {
    let egress = map.get("egress").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
    set(map, "policyTypes", if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
}

pub(super) fn subject(map: &mut FieldMap) {
    if text(map, "apiGroup").is_empty() && matches!(text(map, "kind"), "User" | "Group") {
        map.insert("apiGroup".into(), json!("rbac.authorization.k8s.io"));
    }
}

pub(super) fn device_request(map: &mut FieldMap) {
    set(map, "allocationMode", "ExactCount");
    if text(map, "allocationMode") == "ExactCount" {
        set(map, "count", 1);
    }
}

pub(super) fn custom_resource(map: &mut FieldMap) {
    let Some(spec) = child_object(map, "spec") else { return };
    let storage = spec.get("versions").and_then(Value::as_array).into_iter().flatten();
    let stored = storage.filter(|v| v["storage"] == true).map(|v| v["name"].clone()).next();
    if let Some(names) = child_object(spec, "names") {
        let kind = text(names, "kind").to_string();
        set(names, "singular", kind.to_lowercase());
        if !kind.is_empty() {
            if text(names, "listKind").is_empty() {
                names.remove("listKind");
            }
            set(names, "listKind", format!("{kind}List"));
        }
    }
    if let (Some(stored), Some(status)) = (stored, child_object(map, "status")) {
        set(status, "storedVersions", json!([stored]));
    }
}
