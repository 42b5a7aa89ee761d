//! Validation of Deployments, ReplicaSets, DaemonSets and ReplicationControllers.

use serde_json::Value;
use switchboard_object::field::FieldError;

use super::checks::{
    at, at_most_hundred_percent, int, is_empty_selector, matches, nonnegative, nonnegative_int_or_percent, selector,
    text,
};
use super::{internal, podspec};
use crate::metadata;

/// Validates a Deployment.
pub(super) fn deployment(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors: Vec<FieldError> = nonnegative(&spec["replicas"], "spec.replicas").into_iter().collect();
    errors.extend(own_selector(spec, "deployment"));
    errors.extend(replicated_template(spec));
    errors.extend(deployment_strategy(&spec["strategy"]));
    for field in ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
        errors.extend(nonnegative(&spec[field], format!("spec.{field}")));
    }
    if let Some(deadline) = spec["progressDeadlineSeconds"].as_i64()
        && deadline <= int(spec, "/minReadySeconds")
    {
        let detail = "must be greater than minReadySeconds";
        errors.push(FieldError::invalid("spec.progressDeadlineSeconds", deadline, detail));
    }
    errors
}

/// Validates an update of a Deployment.
pub(super) fn deployment_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = deployment(new);
    show_emptied(&mut errors, old);
    errors.extend(fixed_selector(new, old));
    errors
}

/// Shows labels that a patch removed one by one as an empty map, as Go does. (A PUT without labels is treated the same
/// here, which Go distinguishes.)
fn show_emptied(errors: &mut [FieldError], old: &Value) {
    let emptied = at(old, "/spec/template/metadata/labels").is_object();
    let labels = |e: &&mut FieldError| e.field == "spec.template.metadata.labels" && e.value == Some(Value::Null);
    errors.iter_mut().filter(labels).filter(|_| emptied).for_each(|e| e.value = Some(serde_json::json!({})));
}

/// Validates a write to a Deployment's status.
pub(super) fn deployment_status(new: &Value, old: &Value) -> Vec<FieldError> {
    let status = &new["status"];
    let counts = ["updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"];
    let mut errors: Vec<FieldError> =
        nonnegative(&status["observedGeneration"], "status.observedGeneration").into_iter().collect();
    errors.extend(nonnegative(&status["replicas"], "status.replicas"));
    for field in counts.into_iter().chain(["terminatingReplicas", "collisionCount"]) {
        errors.extend(nonnegative(&status[field], format!("status.{field}")));
    }
    errors.extend(validate_replica_counts(status, &counts[..3]));
    errors.extend(collisions(new, old));
    errors
}

/// Checks counts that cannot exceed the number of replicas.
pub(super) fn validate_replica_counts(status: &Value, fields: &[&str]) -> Vec<FieldError> {
    let count = |field: &str| int(status, &format!("/{field}"));
    let mut errors = Vec::new();
    for field in fields.iter().filter(|f| count(f) > count("replicas")) {
        let detail = "cannot be greater than status.replicas";
        errors.push(FieldError::invalid(format!("status.{field}"), count(field), detail));
    }
    if count("availableReplicas") > count("readyReplicas") {
        let detail = "cannot be greater than readyReplicas";
        errors.push(FieldError::invalid("status.availableReplicas", count("availableReplicas"), detail));
    }
    errors
}

/// Checks that the collision counter does not decrease.
pub(super) fn collisions(new: &Value, old: &Value) -> Option<FieldError> {
    let count = |v: &Value| at(v, "/status/collisionCount").as_i64();
    let (is, was) = (count(new), count(old));
    let detail = "cannot be decremented";
    (is.is_some_and(|is| was.is_some_and(|was| is < was)))
        .then(|| FieldError::invalid("status.collisionCount", is.unwrap_or(0), detail))
}

/// Checks that a selector exists and selects something.
pub(super) fn own_selector(spec: &Value, kind: &str) -> Vec<FieldError> {
    if !spec["selector"].is_object() {
        return vec![FieldError::required("spec.selector", "")];
    }
    let mut errors = selector(&spec["selector"], "spec.selector");
    if is_empty_selector(&spec["selector"]) {
        let detail = format!("empty selector is invalid for {kind}");
        errors.push(internal::invalid("spec.selector", "v1.LabelSelector", &spec["selector"], &detail));
    }
    errors
}

fn fixed_selector(new: &Value, old: &Value) -> Option<FieldError> {
    let of = |v: &Value| v["spec"]["selector"].clone();
    (of(new) != of(old)).then(|| internal::invalid("spec.selector", "v1.LabelSelector", &of(new), metadata::IMMUTABLE))
}

/// Checks that the selector matches the template's labels.
pub(super) fn mismatch(spec: &Value) -> Option<FieldError> {
    let labels = at(spec, "/template/metadata/labels");
    let detail = "`selector` does not match template `labels`";
    // Without a selector nothing is selected; an empty one selects everything.
    let selected =
        spec["selector"].is_object() && (is_empty_selector(&spec["selector"]) || matches(&spec["selector"], labels));
    (!selected).then(|| FieldError::invalid("spec.template.metadata.labels", labels.clone(), detail))
}

/// Validates a template whose pods are replaced when they end.
fn replicated_template(spec: &Value) -> Vec<FieldError> {
    if !selector(&spec["selector"], "").is_empty() {
        return vec![internal::invalid(
            "spec.selector",
            "v1.LabelSelector",
            &spec["selector"],
            "invalid label selector",
        )];
    }
    let mut errors: Vec<FieldError> = mismatch(spec).into_iter().collect();
    errors.extend(podspec::template(&spec["template"], "spec.template"));
    errors.extend(restarting(spec, "ReplicaSet"));
    errors
}

/// Checks that pods of this kind are always restarted.
pub(super) fn restarting(spec: &Value, kind: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let policy = text(spec, "/template/spec/restartPolicy");
    if policy != "Always" {
        errors.push(FieldError::not_supported("spec.template.spec.restartPolicy", policy, &["Always"]));
    }
    if !at(spec, "/template/spec/activeDeadlineSeconds").is_null() {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.push(FieldError::forbidden("spec.template.spec.activeDeadlineSeconds", detail));
    }
    errors
}

/// Whether a number or percentage is zero.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim_end_matches('%').parse::<i64>() == Ok(0),
        _ => value.as_i64().unwrap_or(0) == 0,
    }
}

fn deployment_strategy(strategy: &Value) -> Vec<FieldError> {
    let path = "spec.strategy";
    let update = &strategy["rollingUpdate"];
    match text(strategy, "/type") {
        "Recreate" if update.is_object() => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            vec![FieldError::forbidden(format!("{path}.rollingUpdate"), detail)]
        }
        "Recreate" => Vec::new(),
        "RollingUpdate" => {
            let path = format!("{path}.rollingUpdate");
            let (unavailable, surge) = (&update["maxUnavailable"], &update["maxSurge"]);
            let mut errors = nonnegative_int_or_percent(unavailable, &format!("{path}.maxUnavailable"));
            errors.extend(nonnegative_int_or_percent(surge, &format!("{path}.maxSurge")));
            if is_zero(unavailable) && is_zero(surge) {
                let detail = "may not be 0 when `maxSurge` is 0";
                errors.push(FieldError::invalid(format!("{path}.maxUnavailable"), unavailable.clone(), detail));
            }
            errors.extend(at_most_hundred_percent(unavailable, &format!("{path}.maxUnavailable")));
            errors
        }
        _ => vec![internal::not_supported(path, "apps.DeploymentStrategy", strategy, &["Recreate", "RollingUpdate"])],
    }
}

/// Validates a ReplicaSet.
pub(super) fn replica_set(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors: Vec<FieldError> = nonnegative(&spec["replicas"], "spec.replicas").into_iter().collect();
    errors.extend(nonnegative(&spec["minReadySeconds"], "spec.minReadySeconds"));
    errors.extend(own_selector(spec, "deployment"));
    errors.extend(replicated_template(spec));
    errors
}

/// Validates an update of a ReplicaSet.
pub(super) fn replica_set_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = replica_set(new);
    show_emptied(&mut errors, old);
    errors.extend(fixed_selector(new, old));
    errors
}

/// Validates a write to a ReplicaSet's status.
pub(super) fn replica_set_status(new: &Value, _old: &Value) -> Vec<FieldError> {
    let status = &new["status"];
    let mut errors = Vec::new();
    for field in ["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"] {
        errors.extend(nonnegative(&status[field], format!("status.{field}")));
    }
    errors.extend(validate_replica_counts(status, &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"]));
    errors
}

/// Validates a ReplicationController.
pub(super) fn replication_controller(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors: Vec<FieldError> =
        nonnegative(&spec["minReadySeconds"], "spec.minReadySeconds").into_iter().collect();
    let chosen = spec["selector"].as_object().filter(|s| !s.is_empty());
    if chosen.is_none() {
        errors.push(FieldError::required("spec.selector", ""));
    }
    errors.extend(nonnegative(&spec["replicas"], "spec.replicas"));
    if !spec["template"].is_object() {
        errors.push(FieldError::required("spec.template", ""));
        return errors;
    }
    let labels = at(spec, "/template/metadata/labels");
    if chosen.is_some_and(|s| s.iter().any(|(k, v)| labels.get(k) != Some(v))) {
        let detail = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid("spec.template.metadata.labels", labels.clone(), detail));
    }
    errors.extend(podspec::template(&spec["template"], "spec.template"));
    errors.extend(restarting(spec, "ReplicationController"));
    errors
}

/// Validates a DaemonSet.
pub(super) fn daemon_set(object: &Value) -> Vec<FieldError> {
    let spec = &object["spec"];
    let mut errors = selector(&spec["selector"], "spec.selector");
    let labels = at(spec, "/template/metadata/labels");
    if !spec["selector"].is_object() || !matches(&spec["selector"], labels) {
        let detail = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid("spec.template.metadata.labels", labels.clone(), detail));
    }
    if spec["selector"].is_object() && is_empty_selector(&spec["selector"]) {
        let detail = "empty selector is invalid for daemonset";
        errors.push(internal::invalid("spec.selector", "v1.LabelSelector", &spec["selector"], detail));
    }
    errors.extend(podspec::template(&spec["template"], "spec.template"));
    errors.extend(restarting(spec, "DaemonSet"));
    errors.extend(nonnegative(&spec["minReadySeconds"], "spec.minReadySeconds"));
    errors.extend(daemon_strategy(&spec["updateStrategy"]));
    errors.extend(nonnegative(&spec["revisionHistoryLimit"], "spec.revisionHistoryLimit"));
    errors
}

fn daemon_strategy(strategy: &Value) -> Vec<FieldError> {
    let (path, update) = ("spec.updateStrategy.rollingUpdate", &strategy["rollingUpdate"]);
    match text(strategy, "/type") {
        "OnDelete" => Vec::new(),
        "RollingUpdate" => {
            let (unavailable, surge) = (&update["maxUnavailable"], &update["maxSurge"]);
            let mut errors = nonnegative_int_or_percent(unavailable, &format!("{path}.maxUnavailable"));
            errors.extend(nonnegative_int_or_percent(surge, &format!("{path}.maxSurge")));
            errors.extend(at_most_hundred_percent(unavailable, &format!("{path}.maxUnavailable")));
            errors.extend(at_most_hundred_percent(surge, &format!("{path}.maxSurge")));
            match (is_zero(unavailable), is_zero(surge)) {
                (false, false) => {
                    let detail = "may not be set when maxUnavailable is non-zero";
                    errors.push(FieldError::invalid(format!("{path}.maxSurge"), surge.clone(), detail));
                }
                (true, true) => {
                    let detail = "cannot be 0 when maxSurge is 0";
                    errors.push(FieldError::required(format!("{path}.maxUnavailable"), detail));
                }
                _ => {}
            }
            errors
        }
        _ => {
            let known = ["RollingUpdate", "OnDelete"];
            vec![internal::not_supported("spec.updateStrategy", "apps.DaemonSetUpdateStrategy", strategy, &known)]
        }
    }
}

/// Validates an update of a DaemonSet.
pub(super) fn daemon_set_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors: Vec<FieldError> = fixed_selector(new, old).into_iter().collect();
    errors.extend(daemon_set(new));
    errors
}
