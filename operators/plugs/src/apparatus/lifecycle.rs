//! The life of an apparatus' pod: what is to be done now, from the spec, the pod and the time.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::pod::{IDLE_ANNOTATION, SPEC_HASH_ANNOTATION, spec_hash};
use super::{Apparatus, CallAnswer};

/// `idleTimeout` when absent.
pub const DEFAULT_IDLE_SECONDS: u64 = 60;
/// How long a pod may take until it answers, unless `startupTimeout` says otherwise.
pub const STARTUP_DEADLINE: Duration = Duration::from_secs(300);
/// The wait between two pings of a pod that does not answer yet.
pub const PING_EVERY: Duration = Duration::from_secs(2);
/// How long after it was made a pod that ended is replaced at the earliest.
pub const REPLACE_AFTER: Duration = Duration::from_secs(10);
/// A deadline is written later than it must be by the idle time, or by this if that is more, so that not every call writes one.
const LEAST_SLACK: Duration = Duration::from_secs(5);

/// What is to be done with a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodStep {
    /// There is none, and none is needed.
    Absent,
    /// Make it, and its service.
    Start,
    /// It exists and may be running: ping it, and call it when it answers. If it does not, look again after [`PING_EVERY`].
    Ping,
    /// It is not running yet; wait for its status to change, until the time at the latest.
    Wait {
        /// When it is given up.
        until: Timestamp,
        /// What it waits for.
        why: String,
    },
    /// Remove it and make another: it failed, it never came up, or its spec is another now.
    Replace {
        /// Why, for the condition.
        why: String,
    },
    /// Remove it: nobody has called it for its idle time, or nobody ever will.
    Stop,
    /// It runs and nobody calls it: look again at its deadline.
    Idle {
        /// The deadline.
        until: Timestamp,
    },
}

/// Whether and how the deadline moves with a call.
pub type DeadlineRenewal = Option<Timestamp>;

/// What is to be done with the pod of an apparatus.
///
/// `needed` is whether a call is to be made now.
pub fn decide(apparatus: &Apparatus<'_>, pod: Option<&Value>, needed: bool, now: Timestamp) -> PodStep {
    let Some(pod) = pod else { return if needed { PodStep::Start } else { PodStep::Absent } };
    let created = time(pod, "/metadata/creationTimestamp").unwrap_or(now);
    let startup_until = after(created, startup(apparatus));
    if pod.pointer("/metadata/deletionTimestamp").is_some() {
        let until = after(now, startup(apparatus));
        return if needed {
            PodStep::Wait { until, why: "the pod before it is ending".to_string() }
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
        // One that ends as soon as it is started would be started without a pause.
        let until = after(created, REPLACE_AFTER);
        return if now < until { PodStep::Wait { until, why } } else { PodStep::Replace { why } };
    }
    match phase(pod) {
        "Running" => PodStep::Ping,
        _ if now >= startup_until => PodStep::Replace {
            why: format!("it did not come up within {} s: {}", startup(apparatus).as_secs(), waiting_for(pod)),
        },
        _ => PodStep::Wait { until: startup_until, why: waiting_for(pod) },
    }
}

/// What is to be done when a ping was not answered. While it starts it is given time; after that, one where nobody listens is
/// replaced. One that listens and is slow is left alone: to end it would end what it is doing.
pub fn step_after_failed_ping(apparatus: &Apparatus<'_>, pod: &Value, answer: &CallAnswer, now: Timestamp) -> PodStep {
    let started = time(pod, "/status/startTime").or_else(|| time(pod, "/metadata/creationTimestamp")).unwrap_or(now);
    let until = after(started, startup(apparatus));
    let why = match answer {
        CallAnswer::Status(status) => format!("/ping answers with status {status}"),
        CallAnswer::NotRunning(why) | CallAnswer::Broken(why) => format!("/ping is not answered: {why}"),
        CallAnswer::TimedOut => "/ping is not answered in time".to_string(),
        CallAnswer::Busy => "another call to it is not answered yet".to_string(),
    };
    if now < until {
        return PodStep::Wait { until: after(now, PING_EVERY).min(until), why };
    }
    match answer {
        CallAnswer::NotRunning(_) => PodStep::Replace { why },
        _ => PodStep::Wait { until: after(now, PING_EVERY), why },
    }
}

/// The deadline to write after a call now.
pub fn deadline_after(apparatus: &Apparatus<'_>, now: Timestamp) -> Timestamp {
    let idle = idle(apparatus);
    after(now, idle.saturating_add(idle.max(LEAST_SLACK)))
}

/// The new deadline, when a call now must move it: the pod stays for its whole idle time after a call.
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

/// Why a pod will never answer.
fn end_reason(pod: &Value) -> Option<String> {
    let phase = phase(pod);
    if !matches!(phase, "Failed" | "Succeeded") {
        return None;
    }
    let word = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str);
    let reason = word("/status/reason").or_else(|| terminated(pod)).unwrap_or("it ended");
    Some(format!("{END_PREFIX}{phase}: {}", word("/status/message").unwrap_or(reason)))
}

/// How a pod that ended is told of.
const END_PREFIX: &str = "the pod is ";

/// What is waited for, with the end of the program before it for as long as no other has answered: one that ends as soon as it is
/// started would else be seen to start, again and again. `said` is what was told in the run before.
pub fn with_last_end(why: String, said: &str) -> String {
    let ended = ["Failed: ", "Succeeded: "].map(|phase| format!("{END_PREFIX}{phase}"));
    match ended.iter().find_map(|ended| said.find(ended.as_str())).map(|at| &said[at..]) {
        Some(end) if !ended.iter().any(|ended| why.contains(ended)) => format!("{why}; of the one before it, {end}"),
        _ => why,
    }
}

fn terminated(pod: &Value) -> Option<&str> {
    statuses(pod).find_map(|status| status.pointer("/state/terminated/reason")?.as_str())
}

fn statuses(pod: &Value) -> impl Iterator<Item = &Value> {
    pod.pointer("/status/containerStatuses").and_then(Value::as_array).into_iter().flatten()
}

/// What a pod that does not run waits for, in the words of its status.
fn waiting_for(pod: &Value) -> String {
    let waiting = statuses(pod).find_map(|status| status.pointer("/state/waiting/reason")?.as_str());
    let unscheduled = pod.pointer("/status/conditions").and_then(Value::as_array).and_then(|all| {
        let one = all.iter().find(|one| one["type"] == "PodScheduled" && one["status"] == "False")?;
        one["message"].as_str().or_else(|| one["reason"].as_str())
    });
    waiting.or(unscheduled).map_or_else(|| "the pod is Pending".to_string(), str::to_string)
}
