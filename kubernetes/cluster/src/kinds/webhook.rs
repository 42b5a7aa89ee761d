//! Validation of webhook configurations and APIServices.

use std::collections::BTreeSet;

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;
use switchboard_object::quote::quote;

use super::checks::{int, items, name_errors, selector, text};

/// Validates a configuration of validating or mutating webhooks.
pub(super) fn configuration(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (index, hook) in items(object, "/webhooks").iter().enumerate() {
        let path = format!("webhooks[{index}]");
        errors.extend(webhook(hook, &path));
        errors.extend(review_versions(hook, &format!("{path}.admissionReviewVersions")));
        let own = text(hook, "/name");
        if !own.is_empty() && !names.insert(own) {
            errors.push(FieldError::duplicate(format!("{path}.name"), own));
        }
    }
    errors
}

fn webhook(hook: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = full_name(text(hook, "/name"), &format!("{path}.name"));
    for (index, rule) in items(hook, "/rules").iter().enumerate() {
        errors.extend(rule_with_operations(rule, &format!("{path}.rules[{index}]")));
    }
    errors.extend(one_of(hook, "failurePolicy", &["Fail", "Ignore"], path));
    errors.extend(one_of(hook, "matchPolicy", &["Equivalent", "Exact"], path));
    if hook["sideEffects"].is_null() {
        errors.push(FieldError::required(format!("{path}.sideEffects"), "must specify one of None, NoneOnDryRun"));
    }
    errors.extend(one_of(hook, "sideEffects", &["None", "NoneOnDryRun"], path));
    if let Some(seconds) = hook["timeoutSeconds"].as_i64().filter(|s| !(1..=30).contains(s)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(format!("{path}.timeoutSeconds"), seconds, detail));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        errors.extend(selector(&hook[field], &format!("{path}.{field}")));
    }
    errors.extend(one_of(hook, "reinvocationPolicy", &["IfNeeded", "Never"], path));
    errors.extend(client(&hook["clientConfig"], &format!("{path}.clientConfig")));
    errors
}

/// Validates an optional field with a fixed set of values.
pub(super) fn one_of(hook: &Value, field: &str, known: &[&str], path: &str) -> Option<FieldError> {
    let value = hook[field].as_str()?;
    (!known.contains(&value)).then(|| FieldError::not_supported(format!("{path}.{field}"), value, known))
}

/// Validates a subdomain of at least three parts.
fn full_name(own: &str, path: &str) -> Vec<FieldError> {
    if own.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let wrong = name::dns1123_subdomain(own);
    if !wrong.is_empty() {
        return name_errors(wrong, path, own);
    }
    if own.split('.').count() < 3 {
        return vec![FieldError::invalid(
            path,
            own,
            "should be a domain with at least three segments separated by dots",
        )];
    }
    Vec::new()
}

/// Validates the operations and resources of a rule.
pub(super) fn rule_with_operations(rule: &Value, path: &str) -> Vec<FieldError> {
    let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    let mut errors = validate_value_list(rule, "operations", "operations", path);
    for (index, operation) in items(rule, "/operations").iter().filter_map(Value::as_str).enumerate() {
        if !known.contains(&operation) {
            errors.push(FieldError::not_supported(format!("{path}.operations[{index}]"), operation, &known));
        }
    }
    errors.extend(validate_value_list(rule, "apiGroups", "API groups", path));
    errors.extend(validate_value_list(rule, "apiVersions", "API versions", path));
    for (index, version) in items(rule, "/apiVersions").iter().enumerate() {
        if version == "" {
            errors.push(FieldError::required(format!("{path}.apiVersions[{index}]"), ""));
        }
    }
    if items(rule, "/resources").is_empty() {
        errors.push(FieldError::required(format!("{path}.resources"), ""));
    }
    errors.extend(one_of(rule, "scope", &["*", "Cluster", "Namespaced"], path));
    errors
}

/// Validates a list that must not be empty, and in which `*` must be the only item.
fn validate_value_list(rule: &Value, field: &str, words: &str, path: &str) -> Vec<FieldError> {
    let values = items(rule, &format!("/{field}"));
    if values.is_empty() {
        return vec![FieldError::required(format!("{path}.{field}"), "")];
    }
    if values.len() > 1 && values.iter().any(|v| v == "*") {
        let detail = format!("if '*' is present, must not specify other {words}");
        return vec![FieldError::invalid(format!("{path}.{field}"), rule[field].clone(), detail)];
    }
    Vec::new()
}

fn client(client: &Value, path: &str) -> Vec<FieldError> {
    match (client["url"].as_str(), client["service"].is_object()) {
        (Some(url), false) => self::url(url, &format!("{path}.url")),
        (None, true) => service(&client["service"], &format!("{path}.service")),
        _ => vec![FieldError::required(path, "exactly one of url or service is required")],
    }
}

fn url(url: &str, path: &str) -> Vec<FieldError> {
    const FORM: &str = "; desired format: https://host[/path]";
    let mut errors = Vec::new();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        errors.push(FieldError::invalid(path, scheme, format!("'https' is the only allowed URL scheme{FORM}")));
    }
    let host = if scheme.is_empty() { "" } else { rest.split(['/', '?', '#']).next().unwrap_or("") };
    if host.is_empty() {
        errors.push(FieldError::invalid(path, "", format!("host must be specified{FORM}")));
    }
    if let Some((user, _)) = host.split_once('@') {
        errors.push(FieldError::invalid(path, user, "user information is not permitted in the URL"));
    }
    if let Some((_, fragment)) = rest.split_once('#').filter(|(_, f)| !f.is_empty()) {
        errors.push(FieldError::invalid(path, fragment, "fragments are not permitted in the URL"));
    }
    let query = rest.split('#').next().and_then(|r| r.split_once('?')).filter(|(_, q)| !q.is_empty());
    if let Some((_, query)) = query {
        errors.push(FieldError::invalid(path, query, "query parameters are not permitted in the URL"));
    }
    errors
}

fn service(service: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    // kube-apiserver swaps name and namespace here, so each is reported missing under the other's name.
    for (field, shown) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, &format!("/{field}")).is_empty() {
            errors.push(FieldError::required(format!("{path}.{shown}"), ""));
        }
    }
    errors.extend(port(service, path));
    let target = text(service, "/path");
    if matches!(target, "" | "/") {
        return errors;
    }
    let path = format!("{path}.path");
    if target == "//" {
        errors.push(FieldError::invalid(path, target, "segment[0] may not be empty"));
        return errors;
    }
    if !target.starts_with('/') {
        errors.push(FieldError::invalid(path.as_str(), target, "must start with a '/'"));
    }
    let steps = target.get(1..).unwrap_or("");
    for (index, step) in steps.strip_suffix('/').unwrap_or(steps).split('/').enumerate() {
        if step.is_empty() {
            errors.push(FieldError::invalid(path.as_str(), target, format!("segment[{index}] may not be empty")));
            continue;
        }
        let wrong = name::dns1123_subdomain(step).into_iter().map(|m| format!("segment[{index}]: {m}")).collect();
        errors.extend(name_errors(wrong, &path, target));
    }
    errors
}

fn port(service: &Value, path: &str) -> Option<FieldError> {
    let number = int(service, "/port");
    let wrong = name::port_number(number);
    let detail = format!("port is not valid: {}", wrong.join(", "));
    (!wrong.is_empty()).then(|| FieldError::invalid(format!("{path}.port"), number, detail))
}

fn review_versions(hook: &Value, path: &str) -> Vec<FieldError> {
    let versions: Vec<&str> = items(hook, "/admissionReviewVersions").iter().filter_map(Value::as_str).collect();
    if versions.is_empty() {
        return vec![FieldError::required(path, "must specify one of v1, v1beta1")];
    }
    let mut errors = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(format!("{path}[{index}]"), *version, "duplicate version"));
            continue;
        }
        errors.extend(name_errors(name::dns1035_label(version), &format!("{path}[{index}]"), version));
    }
    if !versions.iter().any(|v| matches!(*v, "v1" | "v1beta1")) {
        let detail = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(path, hook["admissionReviewVersions"].clone(), detail));
    }
    errors
}

/// Validates an APIService.
pub(super) fn api_service(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors = Vec::new();
    let (group, version) = (text(spec, "/group"), text(spec, "/version"));
    let (own, wanted) = (text(object, "/metadata/name"), format!("{version}.{group}"));
    if own != wanted && name::path_segment(own).is_empty() {
        let detail = format!("must be `spec.version+\".\"+spec.group`: {}", quote(&wanted));
        errors.push(FieldError::invalid("metadata.name", own, detail));
    }
    if group.is_empty() && version != "v1" {
        let detail = "only v1 may have an empty group and it better be legacy kube";
        errors.push(FieldError::required("spec.group", detail));
    }
    if !group.is_empty() {
        errors.extend(name_errors(name::dns1123_subdomain(group), "spec.group", group));
    }
    errors.extend(name_errors(name::dns1035_label(version), "spec.version", version));
    for (field, limit) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
        let value = int(spec, &format!("/{field}"));
        if value <= 0 || value > limit {
            let detail = format!("must be positive and less than {limit}");
            errors.push(FieldError::invalid(format!("spec.{field}"), value, detail));
        }
    }
    errors.extend(backing_service(spec));
    errors
}

fn backing_service(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (skip, bundle) = (spec["insecureSkipTLSVerify"] == true, !text(spec, "/caBundle").is_empty());
    let service = &spec["service"];
    if !service.is_object() {
        if skip {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            errors.push(FieldError::invalid("spec.insecureSkipTLSVerify", true, detail));
        }
        return errors;
    }
    for field in ["namespace", "name"] {
        if text(service, &format!("/{field}")).is_empty() {
            errors.push(FieldError::required(format!("spec.service.{field}"), ""));
        }
    }
    errors.extend(port(service, "spec.service"));
    if skip && bundle {
        let detail = "may not be true if caBundle is present";
        errors.push(FieldError::invalid("spec.insecureSkipTLSVerify", true, detail));
    }
    errors
}
