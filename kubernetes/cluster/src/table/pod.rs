//! Cells of Pods.

use jiff::Timestamp;
use serde_json::json;
use switchboard_object::Value;

use super::age;
use super::cells::{age as object_age, boolean, condition, is_deleting, list, name, number, text, text_or};

/// Totals of the container statuses.
#[derive(Default)]
struct ContainerCounts {
    reason: String,
    ready: usize,
    restarts: i64,
    last_restart: Option<Value>,
}

/// Returns the cells of a Pod and the conditions of its row.
pub(super) fn cells(pod: &Value, now: Timestamp) -> (Vec<Value>, Option<Value>) {
    let init = list(pod, "/spec/initContainers");
    let total = list(pod, "/spec/containers").len() + init.iter().filter(|c| restartable(c)).count();
    let tally = tally(pod);
    let restarts = match &tally.last_restart {
        Some(date) if tally.restarts != 0 => format!("{} ({} ago)", tally.restarts, age::since(date, now)),
        _ => tally.restarts.to_string(),
    };
    let all = vec![
        name(pod).into(),
        format!("{}/{total}", tally.ready).into(),
        tally.reason.into(),
        restarts.into(),
        object_age(pod, now).into(),
        text_or(pod, "/status/podIPs/0/ip", "<none>").into(),
        text_or(pod, "/spec/nodeName", "<none>").into(),
        text_or(pod, "/status/nominatedNodeName", "<none>").into(),
        readiness_gates(pod).into(),
    ];
    (all, row_conditions(pod))
}

fn row_conditions(pod: &Value) -> Option<Value> {
    let (reason, message) = match text(pod, "/status/phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

fn tally(pod: &Value) -> ContainerCounts {
    let phase = text(pod, "/status/phase");
    let mut tally =
        ContainerCounts { reason: text_or(pod, "/status/reason", phase).into(), ..ContainerCounts::default() };
    let gated =
        list(pod, "/status/conditions").iter().any(|c| c["type"] == "PodScheduled" && c["reason"] == "SchedulingGated");
    if gated {
        tally.reason = "SchedulingGated".into();
    }
    let (initializing, kept) = count_init(pod, &mut tally);
    if !initializing || condition(pod, "Initialized") == "True" {
        (tally.restarts, tally.last_restart) = kept;
        count_containers(pod, &mut tally);
    }
    if is_deleting(pod) && text(pod, "/status/reason") == "NodeLost" {
        tally.reason = "Unknown".into();
    } else if is_deleting(pod) && !matches!(phase, "Succeeded" | "Failed") {
        tally.reason = "Terminating".into();
    }
    tally
}

/// Counts the init containers. Returns whether one is still running, and the restarts of restartable ones.
fn count_init(pod: &Value, tally: &mut ContainerCounts) -> (bool, (i64, Option<Value>)) {
    let specs = list(pod, "/spec/initContainers");
    let mut kept = (0, None);
    for (at, status) in list(pod, "/status/initContainerStatuses").iter().enumerate() {
        let keeps_running = specs.iter().any(|c| c["name"] == status["name"] && restartable(c));
        count_restarts(status, &mut tally.restarts, &mut tally.last_restart);
        if keeps_running {
            count_restarts(status, &mut kept.0, &mut kept.1);
        }
        let terminated = status.pointer("/state/terminated");
        if terminated.is_some_and(|t| number(t, "/exitCode") == 0) {
            continue;
        }
        if keeps_running && boolean(status, "/started", false) {
            tally.ready += usize::from(boolean(status, "/ready", false));
            continue;
        }
        let waiting = text(status, "/state/waiting/reason");
        tally.reason = match terminated {
            Some(terminated) => format!("Init:{}", ending(terminated)),
            None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
            None => format!("Init:{at}/{}", specs.len()),
        };
        return (true, kept);
    }
    (false, kept)
}

fn count_containers(pod: &Value, tally: &mut ContainerCounts) {
    let (mut running, mut failure) = (false, String::new());
    for status in list(pod, "/status/containerStatuses").iter().rev() {
        count_restarts(status, &mut tally.restarts, &mut tally.last_restart);
        let waiting = text(status, "/state/waiting/reason");
        if !waiting.is_empty() {
            tally.reason = waiting.into();
        } else if let Some(terminated) = status.pointer("/state/terminated") {
            tally.reason = ending(terminated);
            if number(terminated, "/exitCode") != 0 {
                failure = tally.reason.clone();
            }
        } else if boolean(status, "/ready", false) && status.pointer("/state/running").is_some() {
            running = true;
            tally.ready += 1;
        }
    }
    if tally.reason == "Completed" {
        if running && condition(pod, "Ready") == "True" {
            tally.reason = "Running".into();
        } else if !failure.is_empty() {
            tally.reason = failure;
        } else if running {
            tally.reason = "NotReady".into();
        }
    }
}

/// Describes the end of a container: its reason, signal or exit code.
fn ending(terminated: &Value) -> String {
    match (text(terminated, "/reason"), number(terminated, "/signal")) {
        ("", 0) => format!("ExitCode:{}", number(terminated, "/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.into(),
    }
}

fn count_restarts(status: &Value, restarts: &mut i64, last: &mut Option<Value>) {
    *restarts += number(status, "/restartCount");
    let finished = status.pointer("/lastState/terminated/finishedAt");
    // Times are RFC 3339 in one zone, so they compare as text.
    if let Some(date) = finished.filter(|d| last.as_ref().and_then(Value::as_str) < d.as_str()) {
        *last = Some(date.clone());
    }
}

fn restartable(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(pod, "/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".into();
    }
    let passed = gates.iter().filter(|g| condition(pod, text(g, "/conditionType")) == "True").count();
    format!("{passed}/{}", gates.len())
}
