//! Scheduling constraints: affinity, topology spread, tolerations.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::super::checks::{int, items, name_errors, selector, text};
use crate::metadata;

/// Validates `affinity`.
pub(super) fn affinity(affinity: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let node = &affinity["nodeAffinity"];
    if let Some(required) = node.get("requiredDuringSchedulingIgnoredDuringExecution").filter(|r| r.is_object()) {
        let path = format!("{path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution");
        errors.extend(node_selector(required, &path));
    }
    for (index, term) in items(node, "/preferredDuringSchedulingIgnoredDuringExecution").iter().enumerate() {
        let path = format!("{path}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[{index}]");
        errors.extend(weight(term, &path));
        errors.extend(node_term(&term["preference"], &format!("{path}.preference")));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let terms = &affinity[kind];
        for (index, term) in items(terms, "/requiredDuringSchedulingIgnoredDuringExecution").iter().enumerate() {
            let path = format!("{path}.{kind}.requiredDuringSchedulingIgnoredDuringExecution[{index}]");
            errors.extend(pod_term(term, &path));
        }
        for (index, term) in items(terms, "/preferredDuringSchedulingIgnoredDuringExecution").iter().enumerate() {
            let path = format!("{path}.{kind}.preferredDuringSchedulingIgnoredDuringExecution[{index}]");
            errors.extend(weight(term, &path));
            errors.extend(pod_term(&term["podAffinityTerm"], &format!("{path}.podAffinityTerm")));
        }
    }
    errors
}

fn weight(term: &Value, path: &str) -> Option<FieldError> {
    let weight = int(term, "/weight");
    let detail = "must be in the range 1-100";
    (!(1..=100).contains(&weight)).then(|| FieldError::invalid(format!("{path}.weight"), weight, detail))
}

/// Validates a node selector, which needs at least one term.
pub(super) fn node_selector(selector: &Value, path: &str) -> Vec<FieldError> {
    let terms = items(selector, "/nodeSelectorTerms");
    if terms.is_empty() {
        let detail = "must have at least one node selector term";
        return vec![FieldError::required(format!("{path}.nodeSelectorTerms"), detail)];
    }
    let numbered = terms.iter().enumerate();
    numbered.flat_map(|(i, t)| node_term(t, &format!("{path}.nodeSelectorTerms[{i}]"))).collect()
}

fn node_term(term: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, requirement) in items(term, "/matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        let values = items(requirement, "/values");
        match text(requirement, "/operator") {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(format!("{path}.values"), detail));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(format!("{path}.values"), detail));
            }
            "Gt" | "Lt" if values.len() != 1 => {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.push(FieldError::required(format!("{path}.values"), detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => {
                let detail = "not a valid selector operator";
                errors.push(FieldError::invalid(format!("{path}.operator"), other, detail));
            }
        }
        errors.extend(metadata::label_name(text(requirement, "/key"), &format!("{path}.key")));
    }
    errors
}

fn pod_term(term: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = selector(&term["labelSelector"], &format!("{path}.labelSelector"));
    errors.extend(selector(&term["namespaceSelector"], &format!("{path}.namespaceSelector")));
    for namespace in items(term, "/namespaces").iter().filter_map(Value::as_str) {
        errors.extend(name_errors(name::dns1123_label(namespace), &format!("{path}.namespace"), namespace));
    }
    let key = text(term, "/topologyKey");
    if key.is_empty() {
        errors.push(FieldError::required(format!("{path}.topologyKey"), "can not be empty"));
    }
    errors.extend(metadata::label_name(key, &format!("{path}.topologyKey")));
    errors
}

/// Validates `topologySpreadConstraints`.
pub(super) fn spread(constraints: &[Value], path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, constraint) in constraints.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let skew = int(constraint, "/maxSkew");
        if skew <= 0 {
            errors.push(FieldError::invalid(format!("{path}.maxSkew"), skew, "must be greater than zero"));
        }
        let key = text(constraint, "/topologyKey");
        if key.is_empty() {
            errors.push(FieldError::required(format!("{path}.topologyKey"), "can not be empty"));
        }
        let when = text(constraint, "/whenUnsatisfiable");
        if !matches!(when, "DoNotSchedule" | "ScheduleAnyway") {
            let known = ["DoNotSchedule", "ScheduleAnyway"];
            errors.push(FieldError::not_supported(format!("{path}.whenUnsatisfiable"), when, &known));
        }
        let same = |other: &&Value| text(other, "/topologyKey") == key && text(other, "/whenUnsatisfiable") == when;
        if constraints[index + 1..].iter().find(same).is_some() {
            let path = format!("{path}.{{topologyKey, whenUnsatisfiable}}");
            errors.push(FieldError::duplicate(path, format!("{{{key}, {when}}}")));
        }
        errors.extend(selector(&constraint["labelSelector"], &format!("{path}.labelSelector")));
    }
    errors
}

/// Validates `tolerations`.
pub(super) fn tolerations(tolerations: &[Value], path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, toleration) in tolerations.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let (key, operator) = (text(toleration, "/key"), text(toleration, "/operator"));
        let (value, effect) = (text(toleration, "/value"), text(toleration, "/effect"));
        if !key.is_empty() {
            errors.extend(metadata::label_name(key, &format!("{path}.key")));
        } else if operator != "Exists" {
            let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(FieldError::invalid(format!("{path}.operator"), operator, detail));
        }
        if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(FieldError::invalid(format!("{path}.effect"), effect, detail));
        }
        match operator {
            "Equal" | "" => {
                let wrong = name::label_value(value);
                if !wrong.is_empty() {
                    errors.push(FieldError::invalid(format!("{path}.operator"), value, wrong.join(";")));
                }
            }
            "Exists" if !value.is_empty() => {
                let detail = "value must be empty when `operator` is 'Exists'";
                errors.push(FieldError::invalid(format!("{path}.operator"), value, detail));
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                let known = ["Equal", "Exists", "Lt", "Gt"];
                errors.push(FieldError::not_supported(format!("{path}.operator"), operator, &known));
            }
            _ => errors.push(FieldError::not_supported(format!("{path}.operator"), operator, &["Equal", "Exists"])),
        }
        if !matches!(effect, "" | "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
            let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            errors.push(FieldError::not_supported(format!("{path}.effect"), effect, &known));
        }
    }
    errors
}
