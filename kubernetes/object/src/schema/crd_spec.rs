//! Validation of the parts of a CRD that do not belong to a version: conversion, stored versions, approval.

use super::structural::{flag, list, text};
use crate::Value;
use crate::field::FieldError;
use crate::quote::quote;

pub(super) fn conversion(conversion: &Value) -> Vec<FieldError> {
    if !conversion.is_object() {
        return Vec::new();
    }
    let strategy = text(conversion, "strategy");
    let mut errors = one_of("spec.conversion.strategy", strategy, &["None", "Webhook"]);
    let webhook = &conversion["webhook"];
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if !webhook["clientConfig"].is_null() {
            errors.push(FieldError::forbidden("spec.conversion.webhookClientConfig", detail));
        }
        if !list(webhook, "conversionReviewVersions").is_empty() {
            errors.push(FieldError::forbidden("spec.conversion.conversionReviewVersions", detail));
        }
        return errors;
    }
    let client = &webhook["clientConfig"];
    if client.is_null() {
        let detail = "required when strategy is set to Webhook";
        errors.push(FieldError::required("spec.conversion.webhookClientConfig", detail));
    } else if client["url"].is_null() == client["service"].is_null() {
        let detail = "exactly one of url or service is required";
        errors.push(FieldError::required("spec.conversion.webhookClientConfig", detail));
    }
    let versions = list(webhook, "conversionReviewVersions");
    let at = "spec.conversion.conversionReviewVersions";
    if versions.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else if !versions.iter().any(|version| *version == "v1" || *version == "v1beta1") {
        errors.push(FieldError::invalid(at, versions.to_vec(), "must include at least one of v1, v1beta1"));
    }
    errors
}

pub(super) fn one_of(at: &str, value: &str, accepted: &[&str]) -> Vec<FieldError> {
    match value {
        "" => vec![FieldError::required(at, "")],
        value if accepted.contains(&value) => Vec::new(),
        value => vec![FieldError::not_supported(at, value, accepted)],
    }
}

pub(super) fn stored_versions(crd: &Value) -> Vec<FieldError> {
    let at = "status.storedVersions";
    let stored = list(&crd["status"], "storedVersions");
    if stored.is_empty() {
        return vec![FieldError::invalid(at, Value::Null, "must have at least one stored version")];
    }
    let versions = list(&crd["spec"], "versions");
    let mut errors = Vec::new();
    let mut left: Vec<&Value> = stored.iter().collect();
    for version in versions {
        let before = left.len();
        left.retain(|name| **name != version["name"]);
        if flag(version, "storage") && left.len() == before {
            let detail = format!("must have the storage version {}", text(version, "name"));
            errors.push(FieldError::invalid(at, stored.to_vec(), detail));
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if versions.iter().all(|version| version["name"] != *name) {
            let v = name.as_str().unwrap_or("");
            let detail = format!(
                "missing from spec.versions; {v} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {v} and removes {v} from \
                 status.storedVersions"
            );
            errors.push(FieldError::invalid(format!("{at}[{index}]"), v, detail));
        }
    }
    errors
}

const APPROVED: &str = "api-approved.kubernetes.io";

/// Checks the approval annotation that API groups of the Kubernetes community need.
pub(super) fn approval(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let group = text(&crd["spec"], "group");
    let protected = ["k8s.io", "kubernetes.io"].iter().any(|g| group == *g || group.ends_with(&format!(".{g}")));
    let given = |crd: &Value| text(&crd["metadata"]["annotations"], APPROVED).to_string();
    let new = given(crd);
    if !protected || old.is_some_and(|old| state(&given(old)) == state(&new)) {
        return Vec::new();
    }
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let at = format!("metadata.annotations[{APPROVED}]");
    match state(&new) {
        ApprovalState::Missing => {
            let detail = format!("protected groups must have approval annotation {}, {see}", quote(APPROVED));
            vec![FieldError::required(at, detail)]
        }
        ApprovalState::Invalid => {
            let detail = format!(
                "protected groups must have approval annotation {} with either a URL or a reason starting \
                 with \"unapproved\", {see}",
                quote(APPROVED)
            );
            vec![FieldError::invalid(at, new, detail)]
        }
        ApprovalState::Bypassed | ApprovalState::Approved => Vec::new(),
    }
}

#[derive(PartialEq)]
enum ApprovalState {
    Missing,
    Bypassed,
    Approved,
    Invalid,
}

fn state(annotation: &str) -> ApprovalState {
    match annotation {
        "" => ApprovalState::Missing,
        text if text.starts_with("unapproved") => ApprovalState::Bypassed,
        text if text.split_once("://").is_some_and(|(scheme, host)| !scheme.is_empty() && !host.is_empty()) => {
            ApprovalState::Approved
        }
        _ => ApprovalState::Invalid,
    }
}

pub(super) fn preserve_unknown(spec: &Value, old: Option<&Value>) -> Vec<FieldError> {
    if old.is_some_and(|old| flag(old, "preserveUnknownFields")) || !flag(spec, "preserveUnknownFields") {
        return Vec::new();
    }
    let detail =
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
    vec![FieldError::invalid("spec.preserveUnknownFields", true, detail)]
}
