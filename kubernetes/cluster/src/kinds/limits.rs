//! Validation of PodDisruptionBudgets, ResourceQuotas and LimitRanges.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::quantity::Quantity;

use super::checks::{at_most_hundred_percent, items, nonnegative_int_or_percent, selector, text};
use super::podspec::resource_name;

/// Resources that a quota may count without naming a group.
const QUOTA: [&str; 21] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
    "storage",
    "count",
];

/// Validates a PodDisruptionBudget.
pub(super) fn disruption_budget(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors = Vec::new();
    let (least, most) = (&spec["minAvailable"], &spec["maxUnavailable"]);
    if !least.is_null() && !most.is_null() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(super::internal::invalid("spec", "policy.PodDisruptionBudgetSpec", spec, detail));
    }
    for (field, value) in [("minAvailable", least), ("maxUnavailable", most)] {
        errors.extend(nonnegative_int_or_percent(value, &format!("spec.{field}")));
        errors.extend(at_most_hundred_percent(value, &format!("spec.{field}")));
    }
    errors.extend(selector(&spec["selector"], "spec.selector"));
    let policy = text(spec, "/unhealthyPodEvictionPolicy");
    if !matches!(policy, "" | "AlwaysAllow" | "IfHealthyBudget") {
        let known = ["AlwaysAllow", "IfHealthyBudget"];
        errors.push(FieldError::not_supported("spec.unhealthyPodEvictionPolicy", policy, &known));
    }
    errors
}

/// Validates a ResourceQuota.
pub(super) fn quota(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    for (resource, value) in spec["hard"].as_object().into_iter().flatten() {
        let path = format!("spec.hard[{resource}]");
        errors.extend(resource_name(resource, &path));
        if !resource.contains('/') && !QUOTA.contains(&resource.as_str()) && !huge(resource) {
            let detail = "must be a standard resource for quota";
            errors.push(FieldError::invalid(path.as_str(), resource.as_str(), detail));
        }
        errors.extend(quantity(resource, value, &path));
    }
    let scopes = [
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
    ];
    for scope in items(spec, "/scopes").iter().filter_map(Value::as_str) {
        if !scopes.contains(&scope) {
            errors.push(FieldError::invalid("spec.scopes", spec["scopes"].clone(), "unsupported scope"));
        }
    }
    for pair in [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]] {
        if pair.iter().all(|s| items(spec, "/scopes").iter().any(|v| v == s)) {
            errors.push(FieldError::invalid("spec.scopes", spec["scopes"].clone(), "conflicting scopes"));
        }
    }
    errors
}

fn huge(resource: &str) -> bool {
    resource.starts_with("hugepages-") || resource.starts_with("requests.hugepages-")
}

fn quantity(resource: &str, value: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Ok(quantity) = Quantity::from_value(value) else { return errors };
    if quantity.sign() < 0 {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path, quantity.to_string(), detail));
    }
    let counted = matches!(
        resource,
        "pods"
            | "services"
            | "replicationcontrollers"
            | "resourcequotas"
            | "secrets"
            | "configmaps"
            | "persistentvolumeclaims"
            | "services.nodeports"
            | "services.loadbalancers"
    ) || resource.contains('/');
    if counted && quantity.milli_value() % 1000 != 0 {
        errors.push(FieldError::invalid(path, quantity.to_string(), "must be an integer"));
    }
    errors
}

/// Validates a LimitRange.
pub(super) fn limit_range(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, limit) in items(object, "/spec/limits").iter().enumerate() {
        let path = format!("spec.limits[{index}]");
        let kind = text(limit, "/type");
        if !kind.contains('/') && !matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim") {
            let detail = "must be a standard limit type or fully qualified";
            let wrong = switchboard_object::name::qualified_name(kind);
            let wrong = if wrong.is_empty() { vec![detail.to_string()] } else { wrong };
            errors.extend(wrong.into_iter().map(|m| FieldError::invalid(format!("{path}.type"), kind, m)));
        }
        if !seen.insert(kind) {
            errors.push(FieldError::duplicate(format!("{path}.type"), kind));
        }
        if kind == "Pod" {
            for field in ["default", "defaultRequest"] {
                if limit[field].as_object().is_some_and(|m| !m.is_empty()) {
                    let detail = "may not be specified when `type` is 'Pod'";
                    errors.push(FieldError::forbidden(format!("{path}.{field}"), detail));
                }
            }
        }
        if kind == "PersistentVolumeClaim" && limit["min"]["storage"].is_null() && limit["max"]["storage"].is_null() {
            let detail = "either minimum or maximum storage value is required, but neither was provided";
            errors.push(FieldError::required(format!("{path}.limits"), detail));
        }
        errors.extend(ordered(limit, &path));
    }
    errors
}

/// Checks the order: minimum, default request, default, maximum.
fn ordered(limit: &Value, path: &str) -> Vec<FieldError> {
    let fields = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
    let keys: BTreeSet<&String> =
        fields.iter().flat_map(|f| limit[*f].as_object().into_iter().flat_map(|m| m.keys())).collect();
    let mut errors = Vec::new();
    for key in keys {
        let get = |field: &str| limit[field].get(key).and_then(|q| Quantity::from_value(q).ok());
        let (min, max, own, request) = (get("min"), get("max"), get("default"), get("defaultRequest"));
        let mut check = |low: &Option<Quantity>, high: &Option<Quantity>, at: &str, shown: usize, words: [&str; 2]| {
            if let (Some(low), Some(high)) = (low, high)
                && low > high
            {
                let value = if shown == 0 { low } else { high };
                let detail = format!("{} value {low} is greater than {} value {high}", words[0], words[1]);
                errors.push(FieldError::invalid(format!("{path}.{at}[{key}]"), value.to_string(), detail));
            }
        };
        check(&min, &max, "min", 0, ["min", "max"]);
        check(&min, &request, "defaultRequest", 1, ["min", "default request"]);
        check(&request, &max, "defaultRequest", 0, ["default request", "max"]);
        check(&request, &own, "defaultRequest", 0, ["default request", "default limit"]);
        check(&min, &own, "default", 0, ["min", "default"]);
        check(&own, &max, "default", 1, ["default", "max"]);
    }
    errors
}
