//! Validation of admission policies and their bindings. Their expressions are not compiled, because the server does not
//! run them.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::checks::{items, name_errors, selector, text};
use super::webhook::{one_of, rule_with_operations};

/// Validates a ValidatingAdmissionPolicy.
pub(super) fn policy(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors: Vec<FieldError> = one_of(spec, "failurePolicy", &["Fail", "Ignore"], "spec").into_iter().collect();
    if spec["matchConstraints"].is_object() {
        errors.extend(matched(&spec["matchConstraints"], "spec.matchConstraints"));
        if items(spec, "/matchConstraints/resourceRules").is_empty() {
            errors.push(FieldError::required("spec.matchConstraints.resourceRules", ""));
        }
    } else {
        errors.push(FieldError::required("spec.matchConstraints", ""));
    }
    let validations = items(spec, "/validations");
    if validations.is_empty() && items(spec, "/auditAnnotations").is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        errors.push(FieldError::required("spec.validations", detail));
        errors.push(FieldError::required("spec.auditAnnotations", detail));
    }
    for (index, validation) in validations.iter().enumerate() {
        if text(validation, "/expression").trim().is_empty() {
            let path = format!("spec.validations[{index}].expression");
            errors.push(FieldError::required(path, "expression is not specified"));
        }
    }
    errors
}

fn matched(resources: &Value, path: &str) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> =
        one_of(resources, "matchPolicy", &["Equivalent", "Exact"], path).into_iter().collect();
    for field in ["namespaceSelector", "objectSelector"] {
        errors.extend(selector(&resources[field], &format!("{path}.{field}")));
    }
    for list in ["resourceRules", "excludeResourceRules"] {
        for (index, rule) in items(resources, &format!("/{list}")).iter().enumerate() {
            let path = format!("{path}.{list}[{index}]");
            for (i, own) in items(rule, "/resourceNames").iter().filter_map(Value::as_str).enumerate() {
                errors.extend(name_errors(name::path_segment(own), &format!("{path}.resourceNames[{i}]"), own));
            }
            errors.extend(rule_with_operations(rule, &path));
        }
    }
    errors
}

/// Validates a ValidatingAdmissionPolicyBinding.
pub(super) fn binding(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors = named_policy(spec);
    if spec["matchResources"].is_object() {
        errors.extend(matched(&spec["matchResources"], "spec.matchResources"));
    }
    let path = "spec.validationActions";
    let actions: Vec<&str> = items(spec, "/validationActions").iter().filter_map(Value::as_str).collect();
    for (index, action) in actions.iter().enumerate() {
        let known = ["Audit", "Deny", "Warn"];
        if !known.contains(action) {
            errors.push(FieldError::not_supported(format!("{path}[{index}]"), *action, &known));
        }
        if actions[..index].contains(action) {
            errors.push(FieldError::duplicate(format!("{path}[{index}]"), *action));
        }
    }
    if actions.contains(&"Deny") && actions.contains(&"Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        errors.push(FieldError::invalid(path, spec["validationActions"].clone(), detail));
    }
    if actions.is_empty() {
        errors.push(FieldError::required(path, "at least one validation action is required"));
    }
    errors
}

fn named_policy(spec: &Value) -> Vec<FieldError> {
    let policy = text(spec, "/policyName");
    if policy.is_empty() {
        return vec![FieldError::required("spec.policyName", "")];
    }
    name_errors(name::dns1123_subdomain(policy), "spec.policyName", policy)
}
