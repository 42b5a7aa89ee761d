//! Conditional defaults of workloads and their autoscaler.

use serde_json::{Value, json};

use super::{FieldMap, child_object, items, set, text};

pub(super) fn replication_controller(map: &mut FieldMap) {
    let labels = map.get("spec").and_then(|s| s.pointer("/template/metadata/labels")).cloned();
    let Some(labels) = labels.filter(Value::is_object) else { return };
    if let Some(spec) = child_object(map, "spec") {
        set(spec, "selector", labels.clone());
    }
    if let Some(metadata) = child_object(map, "metadata") {
        set(metadata, "labels", labels);
    }
}

pub(super) fn deployment_strategy(map: &mut FieldMap) {
    set(map, "type", "RollingUpdate");
    if let ("RollingUpdate", Some(update)) = (text(map, "type").to_string().as_str(), rolling(map)) {
        set(update, "maxUnavailable", "25%");
        set(update, "maxSurge", "25%");
    }
}

pub(super) fn daemon_set_strategy(map: &mut FieldMap) {
    set(map, "type", "RollingUpdate");
    if let ("RollingUpdate", Some(update)) = (text(map, "type").to_string().as_str(), rolling(map)) {
        set(update, "maxUnavailable", 1);
        set(update, "maxSurge", 0);
    }
}

fn rolling(map: &mut FieldMap) -> Option<&mut FieldMap> {
    if text(map, "type") == "RollingUpdate" { child_object(map, "rollingUpdate") } else { None }
}

/// Sets the update strategy. Only an absent type adds `rollingUpdate`.
pub(super) fn stateful_set_strategy(map: &mut FieldMap) {
    if text(map, "type").is_empty() {
        map.insert("type".into(), json!("RollingUpdate"));
        set(map, "rollingUpdate", json!({}));
    }
    if text(map, "type") != "RollingUpdate" {
        return;
    }
    if let Some(update) = map.get_mut("rollingUpdate").and_then(Value::as_object_mut) {
        set(update, "partition", 0);
    }
}

/// Sets the annotation that replaced a former field.
pub(super) fn daemon_set(map: &mut FieldMap) {
    let annotations = child_object(map, "metadata").and_then(|m| child_object(m, "annotations"));
    if let Some(annotations) = annotations {
        set(annotations, "deprecated.daemonset.template.generation", "0");
    }
}

/// Sets kind and version of claims in a template.
pub(super) fn claim_templates(map: &mut FieldMap) {
    for claim in items(map, "volumeClaimTemplates") {
        set(claim, "apiVersion", "v1");
        set(claim, "kind", "PersistentVolumeClaim");
    }
}

/// Sets the default metric of autoscaling/v1, unless annotations hold other metrics.
pub(super) fn autoscaler_v1(map: &mut FieldMap) {
    let annotations = map.get("metadata").and_then(|m| m.get("annotations"));
    let others = annotations.is_some_and(|a| a.get("autoscaling.alpha.kubernetes.io/metrics").is_some());
    if let (false, Some(spec)) = (others, child_object(map, "spec")) {
        set(spec, "targetCPUUtilizationPercentage", 80);
    }
}

pub(super) fn autoscaler(map: &mut FieldMap) {
    let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {
        "type": "Utilization", "averageUtilization": 80}}});
    set(map, "metrics", json!([cpu]));
    if let Some(behavior) = map.get_mut("behavior").and_then(Value::as_object_mut) {
        let policy = |kind: &str, value: i32| json!({"type": kind, "value": value, "periodSeconds": 15});
        if let Some(up) = child_object(behavior, "scaleUp") {
            set(up, "stabilizationWindowSeconds", 0);
            set(up, "selectPolicy", "Max");
            set(up, "policies", json!([policy("Pods", 4), policy("Percent", 100)]));
        }
        if let Some(down) = child_object(behavior, "scaleDown") {
            set(down, "selectPolicy", "Max");
            set(down, "policies", json!([policy("Percent", 100)]));
        }
    }
}
