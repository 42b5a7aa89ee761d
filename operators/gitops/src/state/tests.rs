use serde_json::json;

use super::*;

fn application(r#type: &str, sync: &str, health: &str) -> Value {
    json!({ "spec": { "type": r#type }, "status": { "sync": { "status": sync }, "health": { "status": health } } })
}

#[test]
fn every_state_has_its_label() {
    let word = |r#type: &str, sync: &str, health: &str| application_state(&application(r#type, sync, health)).label;
    assert_eq!(word("automated", "Synced", "Healthy"), Ready);
    assert_eq!(word("automated", "Synced", "Progressing"), Working);
    assert_eq!(word("automated", "OutOfSync", "Missing"), Working);
    assert_eq!(word("manual", "OutOfSync", "Missing"), Waiting);
    assert_eq!(word("automated", "Synced", "Degraded"), Failing);
    assert_eq!(word("automated", "Unknown", ""), Failing);
    assert_eq!(word("automated", "Synced", "Suspended"), Blocked);
    assert_eq!(
        application_state(&json!({})),
        ResourceState { label: Waiting, reason: "for the first comparison by Argo CD".into() }
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
    assert_eq!(with("ErrorOccurred"), ResourceState { label: Blocked, reason: "no".into() });
    assert_eq!(with("ComparisonError"), ResourceState { label: Failing, reason: "no".into() });
    assert_eq!(with("SharedResourceWarning").label, Ready);
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
    assert_eq!(application_state(&object).label, Ready);
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
            ResourceState { label: Working, reason: "Argo CD has not compared the change yet".into() }
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
        assert_eq!(state_text, ResourceState { label: Failing, reason: why.into() });
    }
    // A message is not repeated.
    let whole = "one or more objects failed to apply, reason: namespaces \"away\" not found";
    assert_eq!(with(json!({ "phase": "Failed", "message": whole, "syncResult": result })).reason, whole);
    assert_eq!(with(json!({ "phase": "Failed", "syncResult": { "revision": "before" } })).label, Working);
    assert_eq!(with(json!({ "phase": "Running", "message": "waiting for completion" })).label, Working);
    assert_eq!(with(json!({ "phase": "Succeeded" })).label, Working);
    let many: Vec<Value> = (0..9).map(|n| failed(&n.to_string(), "no")).collect();
    let state_text = with(json!({ "phase": "Failed", "message": "x", "syncResult": { "resources": many } })).reason;
    assert_eq!(state_text, "x; ConfigMap 0: no; ConfigMap 1: no; ConfigMap 2: no; and others");
}

#[test]
fn unreachable_environment_has_a_reason() {
    let with = |message: &str| {
        let condition =
            json!({ "type": CONDITION, "status": "False", "reason": "UnableToCreateClient", "message": message });
        environment_state(&json!({ "status": { "conditions": [condition] } }))
    };
    let away = "Get \"https://h/api?timeout=32s\": connection refused";
    assert_eq!(with(away), ResourceState { label: Failing, reason: away.into() });
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
        let expected = if reason.is_from_cluster() { Failing } else { Blocked };
        assert_eq!((state_text.label, state_text.reason.as_str()), (expected, "no"), "{reason:?}");
    }
}

#[test]
fn environments_repositories_and_runs_have_states() {
    let with = |of: &str, status: &str| json!({ "status": { "conditions": [{ "type": of, "status": status, "message": "no" }] } });
    assert_eq!(environment_state(&with("ConnectionInitializationSucceeded", "True")).label, Ready);
    assert_eq!(environment_state(&with("ConnectionInitializationSucceeded", "False")).label, Blocked);
    assert_eq!(environment_state(&json!({})).label, Waiting);
    assert_eq!(repository_state(&with("ErrorOccurred", "True")).label, Blocked);
    assert_eq!(repository_state(&with("ErrorOccurred", "False")).label, Ready);
    let unknown = json!({ "type": "ValidRepositoryURL", "status": "Unknown" });
    let wrong = json!({ "type": "ErrorOccurred", "status": "True", "message": "no" });
    let away = json!({ "status": { "conditions": [wrong, unknown] } });
    assert_eq!(repository_state(&away), ResourceState { label: Failing, reason: "no".into() });
    assert_eq!(sync_run_state(&with("ErrorOccurred", "False")).label, Ready);
    assert_eq!(sync_run_state(&json!({})).label, Working);
}

/// A missing path, revision or repository stays until a user acts; an unreachable server may answer later.
#[test]
fn errors_that_need_the_user_block() {
    let with = |message: &str| {
        let mut object = application("automated", "Unknown", "Healthy");
        object["status"]["conditions"] = json!([{ "type": "ComparisonError", "status": "True", "message": message }]);
        application_state(&object).label
    };
    assert_eq!(with("rpc error: code = Unknown desc = nope: app path does not exist"), Blocked);
    assert_eq!(with("rpc error: code = Unknown desc = failed to list refs: repository not found"), Blocked);
    assert_eq!(with("rpc error: code = Unknown desc = failed to list refs: connection refused"), Failing);
}

/// The object of a tenant and its Application have the same state.
#[test]
fn an_application_of_argo_cd_has_the_same_states() {
    let policy = |spec: Value| json!({ "spec": spec, "status": { "sync": { "status": "OutOfSync" }, "health": { "status": "Missing" } } });
    assert_eq!(application_state(&policy(json!({ "syncPolicy": { "automated": {} } }))).label, Working);
    assert_eq!(application_state(&policy(json!({}))).label, Waiting);
    let mut object = policy(json!({}));
    object["status"]["conditions"] = json!([{ "type": "ComparisonError", "message": "a: app path does not exist" }]);
    assert_eq!(
        application_state(&object),
        ResourceState { label: Blocked, reason: "a: app path does not exist".into() }
    );
}

/// Argo CD reports an application without objects as healthy.
#[test]
fn health_is_unknown_before_the_first_rendering() {
    let mut object = application("automated", "Unknown", "Healthy");
    assert_eq!(application_health(&object), "Unknown");
    object["status"]["resources"] = json!([{ "kind": "ConfigMap", "name": "web" }]);
    assert_eq!(application_health(&object), "Healthy", "the deployed objects are");
    assert_eq!(application_health(&application("automated", "Synced", "Healthy")), "Healthy");
    assert_eq!(application_health(&application("automated", "Unknown", "Missing")), "Missing");
    assert_eq!(application_health(&json!({})), "");
}
