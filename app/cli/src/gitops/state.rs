//! State of GitOps resources: one of five state words and a reason.

use serde_json::Value;
use switchboard_gitops::kinds::environment::{CONDITION, EnvironmentReason};

/// Maximum number of failed objects in a reason.
const MAX_REFUSED: usize = 3;

/// State word and reason of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceState {
    /// Ready, Working, Waiting, Blocked or Failing.
    pub state: &'static str,
    /// Reason for the state; may be empty.
    pub reason: String,
}

fn state(word: &'static str, why: impl Into<String>) -> ResourceState {
    ResourceState { state: word, reason: why.into() }
}

/// Returns the state of a GitOpsDeployment.
pub fn application_state(object: &Value) -> ResourceState {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if !text("/metadata/deletionTimestamp").is_empty() {
        return state("Working", "being deleted");
    }
    if let Some((word, message)) = error(object) {
        return state(word, message);
    }
    let (sync, health) = (text("/status/sync/status"), text("/status/health/status"));
    if is_behind(object) {
        return state("Working", "Argo CD has not compared the change yet");
    }
    if sync != "Synced"
        && let Some((_, message)) = failed_sync(object)
    {
        return state("Failing", message);
    }
    let manual = text("/spec/type").eq_ignore_ascii_case("manual");
    match (sync, health) {
        ("", _) => state("Waiting", "for the first comparison by Argo CD"),
        ("Synced", "Healthy") => state("Ready", ""),
        (_, "Degraded") => {
            state("Failing", or_default_text(text("/status/health/message"), "the deployed resources are not healthy"))
        }
        (_, "Suspended") => {
            state("Blocked", or_default_text(text("/status/health/message"), "a deployed resource is suspended"))
        }
        ("OutOfSync", _) if manual => state("Waiting", "for a sync: `switchboard gitops sync`"),
        ("OutOfSync", _) => state("Working", "the deployed resources do not match the repository yet"),
        ("Unknown", _) => state("Failing", "Argo CD could not compare"),
        (_, "Missing") => state("Working", "some resources do not exist yet"),
        (_, "Progressing") => state(
            "Working",
            or_default_text(text("/status/health/message"), "the deployed resources are becoming healthy"),
        ),
        (sync, health) => state("Waiting", format!("for Argo CD: {sync} {health}").trim_end().to_string()),
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
        return state("Waiting", "for the check of the cluster");
    };
    // An unreachable cluster or a refused request may succeed later. Without a known reason, the status decides.
    let is_of_cluster = reason(object, CONDITION).map_or(status != "False", EnvironmentReason::is_from_cluster);
    match status {
        "True" => state("Ready", ""),
        _ if is_of_cluster && !message.is_empty() => state("Failing", with_trust_advice(message)),
        _ if is_of_cluster => state("Waiting", "for the check of the cluster"),
        _ => state("Blocked", message),
    }
}

/// Returns the state of a repository credential.
pub fn repository_state(object: &Value) -> ResourceState {
    // The git server did not answer, so the existence of the repository is unknown; a retry may succeed.
    let is_unknown = matches!(condition(object, "ValidRepositoryURL"), Some(("Unknown", _)));
    match condition(object, "ErrorOccurred") {
        Some(("True", message)) if is_unknown => state("Failing", message),
        Some(("True", message)) => state("Blocked", message),
        Some(("False", _)) => state("Ready", ""),
        _ => state("Waiting", "for the check of the repository"),
    }
}

/// Returns the state of a sync run.
pub fn sync_run_state(object: &Value) -> ResourceState {
    match condition(object, "ErrorOccurred") {
        Some(("True", message)) => state("Failing", message),
        Some(("False", _)) => state("Ready", ""),
        _ => state("Working", "the sync is running"),
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

/// Returns the state for the first error condition: an error in the tenant's resource blocks, an error of Argo CD
/// fails.
pub fn error(object: &Value) -> Option<(&'static str, String)> {
    if let Some(("True", message)) = condition(object, "ErrorOccurred") {
        return Some(("Blocked", message));
    }
    argo_cd_error(object).map(|message| ("Failing", message))
}

/// Returns the message of an error condition of Argo CD.
pub fn argo_cd_error(object: &Value) -> Option<String> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    let holds = |condition: &&Value| {
        condition["status"] == "True" && condition["type"].as_str().is_some_and(|of| of.ends_with("Error"))
    };
    let found = all.iter().find(holds)?;
    Some(found["message"].as_str().unwrap_or_default().to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn application(r#type: &str, sync: &str, health: &str) -> Value {
        json!({ "spec": { "type": r#type }, "status": { "sync": { "status": sync }, "health": { "status": health } } })
    }

    #[test]
    fn every_state_has_its_label() {
        let word = |r#type: &str, sync: &str, health: &str| application_state(&application(r#type, sync, health)).state;
        assert_eq!(word("automated", "Synced", "Healthy"), "Ready");
        assert_eq!(word("automated", "Synced", "Progressing"), "Working");
        assert_eq!(word("automated", "OutOfSync", "Missing"), "Working");
        assert_eq!(word("manual", "OutOfSync", "Missing"), "Waiting");
        assert_eq!(word("automated", "Synced", "Degraded"), "Failing");
        assert_eq!(word("automated", "Unknown", ""), "Failing");
        assert_eq!(word("automated", "Synced", "Suspended"), "Blocked");
        assert_eq!(
            application_state(&json!({})),
            ResourceState { state: "Waiting", reason: "for the first comparison by Argo CD".into() }
        );
        assert_eq!(application_state(&json!({ "metadata": { "deletionTimestamp": "x" } })).reason, "being deleted");
    }

    #[test]
    fn errors_of_the_tenant_block_and_errors_of_argo_cd_fail() {
        let with = |of: &str| {
            let mut object = application("automated", "Synced", "Healthy");
            object["status"]["conditions"] = json!([{ "type": of, "status": "True", "message": "no" }]);
            application_state(&object)
        };
        assert_eq!(with("ErrorOccurred"), ResourceState { state: "Blocked", reason: "no".into() });
        assert_eq!(with("ComparisonError"), ResourceState { state: "Failing", reason: "no".into() });
        assert_eq!(with("SharedResourceWarning").state, "Ready");
    }

    /// Sync and health belong to the former source until Argo CD has compared again.
    #[test]
    fn status_of_a_former_source_is_ignored() {
        let mut object = application("automated", "Synced", "Healthy");
        object["metadata"] = json!({ "namespace": "shop" });
        object["spec"]["source"] = json!({ "repoURL": "https://h/r", "path": "a" });
        object["status"]["reconciledState"] = json!({
            "source": { "repoURL": "https://h/r", "path": "a", "branch": "" },
            "destination": { "name": "", "namespace": "shop" },
        });
        assert_eq!(application_state(&object).state, "Ready");
        let changes = [
            json!({ "source": { "repoURL": "https://h/r", "path": "b" } }),
            json!({ "source": { "repoURL": "https://h/other", "path": "a" } }),
            json!({ "source": { "repoURL": "https://h/r", "path": "a", "targetRevision": "v2" } }),
            json!({ "destination": { "environment": "prod", "namespace": "shop" } }),
            json!({ "destination": { "namespace": "other" } }),
        ];
        for change in changes {
            let mut changed = object.clone();
            for (field, value) in change.as_object().into_iter().flatten() {
                changed["spec"][field] = value.clone();
            }
            let state_text = application_state(&changed);
            assert_eq!(
                state_text,
                ResourceState { state: "Working", reason: "Argo CD has not compared the change yet".into() }
            );
        }
    }

    #[test]
    fn failed_sync_has_a_reason() {
        let with = |operation: Value| {
            let mut object = application("automated", "OutOfSync", "Missing");
            object["status"]["sync"]["revision"] = "one".into();
            object["status"]["operationState"] = operation;
            application_state(&object)
        };
        let failed = |name: &str, message: &str| json!({ "kind": "ConfigMap", "name": name, "status": "SyncFailed", "message": message });
        let resources = json!([
            failed("a", "namespaces \"away\" not found"),
            { "kind": "ConfigMap", "name": "b", "status": "Synced", "message": "configmap/b created" },
        ]);
        let result = json!({ "revision": "one", "resources": resources });
        for (phase, finished) in [("Failed", "x"), ("Error", "x"), ("Running", "x")] {
            let state_text = with(
                json!({ "phase": phase, "finishedAt": finished, "message": "one or more objects failed to apply", "syncResult": result }),
            );
            let why = "one or more objects failed to apply; ConfigMap a: namespaces \"away\" not found";
            assert_eq!(state_text, ResourceState { state: "Failing", reason: why.into() });
        }
        // A message is not repeated.
        let whole = "one or more objects failed to apply, reason: namespaces \"away\" not found";
        assert_eq!(with(json!({ "phase": "Failed", "message": whole, "syncResult": result })).reason, whole);
        assert_eq!(with(json!({ "phase": "Failed", "syncResult": { "revision": "before" } })).state, "Working");
        assert_eq!(with(json!({ "phase": "Running", "message": "waiting for completion" })).state, "Working");
        assert_eq!(with(json!({ "phase": "Succeeded" })).state, "Working");
        let many: Vec<Value> = (0..9).map(|n| failed(&n.to_string(), "no")).collect();
        let state_text = with(json!({ "phase": "Failed", "message": "x", "syncResult": { "resources": many } })).reason;
        assert_eq!(state_text, "x; ConfigMap 0: no; ConfigMap 1: no; ConfigMap 2: no; and more");
    }

    #[test]
    fn unreachable_environment_has_a_reason() {
        let with = |message: &str| {
            let condition =
                json!({ "type": CONDITION, "status": "False", "reason": "UnableToCreateClient", "message": message });
            environment_state(&json!({ "status": { "conditions": [condition] } }))
        };
        let away = "Get \"https://h/api?timeout=32s\": connection refused";
        assert_eq!(with(away), ResourceState { state: "Failing", reason: away.into() });
        let state_text = with("Get \"https://h/api?timeout=32s\": invalid peer certificate: UnknownIssuer");
        assert!(
            state_text.reason.contains("UnknownIssuer") && state_text.reason.contains("--insecure-skip-tls-verify"),
            "{state_text:?}"
        );
    }

    /// The reason decides whether the user has to act; the status of managed-gitops does not state it.
    #[test]
    fn environment_that_needs_the_user_is_blocked_and_retried_one_is_failing() {
        for reason in EnvironmentReason::ALL.into_iter().filter(|reason| *reason != EnvironmentReason::Succeeded) {
            let status = json!(reason.status());
            let condition = json!({ "type": CONDITION, "status": status, "reason": reason.as_str(), "message": "no" });
            let state_text = environment_state(&json!({ "status": { "conditions": [condition] } }));
            let expected = if reason.is_from_cluster() { "Failing" } else { "Blocked" };
            assert_eq!((state_text.state, state_text.reason.as_str()), (expected, "no"), "{reason:?}");
        }
    }

    #[test]
    fn environments_repositories_and_runs_have_states() {
        let with = |of: &str, status: &str| json!({ "status": { "conditions": [{ "type": of, "status": status, "message": "no" }] } });
        assert_eq!(environment_state(&with("ConnectionInitializationSucceeded", "True")).state, "Ready");
        assert_eq!(environment_state(&with("ConnectionInitializationSucceeded", "False")).state, "Blocked");
        assert_eq!(environment_state(&json!({})).state, "Waiting");
        assert_eq!(repository_state(&with("ErrorOccurred", "True")).state, "Blocked");
        assert_eq!(repository_state(&with("ErrorOccurred", "False")).state, "Ready");
        let unknown = json!({ "type": "ValidRepositoryURL", "status": "Unknown" });
        let wrong = json!({ "type": "ErrorOccurred", "status": "True", "message": "no" });
        let away = json!({ "status": { "conditions": [wrong, unknown] } });
        assert_eq!(repository_state(&away), ResourceState { state: "Failing", reason: "no".into() });
        assert_eq!(sync_run_state(&with("ErrorOccurred", "False")).state, "Ready");
        assert_eq!(sync_run_state(&json!({})).state, "Working");
    }
}
