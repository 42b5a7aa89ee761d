//! Conversion of built-in kinds that are served in two versions or groups and stored in one.
//!
//! Events are stored as Events of the core group, autoscalers as autoscaling/v2. Like in kube-apiserver, annotations
//! hold values for which autoscaling/v1 has no fields.

use serde_json::{Map, Value, json};
use switchboard_object::kind::GroupVersionKind;

use super::checks::{items, text};
use super::{go_struct, internal};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

/// Fields of an Event in the core group, and their names in events.k8s.io.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// Storage kind and resource of a kind that is not stored as itself.
pub struct StoredKind {
    /// Storage kind.
    pub kind: GroupVersionKind,
    /// Plural name with its group: `events`.
    pub resource: &'static str,
}

/// Returns the storage kind of `kind`, unless it is stored as itself.
pub fn stored(kind: &GroupVersionKind) -> Option<StoredKind> {
    match (kind.group.as_str(), kind.version.as_str(), kind.kind.as_str()) {
        ("events.k8s.io", "v1", "Event") => {
            Some(StoredKind { kind: GroupVersionKind::new("", "v1", "Event"), resource: "events" })
        }
        ("autoscaling", "v1", "HorizontalPodAutoscaler") => Some(StoredKind {
            kind: GroupVersionKind::new("autoscaling", "v2", "HorizontalPodAutoscaler"),
            resource: "horizontalpodautoscalers.autoscaling",
        }),
        _ => None,
    }
}

/// Converts an object from the storage kind of `kind` to `kind`.
pub fn from_stored(kind: &GroupVersionKind, object: &mut Value) {
    match kind.kind.as_str() {
        "Event" => rename(object, |(core, new)| (core, new)),
        _ => to_v1(object),
    }
    finish(kind, object);
}

/// Converts an object from `kind` to its storage kind.
pub fn to_stored(kind: &GroupVersionKind, object: &mut Value) {
    let Some(stored) = stored(kind) else { return };
    match kind.kind.as_str() {
        "Event" => rename(object, |(core, new)| (new, core)),
        _ => to_v2(object),
    }
    finish(&stored.kind, object);
}

fn finish(kind: &GroupVersionKind, object: &mut Value) {
    if object.get("apiVersion").is_some() {
        object["apiVersion"] = json!(kind.api_version());
    }
    let group = match kind.group.as_str() {
        "" => "core",
        "events.k8s.io" => "events",
        other => other,
    };
    go_struct::normalize(&format!("api.{group}.{}.{}", kind.version, kind.kind), object);
}

fn rename(object: &mut Value, pair: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str)) {
    let Some(map) = object.as_object_mut() else { return };
    for (from, to) in EVENT_FIELDS.map(pair) {
        if let Some(value) = map.remove(from).filter(|v| !v.is_null()) {
            map.insert(to.to_string(), value);
        }
    }
}

fn is_cpu(metric: &Value) -> bool {
    metric["type"] == "Resource"
        && text(metric, "/resource/name") == "cpu"
        && !metric["resource"]["target"]["averageUtilization"].is_null()
}

fn to_v1(object: &mut Value) {
    let spec = take(object, "spec");
    let status = take(object, "status");
    let metrics: Vec<Value> = items(&spec, "/metrics").to_vec();
    let mut plain = Map::new();
    for field in ["scaleTargetRef", "minReplicas", "maxReplicas"] {
        plain.insert(field.into(), spec[field].clone());
    }
    if let Some(cpu) = metrics.iter().rfind(|m| is_cpu(m)) {
        let share = cpu["resource"]["target"]["averageUtilization"].clone();
        plain.insert("targetCPUUtilizationPercentage".into(), share);
    }
    object["spec"] = Value::Object(plain);
    let others: Vec<Value> = metrics.iter().filter(|m| !is_cpu(m)).map(old_metric).collect();
    if !others.is_empty() {
        annotate(object, METRICS, internal::print_internal("[]autoscaling1.MetricSpec", &json!(others)));
    }
    if spec["behavior"].is_object() {
        let shown = internal::print_internal("autoscaling.HorizontalPodAutoscalerBehavior", &spec["behavior"]);
        annotate(object, BEHAVIOR, shown);
    }
    if !items(&status, "/conditions").is_empty() {
        annotate(object, CONDITIONS, internal::print_internal("[]autoscaling1.Condition", &status["conditions"]));
    }
    let mut plain = Map::new();
    for field in ["observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"] {
        plain.insert(field.into(), status[field].clone());
    }
    let cpu = items(&status, "/currentMetrics").iter().find(|m| text(m, "/resource/name") == "cpu");
    if let Some(share) = cpu.and_then(|m| m.pointer("/resource/current/averageUtilization")) {
        plain.insert("currentCPUUtilizationPercentage".into(), share.clone());
    }
    object["status"] = Value::Object(plain);
}

fn take(object: &mut Value, field: &str) -> Value {
    object.as_object_mut().and_then(|m| m.remove(field)).unwrap_or(Value::Null)
}

fn annotate(object: &mut Value, key: &str, value: String) {
    if object["metadata"]["annotations"].is_null() {
        object["metadata"]["annotations"] = json!({});
    }
    object["metadata"]["annotations"][key] = json!(value);
}

/// Converts a metric to the form of autoscaling/v1.
fn old_metric(metric: &Value) -> Value {
    let kind = text(metric, "/type");
    let field = lower_first(kind);
    let source = &metric[field.as_str()];
    let goal = &source["target"];
    let old = match kind {
        "Object" => json!({"target": source["describedObject"], "metricName": source["metric"]["name"],
            "selector": source["metric"]["selector"], "targetValue": goal["value"], "averageValue": goal["averageValue"]}),
        "Pods" => json!({"metricName": source["metric"]["name"], "selector": source["metric"]["selector"],
            "targetAverageValue": goal["averageValue"]}),
        "External" => json!({"metricName": source["metric"]["name"], "metricSelector": source["metric"]["selector"],
            "targetValue": goal["value"], "targetAverageValue": goal["averageValue"]}),
        _ => json!({"name": source["name"], "container": source["container"],
            "targetAverageUtilization": goal["averageUtilization"], "targetAverageValue": goal["averageValue"]}),
    };
    json!({"type": kind, field: old})
}

/// Converts a metric of autoscaling/v1 to autoscaling/v2.
fn new_metric(metric: &Value) -> Value {
    let kind = text(metric, "/type");
    let field = lower_first(kind);
    let old = &metric[field.as_str()];
    let goal = |value: &Value, average: &Value, share: &Value| {
        let kind = match (value.is_null(), average.is_null()) {
            (_, false) => "AverageValue",
            (false, true) => "Value",
            (true, true) => "Utilization",
        };
        json!({"type": kind, "value": value, "averageValue": average, "averageUtilization": share})
    };
    let none = Value::Null;
    let new = match kind {
        "Object" => {
            json!({"describedObject": old["target"], "target": goal(&old["targetValue"], &old["averageValue"], &none),
            "metric": {"name": old["metricName"], "selector": old["selector"]}})
        }
        "Pods" => json!({"metric": {"name": old["metricName"], "selector": old["selector"]},
            "target": goal(&none, &old["targetAverageValue"], &none)}),
        "External" => json!({"metric": {"name": old["metricName"], "selector": old["metricSelector"]},
            "target": goal(&old["targetValue"], &old["targetAverageValue"], &none)}),
        _ => json!({"name": old["name"], "container": old["container"],
            "target": goal(&none, &old["targetAverageValue"], &old["targetAverageUtilization"])}),
    };
    let mut new = new;
    if let (false, Some(fields)) = (kind == "ContainerResource", new.as_object_mut()) {
        fields.remove("container");
    }
    json!({"type": kind, field: new})
}

fn lower_first(kind: &str) -> String {
    kind.chars().take(1).flat_map(char::to_lowercase).chain(kind.chars().skip(1)).collect()
}

fn to_v2(object: &mut Value) {
    let mut spec = take(object, "spec");
    let share = take(&mut spec, "targetCPUUtilizationPercentage");
    let mut metrics: Vec<Value> = read(object, METRICS).as_array().into_iter().flatten().map(new_metric).collect();
    if !share.is_null() {
        metrics.push(json!({"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": share}}}));
    }
    spec["metrics"] = json!(metrics);
    let behavior = read(object, BEHAVIOR);
    if behavior.is_object() {
        spec["behavior"] = lower_keys(&behavior);
    }
    object["spec"] = spec;
    let mut status = take(object, "status");
    let current = take(&mut status, "currentCPUUtilizationPercentage");
    if !status.is_object() {
        status = json!({});
    }
    if !current.is_null() {
        status["currentMetrics"] = json!([{"type": "Resource", "resource": {"name": "cpu",
            "current": {"averageUtilization": current}}}]);
    }
    let conditions = read(object, CONDITIONS);
    if conditions.is_array() {
        status["conditions"] = conditions;
    }
    object["status"] = status;
    if let Some(annotations) = object["metadata"].get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|key, _| ![METRICS, BEHAVIOR, CONDITIONS].contains(&key.as_str()));
    }
}

fn read(object: &Value, annotation: &str) -> Value {
    let text = object["metadata"]["annotations"][annotation].as_str().unwrap_or("");
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// Converts Go's internal field names to those of the API.
fn lower_keys(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(k, v)| (lower_first(k), lower_keys(v))).collect(),
        Value::Array(items) => items.iter().map(lower_keys).collect(),
        other => other.clone(),
    }
}
