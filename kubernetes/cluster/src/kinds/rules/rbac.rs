//! Roles and their bindings.

use serde_json::{Value, json};
use switchboard_object::field::{FieldError, FieldErrorKind};

use super::super::builtin::KindRules;
use super::{items, text};
use crate::metadata::NameRule;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) const ROLE: KindRules = KindRules {
    validate: |o| policy_rules(o, true),
    validate_update: |new, _| validate_as_create_and_update(new, true, policy_rules(new, true)),
    ..KindRules::NONE
};

pub(super) const CLUSTER_ROLE: KindRules = KindRules {
    validate: |o| {
        let mut errors = policy_rules(o, false);
        errors.extend(aggregation(o));
        errors
    },
    validate_update: |new, _| {
        let mut errors = policy_rules(new, false);
        errors.extend(aggregation(new));
        validate_as_create_and_update(new, false, errors)
    },
    ..KindRules::NONE
};

pub(super) const ROLE_BINDING: KindRules = KindRules {
    validate: |o| binding(o, true),
    validate_update: |new, old| {
        let mut errors = validate_as_create_and_update(new, true, binding(new, true));
        errors.extend(fixed_role(new, old));
        errors
    },
    ..KindRules::NONE
};

pub(super) const CLUSTER_ROLE_BINDING: KindRules = KindRules {
    validate: |o| binding(o, false),
    validate_update: |new, old| {
        let mut errors = validate_as_create_and_update(new, false, binding(new, false));
        errors.extend(fixed_role(new, old));
        errors
    },
    ..KindRules::NONE
};

/// Validates an update as a new object first, then as an update.
fn validate_as_create_and_update(new: &Value, namespaced: bool, errors: Vec<FieldError>) -> Vec<FieldError> {
    let mut all = crate::metadata::validate(&new["metadata"], namespaced, NameRule::PathSegment, "metadata");
    all.extend(errors);
    all
}

fn policy_rules(object: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, rule) in items(object, "/rules").iter().enumerate() {
        let path = format!("rules[{index}]");
        let filled = |field: &str| !items(rule, &format!("/{field}")).is_empty();
        if !filled("verbs") {
            errors.push(FieldError::required(format!("{path}.verbs"), "verbs must contain at least one value"));
        }
        if filled("nonResourceURLs") {
            if namespaced {
                let urls = rule["nonResourceURLs"].clone();
                let detail = "namespaced rules cannot apply to non-resource URLs";
                errors.push(FieldError::invalid(format!("{path}.nonResourceURLs"), urls, detail));
            }
            if filled("apiGroups") || filled("resources") || filled("resourceNames") {
                let urls = rule["nonResourceURLs"].clone();
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                errors.push(FieldError::invalid(format!("{path}.nonResourceURLs"), urls, detail));
            }
            continue;
        }
        if !filled("apiGroups") {
            let detail = "resource rules must supply at least one api group";
            errors.push(FieldError::required(format!("{path}.apiGroups"), detail));
        }
        if !filled("resources") {
            let detail = "resource rules must supply at least one resource";
            errors.push(FieldError::required(format!("{path}.resources"), detail));
        }
    }
    errors
}

fn aggregation(object: &Value) -> Vec<FieldError> {
    let rule = &object["aggregationRule"];
    if rule.is_object() && items(rule, "/clusterRoleSelectors").is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        return vec![FieldError::required("aggregationRule.clusterRoleSelectors", detail)];
    }
    Vec::new()
}

fn binding(object: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let group = text(object, "/roleRef/apiGroup");
    if group != GROUP {
        errors.push(FieldError::not_supported("roleRef.apiGroup", group, &[GROUP]));
    }
    let kind = text(object, "/roleRef/kind");
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&kind) {
        errors.push(FieldError::not_supported("roleRef.kind", kind, kinds));
    }
    let name = text(object, "/roleRef/name");
    if name.is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    } else {
        let wrong = NameRule::PathSegment.check(name, false);
        errors.extend(wrong.into_iter().map(|m| FieldError::invalid("roleRef.name", name, m)));
    }
    for (index, subject) in items(object, "/subjects").iter().enumerate() {
        errors.extend(self::subject(subject, namespaced, &format!("subjects[{index}]")));
    }
    errors
}

fn subject(subject: &Value, namespaced: bool, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (name, group) = (text(subject, "/name"), text(subject, "/apiGroup"));
    if name.is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    }
    match text(subject, "/kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let wrong = NameRule::Subdomain.check(name, false);
                errors.extend(wrong.into_iter().map(|m| FieldError::invalid(format!("{path}.name"), name, m)));
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(format!("{path}.apiGroup"), group, &[""]));
            }
            if !namespaced && text(subject, "/namespace").is_empty() {
                errors.push(FieldError::required(format!("{path}.namespace"), ""));
            }
        }
        "User" | "Group" if group != GROUP => {
            errors.push(FieldError::not_supported(format!("{path}.apiGroup"), group, &[GROUP]));
        }
        "User" | "Group" => {}
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(format!("{path}.kind"), other, &kinds));
        }
    }
    errors
}

/// Checks that a binding's role does not change. The value is shown as Go prints its internal type.
fn fixed_role(new: &Value, old: &Value) -> Option<FieldError> {
    if new["roleRef"] == old["roleRef"] {
        return None;
    }
    let role = &new["roleRef"];
    let value = json!({"APIGroup": role["apiGroup"], "Kind": role["kind"], "Name": role["name"]});
    let (kind, detail) = (FieldErrorKind::Invalid, "cannot change roleRef".to_string());
    Some(FieldError { kind, field: "roleRef".into(), value: Some(value), detail })
}
