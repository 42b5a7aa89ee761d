//! How an application stands, in one of the five state words and a reason.

use serde_json::Value;

/// A state word and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Ready, Working, Waiting, Blocked or Failing.
    pub word: &'static str,
    /// Why.
    pub why: String,
}

fn state(word: &'static str, why: impl Into<String>) -> State {
    State { word, why: why.into() }
}

/// Of a GitOpsDeployment.
pub fn of_application(object: &Value) -> State {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if !text("/metadata/deletionTimestamp").is_empty() {
        return state("Working", "is being deleted");
    }
    if let Some((word, message)) = error(object) {
        return state(word, message);
    }
    let (sync, health) = (text("/status/sync/status"), text("/status/health/status"));
    let manual = text("/spec/type").eq_ignore_ascii_case("manual");
    match (sync, health) {
        ("", _) => state("Waiting", "on Argo CD to look"),
        ("Synced", "Healthy") => state("Ready", ""),
        (_, "Degraded") => state("Failing", or(text("/status/health/message"), "what was deployed is not healthy")),
        (_, "Suspended") => {
            state("Blocked", or(text("/status/health/message"), "something that was deployed is suspended"))
        }
        ("OutOfSync", _) if manual => state("Waiting", "on a sync: `switchboard gitops sync`"),
        ("OutOfSync", _) => state("Working", "what runs is not yet what the repository says"),
        ("Unknown", _) => state("Failing", "Argo CD cannot compare"),
        (_, "Missing") => state("Working", "not all is there yet"),
        (_, "Progressing") => state("Working", or(text("/status/health/message"), "is becoming healthy")),
        (sync, health) => state("Waiting", format!("on Argo CD: {sync} {health}").trim_end().to_string()),
    }
}

/// Of an environment.
pub fn of_environment(object: &Value) -> State {
    match condition(object, "ConnectionInitializationSucceeded") {
        Some(("True", _)) => state("Ready", ""),
        Some(("False", message)) => state("Blocked", message),
        _ => state("Waiting", "on a look at the cluster"),
    }
}

/// Of a repository's credential.
pub fn of_repository(object: &Value) -> State {
    match condition(object, "ErrorOccurred") {
        Some(("True", message)) => state("Blocked", message),
        Some(("False", _)) => state("Ready", ""),
        _ => state("Waiting", "on a look at the repository"),
    }
}

/// Of a sync run.
pub fn of_run(object: &Value) -> State {
    match condition(object, "ErrorOccurred") {
        Some(("True", message)) => state("Failing", message),
        Some(("False", _)) => state("Ready", ""),
        _ => state("Working", "the sync is under way"),
    }
}

fn or(text: &str, other: &str) -> String {
    if text.is_empty() { other.to_string() } else { text.to_string() }
}

fn condition<'a>(object: &'a Value, of: &str) -> Option<(&'a str, String)> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    let found = all.iter().find(|condition| condition["type"] == of)?;
    Some((found["status"].as_str()?, found["message"].as_str().unwrap_or_default().to_string()))
}

/// The first condition that says that something is wrong: what the tenant wrote blocks, what Argo CD met fails.
fn error(object: &Value) -> Option<(&'static str, String)> {
    if let Some(("True", message)) = condition(object, "ErrorOccurred") {
        return Some(("Blocked", message));
    }
    met(object).map(|message| ("Failing", message))
}

/// What Argo CD met.
pub fn met(object: &Value) -> Option<String> {
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
    fn every_state_has_its_word() {
        let word = |r#type: &str, sync: &str, health: &str| of_application(&application(r#type, sync, health)).word;
        assert_eq!(word("automated", "Synced", "Healthy"), "Ready");
        assert_eq!(word("automated", "Synced", "Progressing"), "Working");
        assert_eq!(word("automated", "OutOfSync", "Missing"), "Working");
        assert_eq!(word("manual", "OutOfSync", "Missing"), "Waiting");
        assert_eq!(word("automated", "Synced", "Degraded"), "Failing");
        assert_eq!(word("automated", "Unknown", ""), "Failing");
        assert_eq!(word("automated", "Synced", "Suspended"), "Blocked");
        assert_eq!(of_application(&json!({})), State { word: "Waiting", why: "on Argo CD to look".into() });
        assert_eq!(of_application(&json!({ "metadata": { "deletionTimestamp": "x" } })).why, "is being deleted");
    }

    #[test]
    fn what_the_tenant_wrote_blocks_and_what_argo_cd_met_fails() {
        let with = |of: &str| {
            let mut object = application("automated", "Synced", "Healthy");
            object["status"]["conditions"] = json!([{ "type": of, "status": "True", "message": "no" }]);
            of_application(&object)
        };
        assert_eq!(with("ErrorOccurred"), State { word: "Blocked", why: "no".into() });
        assert_eq!(with("ComparisonError"), State { word: "Failing", why: "no".into() });
        assert_eq!(with("SharedResourceWarning").word, "Ready");
    }

    #[test]
    fn environments_repositories_and_runs_have_states() {
        let with = |of: &str, status: &str| json!({ "status": { "conditions": [{ "type": of, "status": status, "message": "no" }] } });
        assert_eq!(of_environment(&with("ConnectionInitializationSucceeded", "True")).word, "Ready");
        assert_eq!(of_environment(&with("ConnectionInitializationSucceeded", "False")).word, "Blocked");
        assert_eq!(of_environment(&json!({})).word, "Waiting");
        assert_eq!(of_repository(&with("ErrorOccurred", "True")).word, "Blocked");
        assert_eq!(of_repository(&with("ErrorOccurred", "False")).word, "Ready");
        assert_eq!(of_run(&with("ErrorOccurred", "False")).word, "Ready");
        assert_eq!(of_run(&json!({})).word, "Working");
    }
}
