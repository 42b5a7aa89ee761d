//! Lifecycle of an apparatus' pod: the next step, from the spec, the pod and the time.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::pod::{IDLE_ANNOTATION, SPEC_HASH_ANNOTATION, spec_hash};
use super::{Apparatus, CallAnswer};

/// Default of `idleTimeout` in seconds.
pub const DEFAULT_IDLE_SECONDS: u64 = 60;
/// Default of `startupTimeout`: maximum time until a pod answers.
pub const STARTUP_DEADLINE: Duration = Duration::from_secs(300);
/// Interval between pings of a pod that does not answer yet.
pub const PING_EVERY: Duration = Duration::from_secs(2);
/// Minimum age of a terminated pod before it is replaced.
pub const REPLACE_AFTER: Duration = Duration::from_secs(10);
/// Minimum extension of a deadline beyond the idle timeout, so that not every call writes a new deadline. Usually the
/// extension is the idle timeout itself.
const LEAST_SLACK: Duration = Duration::from_secs(5);

/// Next step for a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodStep {
    /// The pod does not exist and is not needed.
    Absent,
    /// Create the pod and its Service.
    Start,
    /// The pod exists and may be running: ping it, and call it if it answers. Otherwise retry after [`PING_EVERY`].
    Ping,
    /// The pod is not running yet: wait for its status to change.
    Wait {
        /// Time at which the wait ends.
        until: Timestamp,
        /// Reason for the wait.
        why: String,
    },
    /// Delete and recreate the pod: it failed, did not start in time, or its spec has changed.
    Replace {
        /// Reason, for the condition.
        why: String,
    },
    /// Delete the pod: it was idle for too long, or will not be called again.
    Stop,
    /// The pod runs and is not called: requeue at the deadline.
    Idle {
        /// Idle deadline.
        until: Timestamp,
    },
}

/// New deadline, or `None` if the current one is late enough.
pub type DeadlineRenewal = Option<Timestamp>;

/// Returns the next step for the pod of an apparatus.
///
/// `needed` states whether a call is due now.
pub fn decide(apparatus: &Apparatus<'_>, pod: Option<&Value>, needed: bool, now: Timestamp) -> PodStep {
    let Some(pod) = pod else { return if needed { PodStep::Start } else { PodStep::Absent } };
    let created = time(pod, "/metadata/creationTimestamp").unwrap_or(now);
    let startup_until = after(created, startup(apparatus));
    if pod.pointer("/metadata/deletionTimestamp").is_some() {
        let until = after(now, startup(apparatus));
        return if needed {
            PodStep::Wait { until, why: "the previous pod is terminating".to_string() }
        } else {
            PodStep::Absent
        };
    }
    if !needed {
        let until = time_in(pod, IDLE_ANNOTATION).unwrap_or_else(|| after(created, idle(apparatus)));
        let useless = is_outdated(apparatus, pod) || end_reason(pod).is_some();
        return if useless || until <= now { PodStep::Stop } else { PodStep::Idle { until } };
    }
    if is_outdated(apparatus, pod) {
        return PodStep::Replace { why: "its spec has changed".to_string() };
    }
    if let Some(why) = end_reason(pod) {
        // A pod that terminates right after its start would otherwise be recreated without a pause.
        let until = after(created, REPLACE_AFTER);
        return if now < until { PodStep::Wait { until, why } } else { PodStep::Replace { why } };
    }
    match phase(pod) {
        "Running" => PodStep::Ping,
        _ if now >= startup_until => PodStep::Replace {
            why: format!("it did not start within {} s: {}", startup(apparatus).as_secs(), waiting_for(pod)),
        },
        _ => PodStep::Wait { until: startup_until, why: waiting_for(pod) },
    }
}

/// Returns the next step after a failed ping. During startup, the pod gets more time. Afterwards, a pod that refuses
/// connections is replaced. A pod that accepts connections but is slow is kept, because a restart would lose its work.
pub fn step_after_failed_ping(apparatus: &Apparatus<'_>, pod: &Value, answer: &CallAnswer, now: Timestamp) -> PodStep {
    let started = time(pod, "/status/startTime").or_else(|| time(pod, "/metadata/creationTimestamp")).unwrap_or(now);
    let until = after(started, startup(apparatus));
    let why = match answer {
        CallAnswer::Status(status) => format!("/ping answers with status {status}"),
        CallAnswer::NotRunning(why) | CallAnswer::Broken(why) => format!("no answer to /ping: {why}"),
        CallAnswer::TimedOut => "no answer to /ping in time".to_string(),
        CallAnswer::Busy => "another call is in progress".to_string(),
    };
    if now < until {
        return PodStep::Wait { until: after(now, PING_EVERY).min(until), why };
    }
    match answer {
        CallAnswer::NotRunning(_) => PodStep::Replace { why },
        _ => PodStep::Wait { until: after(now, PING_EVERY), why },
    }
}

/// Returns the deadline to write after a call at `now`.
pub fn deadline_after(apparatus: &Apparatus<'_>, now: Timestamp) -> Timestamp {
    let idle = idle(apparatus);
    after(now, idle.saturating_add(idle.max(LEAST_SLACK)))
}

/// Returns a new deadline if a call at `now` needs one: the pod must stay for its whole idle timeout after a call.
pub fn renewed_deadline(apparatus: &Apparatus<'_>, pod: &Value, now: Timestamp) -> DeadlineRenewal {
    let stays = time_in(pod, IDLE_ANNOTATION).is_some_and(|until| until >= after(now, idle(apparatus)));
    (!stays).then(|| deadline_after(apparatus, now))
}

fn idle(apparatus: &Apparatus<'_>) -> Duration {
    Duration::from_secs(apparatus.spec["idleTimeout"].as_u64().unwrap_or(DEFAULT_IDLE_SECONDS))
}

fn startup(apparatus: &Apparatus<'_>) -> Duration {
    apparatus.spec["startupTimeout"].as_u64().map_or(STARTUP_DEADLINE, Duration::from_secs)
}

fn after(time: Timestamp, wait: Duration) -> Timestamp {
    SignedDuration::try_from(wait).ok().and_then(|wait| time.checked_add(wait).ok()).unwrap_or(Timestamp::MAX)
}

fn time(pod: &Value, pointer: &str) -> Option<Timestamp> {
    pod.pointer(pointer)?.as_str()?.parse().ok()
}

fn time_in(pod: &Value, annotation: &str) -> Option<Timestamp> {
    pod.pointer("/metadata/annotations")?.get(annotation)?.as_str()?.parse().ok()
}

fn is_outdated(apparatus: &Apparatus<'_>, pod: &Value) -> bool {
    let made_of = pod.pointer("/metadata/annotations").and_then(|all| all.get(SPEC_HASH_ANNOTATION)?.as_str());
    made_of != Some(spec_hash(apparatus).as_str())
}

fn phase(pod: &Value) -> &str {
    pod.pointer("/status/phase").and_then(Value::as_str).unwrap_or("Pending")
}

/// Returns the reason why a pod will never answer.
fn end_reason(pod: &Value) -> Option<String> {
    let phase = phase(pod);
    if !matches!(phase, "Failed" | "Succeeded") {
        return None;
    }
    let word = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str);
    let reason = word("/status/reason").or_else(|| terminated(pod)).unwrap_or("it ended");
    Some(format!("{END_PREFIX}{phase}: {}", word("/status/message").unwrap_or(reason)))
}

/// Prefix of messages about a terminated pod.
const END_PREFIX: &str = "the pod is ";

/// Adds the termination message of the previous pod to a wait reason, until a new pod has answered. Otherwise the
/// status of a program that crashes on every start would only show that it starts. `said` is the message of the
/// previous run.
pub fn with_last_end(why: String, said: &str) -> String {
    let ended = ["Failed: ", "Succeeded: "].map(|phase| format!("{END_PREFIX}{phase}"));
    match ended.iter().find_map(|ended| said.find(ended.as_str())).map(|at| &said[at..]) {
        Some(end) if !ended.iter().any(|ended| why.contains(ended)) => format!("{why}; previous run: {end}"),
        _ => why,
    }
}

fn terminated(pod: &Value) -> Option<&str> {
    statuses(pod).find_map(|status| status.pointer("/state/terminated/reason")?.as_str())
}

fn statuses(pod: &Value) -> impl Iterator<Item = &Value> {
    pod.pointer("/status/containerStatuses").and_then(Value::as_array).into_iter().flatten()
}

/// Returns the reason why a pod does not run, from its status.
fn waiting_for(pod: &Value) -> String {
    let waiting = statuses(pod).find_map(|status| status.pointer("/state/waiting/reason")?.as_str());
    let unscheduled = pod.pointer("/status/conditions").and_then(Value::as_array).and_then(|all| {
        let one = all.iter().find(|one| one["type"] == "PodScheduled" && one["status"] == "False")?;
        one["message"].as_str().or_else(|| one["reason"].as_str())
    });
    waiting.or(unscheduled).map_or_else(|| "the pod is Pending".to_string(), str::to_string)
}
