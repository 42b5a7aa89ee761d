//! Validation of HorizontalPodAutoscalers.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;
use switchboard_object::quantity::Quantity;

use super::checks::{int, items, name_errors, text};

const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("External", "external"),
    ("ContainerResource", "containerResource"),
];
const SOURCE_TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// Validates an autoscaler of autoscaling/v1, which has one metric.
pub(super) fn validate_v1(object: &Value) -> Vec<FieldError> {
    let mut errors = spec(&object["spec"]);
    errors.extend(to_zero(&object["spec"]));
    errors
}

/// Checks that scaling to zero uses an external or object metric, because there are no pods to measure.
fn to_zero(spec: &Value) -> Option<FieldError> {
    let outside = |m: &Value| matches!(text(m, "/type"), "Object" | "External");
    let asleep = spec["minReplicas"] == 0 && !items(spec, "/metrics").iter().any(outside);
    let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
    asleep.then(|| FieldError::forbidden("spec.metrics", detail))
}

/// Validates an autoscaler of autoscaling/v2.
pub(super) fn validate(object: &Value) -> Vec<FieldError> {
    let mut errors = spec(&object["spec"]);
    for (index, metric) in items(object, "/spec/metrics").iter().enumerate() {
        errors.extend(self::metric(metric, &format!("spec.metrics[{index}]")));
    }
    errors.extend(to_zero(&object["spec"]));
    for direction in ["scaleUp", "scaleDown"] {
        let rules = &object["spec"]["behavior"][direction];
        if rules.is_object() {
            errors.extend(scaling_rules(rules, &format!("spec.behavior.{direction}")));
        }
    }
    errors
}

fn spec(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (least, most) = (spec["minReplicas"].as_i64(), int(spec, "/maxReplicas"));
    if let Some(least) = least.filter(|l| *l < 1) {
        errors.push(FieldError::invalid("spec.minReplicas", least, "must be greater than or equal to 1"));
    }
    if most == 0 {
        errors.push(FieldError::required("spec.maxReplicas", "must be set and greater than 0"));
    } else if most < 0 {
        errors.push(FieldError::invalid("spec.maxReplicas", most, "must be greater than or equal to 1"));
    }
    if least.is_some_and(|l| most < l) {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid("spec.maxReplicas", most, detail));
    }
    errors.extend(target(&spec["scaleTargetRef"], "spec.scaleTargetRef"));
    errors.extend(group(&spec["scaleTargetRef"], "spec.scaleTargetRef"));
    errors
}

/// Checks that the scale target has an API group.
fn group(reference: &Value, path: &str) -> Option<FieldError> {
    let version = text(reference, "/apiVersion");
    let detail = match version.matches('/').count() {
        0 if text(reference, "/kind") == "ReplicationController" => return None,
        0 => "apiVersion must specify API group".to_string(),
        1 => return None,
        _ => format!("unexpected GroupVersion string: {version}"),
    };
    Some(FieldError::invalid(format!("{path}.apiVersion"), version, detail))
}

fn target(reference: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["kind", "name"] {
        let value = text(reference, &format!("/{field}"));
        if value.is_empty() {
            errors.push(FieldError::required(format!("{path}.{field}"), ""));
        } else {
            errors.extend(name_errors(name::path_segment(value), &format!("{path}.{field}"), value));
        }
    }
    errors
}

fn metric(metric: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = text(metric, "/type");
    if kind.is_empty() {
        errors.push(FieldError::required(format!("{path}.type"), "must specify a metric source type"));
    }
    let expected = SOURCES.iter().find(|(name, _)| *name == kind).map(|(_, field)| *field);
    if expected.is_none() {
        errors.push(FieldError::not_supported(format!("{path}.type"), kind, &SOURCE_TYPES));
    }
    let order = ["object", "external", "pods", "resource", "containerResource"];
    let given: Vec<&str> = order.into_iter().filter(|f| metric[*f].is_object()).collect();
    if let Some(first) = given.first() {
        errors.extend(source(&metric[*first], first, &format!("{path}.{first}")));
    }
    match expected {
        Some(field) if !metric[field].is_object() => {
            let detail = "must populate information for the given metric source";
            errors.push(FieldError::required(format!("{path}.{field}"), detail));
        }
        Some(_) => {}
        None => errors.push(FieldError::not_supported(format!("{path}.type"), kind, &SOURCE_TYPES)),
    }
    if given.len() != 1 {
        for other in given.iter().filter(|f| Some(**f) != expected) {
            let detail = "must populate the given metric source only";
            errors.push(FieldError::forbidden(format!("{path}.{other}"), detail));
        }
    }
    errors
}

fn source(source: &Value, kind: &str, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let goal = &source["target"];
    if kind == "resource" || kind == "containerResource" {
        if text(source, "/name").is_empty() {
            errors.push(FieldError::required(format!("{path}.name"), "must specify a resource name"));
        }
        errors.extend(goal_errors(goal, &format!("{path}.target")));
        let (raw, share) = (!goal["averageValue"].is_null(), !goal["averageUtilization"].is_null());
        if !raw && !share {
            let detail = "must set either a target raw value or a target utilization";
            errors.push(FieldError::required(format!("{path}.target.averageUtilization"), detail));
        }
        if raw && share {
            let detail = "may not set both a target raw value and a target utilization";
            errors.push(FieldError::forbidden(format!("{path}.target.averageValue"), detail));
        }
        return errors;
    }
    if kind == "object" {
        errors.extend(target(&source["describedObject"], &format!("{path}.describedObject")));
    }
    if text(source, "/metric/name").is_empty() {
        errors.push(FieldError::required(format!("{path}.metric.name"), "must specify a metric name"));
    }
    errors.extend(goal_errors(goal, &format!("{path}.target")));
    errors
}

fn goal_errors(goal: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let kind = text(goal, "/type");
    if kind.is_empty() {
        errors.push(FieldError::required(format!("{path}.type"), "must specify a metric target type"));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let detail = "must be either Utilization, Value, or AverageValue";
        errors.push(FieldError::invalid(format!("{path}.type"), kind, detail));
    }
    for field in ["value", "averageValue"] {
        let quantity = Quantity::from_value(&goal[field]).ok().filter(|q| q.sign() != 1);
        if let (Some(quantity), false) = (quantity, goal[field].is_null()) {
            errors.push(FieldError::invalid(format!("{path}.{field}"), quantity.to_string(), "must be positive"));
        }
    }
    if let Some(share) = goal["averageUtilization"].as_i64().filter(|s| *s < 1) {
        errors.push(FieldError::invalid(format!("{path}.averageUtilization"), share, "must be greater than 0"));
    }
    errors
}

fn scaling_rules(rules: &Value, path: &str) -> Vec<FieldError> {
    /// One hour.
    const MAX_WINDOW_SECONDS: i64 = 3600;
    let mut errors = Vec::new();
    if let Some(window) = rules["stabilizationWindowSeconds"].as_i64() {
        let at = format!("{path}.stabilizationWindowSeconds");
        if window < 0 {
            errors.push(FieldError::invalid(at, window, "must be greater than or equal to zero"));
        } else if window > MAX_WINDOW_SECONDS {
            let detail = format!("must be less than or equal to {MAX_WINDOW_SECONDS}");
            errors.push(FieldError::invalid(at, window, detail));
        }
    }
    let select = text(rules, "/selectPolicy");
    if !matches!(select, "" | "Disabled" | "Max" | "Min") {
        let known = ["Disabled", "Max", "Min"];
        errors.push(FieldError::not_supported(format!("{path}.selectPolicy"), select, &known));
    }
    if items(rules, "/policies").is_empty() {
        errors.push(FieldError::required(format!("{path}.policies"), "must specify at least one Policy"));
    }
    for (index, policy) in items(rules, "/policies").iter().enumerate() {
        let path = format!("{path}.policies[{index}]");
        let kind = text(policy, "/type");
        if !matches!(kind, "Percent" | "Pods") {
            errors.push(FieldError::not_supported(format!("{path}.type"), kind, &["Percent", "Pods"]));
        }
        for (field, limit) in [("value", i64::MAX), ("periodSeconds", 1800)] {
            let value = int(policy, &format!("/{field}"));
            if value <= 0 {
                errors.push(FieldError::invalid(format!("{path}.{field}"), value, "must be greater than zero"));
            } else if value > limit {
                let detail = format!("must be less than or equal to {limit}");
                errors.push(FieldError::invalid(format!("{path}.{field}"), value, detail));
            }
        }
    }
    errors
}
