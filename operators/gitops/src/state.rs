//! State of GitOps resources for users: one of five labels, a reason, and the health.
//!
//! The command line and the console both show what these functions return, so they never disagree.

mod error_class;

use std::fmt;

use serde_json::Value;

pub use self::error_class::{ErrorClass, root_cause};

use self::StateLabel::{Blocked, Failing, Ready, Waiting, Working};
use crate::environment::kind::{CONDITION, EnvironmentReason};

/// Maximum number of failed objects in a reason.
const MAX_REFUSED: usize = 3;

/// Label of a state, the same as those of operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateLabel {
    /// The resource is in the requested state.
    Ready,
    /// The service or Argo CD is working on it.
    Working,
    /// Something else must happen first; no action is needed.
    Waiting,
    /// A user must act.
    Blocked,
    /// An error occurred that may end by itself.
    Failing,
}

impl fmt::Display for StateLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// State of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceState {
    /// Label.
    pub label: StateLabel,
    /// Reason for the state; may be empty.
    pub reason: String,
}

fn state(label: StateLabel, reason: impl Into<String>) -> ResourceState {
    ResourceState { label, reason: reason.into() }
}

/// Returns the state of a GitOpsDeployment or of an Argo CD Application.
pub fn application_state(object: &Value) -> ResourceState {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if !text("/metadata/deletionTimestamp").is_empty() {
        return state(Working, "being deleted");
    }
    if let Some((label, message)) = error(object) {
        return state(label, message);
    }
    let (sync, health) = (text("/status/sync/status"), text("/status/health/status"));
    if is_behind(object) {
        return state(Working, "Argo CD has not compared the change yet");
    }
    if sync != "Synced"
        && let Some((_, message)) = failed_sync(object)
    {
        return state(Failing, message);
    }
    let manual = is_manual(object);
    match (sync, health) {
        ("", _) => state(Waiting, "for the first comparison by Argo CD"),
        ("Synced", "Healthy") => state(Ready, ""),
        (_, "Degraded") => {
            state(Failing, or_default_text(text("/status/health/message"), "the deployed resources are not healthy"))
        }
        (_, "Suspended") => {
            state(Blocked, or_default_text(text("/status/health/message"), "a deployed resource is suspended"))
        }
        ("OutOfSync", _) if manual => state(Waiting, "for a sync: `switchboard gitops sync`"),
        ("OutOfSync", _) => state(Working, "the deployed resources do not match the repository yet"),
        ("Unknown", _) => state(Failing, "Argo CD could not compare"),
        (_, "Missing") => state(Working, "some resources do not exist yet"),
        (_, "Progressing") => state(
            Working,
            or_default_text(text("/status/health/message"), "the deployed resources are becoming healthy"),
        ),
        (sync, health) => state(Waiting, format!("for Argo CD: {sync} {health}").trim_end().to_string()),
    }
}

/// Whether an application is synced only on request.
pub fn is_manual(object: &Value) -> bool {
    match object.pointer("/spec/type").and_then(Value::as_str) {
        Some(mode) => mode.eq_ignore_ascii_case("manual"),
        // An Application of Argo CD has a policy instead.
        None => {
            let automated = &object["spec"]["syncPolicy"]["automated"];
            !automated.is_object() || automated["enabled"] == false
        }
    }
}

/// Returns the health of an application; empty if it is not known yet. Argo CD reports an application without objects as
/// healthy, also if they could not be rendered. Its health is unknown.
pub fn application_health(object: &Value) -> &str {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let has_objects = object.pointer("/status/resources").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let is_rendered = text("/status/sync/status") != "Unknown" || has_objects;
    match text("/status/health/status") {
        "Healthy" if !is_rendered => "Unknown",
        health => health,
    }
}

/// Whether the reported status belongs to another spec: Argo CD compared a different source or destination. False if
/// Argo CD never compared the application.
pub fn is_behind(object: &Value) -> bool {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if text("/status/reconciledState/source/repoURL").is_empty() {
        return false;
    }
    let same = |expected: &str, found: &str| text(expected) == text(&format!("/status/reconciledState/{found}"));
    let namespace = Some(text("/spec/destination/namespace")).filter(|namespace| !namespace.is_empty());
    !(same("/spec/source/repoURL", "source/repoURL")
        && same("/spec/source/path", "source/path")
        && same("/spec/source/targetRevision", "source/branch")
        && same("/spec/destination/environment", "destination/name")
        && namespace.unwrap_or(text("/metadata/namespace")) == text("/status/reconciledState/destination/namespace"))
}

/// Returns the state of an environment.
pub fn environment_state(object: &Value) -> ResourceState {
    let Some((status, message)) = condition(object, CONDITION) else {
        return state(Waiting, "for the check of the cluster");
    };
    // An unreachable cluster or a refused request may succeed later. Without a known reason, the status decides.
    let is_of_cluster = reason(object, CONDITION).map_or(status != "False", EnvironmentReason::is_from_cluster);
    match status {
        "True" => state(Ready, ""),
        _ if is_of_cluster && !message.is_empty() => state(Failing, with_trust_advice(message)),
        _ if is_of_cluster => state(Waiting, "for the check of the cluster"),
        _ => state(Blocked, message),
    }
}

/// Returns the state of a repository credential.
pub fn repository_state(object: &Value) -> ResourceState {
    // The git server did not answer, so the existence of the repository is unknown; a retry may succeed.
    let is_unknown = matches!(condition(object, "ValidRepositoryURL"), Some(("Unknown", _)));
    match condition(object, "ErrorOccurred") {
        Some(("True", message)) if is_unknown => state(Failing, message),
        Some(("True", message)) => state(Blocked, message),
        Some(("False", _)) => state(Ready, ""),
        _ => state(Waiting, "for the check of the repository"),
    }
}

/// Returns the state of a sync run.
pub fn sync_run_state(object: &Value) -> ResourceState {
    match condition(object, "ErrorOccurred") {
        Some(("True", message)) => state(Failing, message),
        Some(("False", _)) => state(Ready, ""),
        _ => state(Working, "the sync is running"),
    }
}

/// Adds advice to an error about an untrusted certificate.
fn with_trust_advice(message: String) -> String {
    let words =
        ["UnknownIssuer", "invalid peer certificate", "self-signed certificate", "self signed certificate", "x509:"];
    if !words.iter().any(|word| message.contains(word)) {
        return message;
    }
    format!(
        "{message} (add the cluster's CA to its kubeconfig as `certificate-authority-data`, or skip the verification with --insecure-skip-tls-verify)"
    )
}

/// Returns whether Argo CD retries a failed sync by itself, and the error with the messages of single objects. `None`
/// if the last sync succeeded, is running, or was of another commit.
pub fn failed_sync(object: &Value) -> Option<(bool, String)> {
    let last = object.pointer("/status/operationState")?;
    let text = |pointer: &str| last.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let now = object.pointer("/status/sync/revision").and_then(Value::as_str).unwrap_or_default();
    let of = text("/syncResult/revision");
    if !of.is_empty() && !now.is_empty() && of != now {
        return None;
    }
    // Between two retries the operation is running but has a finish time.
    let again = match text("/phase") {
        "Failed" | "Error" => false,
        "Running" if !text("/finishedAt").is_empty() => true,
        _ => return None,
    };
    let mut state_text = or_default_text(text("/message"), "the last sync failed");
    let mut others = failed_objects(last).filter(|(_, message)| !text("/message").contains(message));
    for (name, message) in others.by_ref().take(MAX_REFUSED) {
        state_text.push_str(&format!("; {name}: {message}"));
    }
    if others.next().is_some() {
        state_text.push_str("; and others");
    }
    Some((again, state_text))
}

/// Returns the objects that a sync could not apply, with their messages.
fn failed_objects(operation: &Value) -> impl Iterator<Item = (String, &str)> {
    let all = operation.pointer("/syncResult/resources").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|one| {
        let text = |field: &str| one[field].as_str().unwrap_or_default();
        let is_refused = text("status") == "SyncFailed" || ["Failed", "Error"].contains(&text("hookPhase"));
        let message = text("message");
        (is_refused && !message.is_empty()).then(|| (format!("{} {}", text("kind"), text("name")), message))
    })
}

fn or_default_text(text: &str, other: &str) -> String {
    if text.is_empty() { other.to_string() } else { text.to_string() }
}

fn condition<'a>(object: &'a Value, of: &str) -> Option<(&'a str, String)> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    let found = all.iter().find(|condition| condition["type"] == of)?;
    Some((found["status"].as_str()?, found["message"].as_str().unwrap_or_default().to_string()))
}

/// Returns the reason of an environment's condition, if it is one of Switchboard's.
fn reason(object: &Value, of: &str) -> Option<EnvironmentReason> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    EnvironmentReason::parse(all.iter().find(|condition| condition["type"] == of)?["reason"].as_str()?)
}

/// Returns the label and message of the first error condition.
pub fn error(object: &Value) -> Option<(StateLabel, String)> {
    if let Some(message) = resource_error(object) {
        return Some((Blocked, message));
    }
    let message = argo_cd_error(object)?;
    let label = if ErrorClass::of(&message).needs_user() && !is_behind(object) { Blocked } else { Failing };
    Some((label, message))
}

/// Returns the message about an error in the tenant's resource.
pub fn resource_error(object: &Value) -> Option<String> {
    condition(object, "ErrorOccurred").filter(|(status, _)| *status == "True").map(|(_, message)| message)
}

/// Returns the message of an error condition of Argo CD.
pub fn argo_cd_error(object: &Value) -> Option<String> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    // A condition of an Application has no status: it holds as long as it is listed.
    let holds = |condition: &&Value| {
        condition["status"].as_str().is_none_or(|status| status == "True")
            && condition["type"].as_str().is_some_and(|of| of.ends_with("Error"))
    };
    let found = all.iter().find(holds)?;
    Some(found["message"].as_str().unwrap_or_default().to_string())
}

#[cfg(test)]
mod tests;
