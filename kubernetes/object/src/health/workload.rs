//! Health of kinds that run pods. On a cluster without kubelets they stay `Progressing`.

use serde_json::Value;

use super::{HealthCode, ObjectHealth, annotation, list, text};
use crate::quote::quote;

fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

fn optional(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    list(object, "/status/conditions").find(|one| one["type"] == kind)
}

fn is_observed(object: &Value) -> bool {
    number(object, "/metadata/generation") <= number(object, "/status/observedGeneration")
}

pub(super) fn deployment(live: &Value) -> ObjectHealth {
    if live["spec"]["paused"] == true {
        return ObjectHealth::new(HealthCode::Suspended, "Deployment is paused");
    }
    if !is_observed(live) {
        let message = "Waiting for rollout to finish: observed deployment generation less than desired generation";
        return ObjectHealth::new(HealthCode::Progressing, message);
    }
    if condition(live, "Progressing").is_some_and(|one| one["reason"] == "ProgressDeadlineExceeded") {
        let message = format!("Deployment {} exceeded its progress deadline", quote(text(live, "/metadata/name")));
        return ObjectHealth::new(HealthCode::Degraded, message);
    }
    let updated = number(live, "/status/updatedReplicas");
    let (replicas, available) = (number(live, "/status/replicas"), number(live, "/status/availableReplicas"));
    let waiting = match optional(live, "/spec/replicas") {
        Some(wanted) if updated < wanted => format!("{updated} out of {wanted} new replicas have been updated..."),
        _ if replicas > updated => format!("{} old replicas are pending termination...", replicas - updated),
        _ if available < updated => format!("{available} of {updated} updated replicas are available..."),
        _ => return ObjectHealth::new(HealthCode::Healthy, ""),
    };
    ObjectHealth::new(HealthCode::Progressing, format!("Waiting for rollout to finish: {waiting}"))
}

pub(super) fn stateful_set(live: &Value) -> ObjectHealth {
    let observed = number(live, "/status/observedGeneration");
    if observed == 0 || number(live, "/metadata/generation") > observed {
        return ObjectHealth::new(HealthCode::Progressing, "Waiting for statefulset spec update to be observed...");
    }
    let (wanted, ready) = (optional(live, "/spec/replicas"), number(live, "/status/readyReplicas"));
    if let Some(wanted) = wanted.filter(|wanted| ready < *wanted) {
        return ObjectHealth::new(
            HealthCode::Progressing,
            format!("Waiting for {} pods to be ready...", wanted - ready),
        );
    }
    let updated = number(live, "/status/updatedReplicas");
    let strategy = text(live, "/spec/updateStrategy/type");
    if strategy == "RollingUpdate" && live["spec"]["updateStrategy"]["rollingUpdate"].is_object() {
        let partition = optional(live, "/spec/updateStrategy/rollingUpdate/partition");
        if let (Some(wanted), Some(partition)) = (wanted, partition)
            && updated < wanted - partition
        {
            let rest = format!("{updated} out of {} new pods have been updated...", wanted - partition);
            return ObjectHealth::new(
                HealthCode::Progressing,
                format!("Waiting for partitioned roll out to finish: {rest}"),
            );
        }
        return ObjectHealth::new(
            HealthCode::Healthy,
            format!("partitioned roll out complete: {updated} new pods have been updated..."),
        );
    }
    if strategy == "OnDelete" {
        return ObjectHealth::new(HealthCode::Healthy, format!("statefulset has {ready} ready pods"));
    }
    let (current, update) = (text(live, "/status/currentRevision"), text(live, "/status/updateRevision"));
    if current != update {
        let rest = format!("{updated} pods at revision {update}...");
        return ObjectHealth::new(
            HealthCode::Progressing,
            format!("waiting for statefulset rolling update to complete {rest}"),
        );
    }
    let pods = number(live, "/status/currentReplicas");
    ObjectHealth::new(
        HealthCode::Healthy,
        format!("statefulset rolling update complete {pods} pods at revision {current}..."),
    )
}

pub(super) fn replica_set(live: &Value) -> ObjectHealth {
    if !is_observed(live) {
        let message = "Waiting for rollout to finish: observed replica set generation less than desired generation";
        return ObjectHealth::new(HealthCode::Progressing, message);
    }
    if let Some(failed) = condition(live, "ReplicaFailure").filter(|one| one["status"] == "True") {
        return ObjectHealth::new(HealthCode::Degraded, text(failed, "/message"));
    }
    let available = number(live, "/status/availableReplicas");
    match optional(live, "/spec/replicas").filter(|wanted| available < *wanted) {
        Some(wanted) => {
            let rest = format!("{available} out of {wanted} new replicas are available...");
            ObjectHealth::new(HealthCode::Progressing, format!("Waiting for rollout to finish: {rest}"))
        }
        None => ObjectHealth::new(HealthCode::Healthy, ""),
    }
}

pub(super) fn daemon_set(live: &Value) -> ObjectHealth {
    if !is_observed(live) {
        let message = "Waiting for rollout to finish: observed daemon set generation less than desired generation";
        return ObjectHealth::new(HealthCode::Progressing, message);
    }
    let (name, wanted) = (text(live, "/metadata/name"), number(live, "/status/desiredNumberScheduled"));
    let (updated, available) =
        (number(live, "/status/updatedNumberScheduled"), number(live, "/status/numberAvailable"));
    if text(live, "/spec/updateStrategy/type") == "OnDelete" {
        return ObjectHealth::new(
            HealthCode::Healthy,
            format!("daemon set {updated} out of {wanted} new pods have been updated"),
        );
    }
    let waiting = if updated < wanted {
        format!("{updated} out of {wanted} new pods have been updated...")
    } else if available < wanted {
        format!("{available} of {wanted} updated pods are available...")
    } else {
        return ObjectHealth::new(HealthCode::Healthy, "");
    };
    ObjectHealth::new(
        HealthCode::Progressing,
        format!("Waiting for daemon set {} rollout to finish: {waiting}", quote(name)),
    )
}

pub(super) fn job(live: &Value) -> ObjectHealth {
    let (mut failed, mut complete, mut suspended) = (None, None, false);
    for one in list(live, "/status/conditions") {
        let message = text(one, "/message").to_string();
        match text(one, "/type") {
            "Failed" => failed = Some(message),
            "Complete" => complete = Some(message),
            "Suspended" => {
                complete = Some(message);
                suspended |= one["status"] == "True";
            }
            _ => {}
        }
    }
    match (failed, complete) {
        (Some(message), _) => ObjectHealth::new(HealthCode::Degraded, message),
        (None, None) => ObjectHealth::new(HealthCode::Progressing, ""),
        (None, Some(message)) => {
            ObjectHealth::new(if suspended { HealthCode::Suspended } else { HealthCode::Healthy }, message)
        }
    }
}

pub(super) fn pod(live: &Value) -> ObjectHealth {
    let policy = text(live, "/spec/restartPolicy");
    let is_hook = !annotation(live, "argocd.argoproj.io/hook").is_empty();
    let long_running =
        policy == "Always" || (annotation(live, "argocd.argoproj.io/ignore-restart-policy") == "true" && !is_hook);
    let stuck = |container: &&Value| {
        let reason = text(container, "/state/waiting/reason");
        reason.starts_with("Err") || reason.ends_with("Error") || reason.ends_with("BackOff")
    };
    let stuck: Vec<&str> =
        list(live, "/status/containerStatuses").filter(stuck).map(|one| text(one, "/state/waiting/message")).collect();
    if long_running && !stuck.is_empty() {
        return ObjectHealth::new(HealthCode::Degraded, stuck.join(", "));
    }
    let message = text(live, "/status/message");
    let code = match text(live, "/status/phase") {
        "Pending" => HealthCode::Progressing,
        "Succeeded" => HealthCode::Healthy,
        "Failed" if message.is_empty() => return ObjectHealth::new(HealthCode::Degraded, failure(live)),
        "Failed" => HealthCode::Degraded,
        "Running" if long_running => running(live),
        "Running" if matches!(policy, "OnFailure" | "Never") => HealthCode::Progressing,
        _ => HealthCode::Unknown,
    };
    ObjectHealth::new(code, message)
}

fn running(pod: &Value) -> HealthCode {
    if condition(pod, "Ready").is_some_and(|one| one["status"] == "True") {
        return HealthCode::Healthy;
    }
    let ended = |one: &Value| one.pointer("/lastState/terminated").is_some_and(Value::is_object);
    if list(pod, "/status/containerStatuses").any(ended) { HealthCode::Degraded } else { HealthCode::Progressing }
}

fn failure(pod: &Value) -> String {
    let containers = list(pod, "/status/initContainerStatuses").chain(list(pod, "/status/containerStatuses"));
    for one in containers {
        let (message, reason) = (text(one, "/state/terminated/message"), text(one, "/state/terminated/reason"));
        let code = number(one, "/state/terminated/exitCode");
        if !message.is_empty() {
            return message.to_string();
        }
        if reason == "OOMKilled" {
            return reason.to_string();
        }
        if code != 0 {
            return format!("container {} failed with exit code {code}", quote(text(one, "/name")));
        }
    }
    String::new()
}
