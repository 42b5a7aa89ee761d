use serde_json::json;

use super::*;

fn application(sync: &str, health: &str) -> Value {
    json!({ "spec": { "type": "automated" }, "status": { "sync": { "status": sync }, "health": { "status": health } } })
}

#[test]
fn every_goal_is_reached_by_its_state() {
    let ready = application("Synced", "Healthy");
    for aim in [WaitGoal::Ready, WaitGoal::Synced, WaitGoal::Healthy] {
        assert_eq!(aim.progress(Some(&ready)), WaitProgress::Reached, "{aim:?}");
    }
    assert_eq!(WaitGoal::Synced.progress(Some(&application("Synced", "Degraded"))), WaitProgress::Reached);
    assert_eq!(WaitGoal::Healthy.progress(Some(&application("OutOfSync", "Healthy"))), WaitProgress::Reached);
    assert!(matches!(WaitGoal::Ready.progress(Some(&application("Synced", "Degraded"))), WaitProgress::Pending(_)));
    assert_eq!(WaitGoal::Deleted.progress(None), WaitProgress::Reached);
    assert_eq!(
        WaitGoal::Deleted.progress(Some(&ready)),
        WaitProgress::Pending("it exists and is not being deleted".into())
    );
    let progress_of = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
    assert_eq!(WaitGoal::Deleted.progress(Some(&progress_of)), WaitProgress::Pending("being deleted".into()));
    assert!(matches!(WaitGoal::Ready.progress(None), WaitProgress::Blocked(_)));
}

#[test]
fn wait_ends_if_the_user_must_act() {
    let mut object = application("Synced", "Healthy");
    object["status"]["conditions"] = json!([{ "type": "ErrorOccurred", "status": "True", "message": "no" }]);
    assert_eq!(WaitGoal::Ready.progress(Some(&object)), WaitProgress::Blocked("no".into()));
    assert_eq!(WaitGoal::SyncRun.progress(Some(&object)), WaitProgress::Blocked("no".into()));
    for aim in [WaitGoal::Synced, WaitGoal::Healthy] {
        assert_eq!(aim.progress(Some(&object)), WaitProgress::Blocked("no".into()), "{aim:?}");
    }
    object["status"]["conditions"][0]["type"] = "ComparisonError".into();
    for aim in [WaitGoal::Ready, WaitGoal::Synced, WaitGoal::Healthy] {
        assert_eq!(aim.progress(Some(&object)), WaitProgress::Failing("no".into()), "{aim:?}");
    }
}

#[test]
fn wait_continues_until_argo_cd_has_compared() {
    let mut object = application("Synced", "Healthy");
    object["spec"]["source"] = json!({ "repoURL": "https://h/r", "path": "b" });
    object["status"]["reconciledState"] = json!({ "source": { "repoURL": "https://h/r", "path": "a" } });
    object["status"]["operationState"] = json!({ "phase": "Failed", "message": "of the former path" });
    for aim in [WaitGoal::Ready, WaitGoal::Synced, WaitGoal::Healthy] {
        let progress_of = WaitProgress::Pending("Working Argo CD has not compared the change yet".into());
        assert_eq!(aim.progress(Some(&object)), progress_of, "{aim:?}");
    }
}

#[test]
fn wait_allows_time_after_a_fix() {
    let (begin, mut wrong) = (Instant::now(), FailureTimer::default());
    let (stuck, other) = (WaitProgress::Blocked("no such path".into()), WaitProgress::Blocked("no such branch".into()));
    let at = |seconds| begin + Duration::from_secs(seconds);
    assert!(!wrong.has_expired(&stuck, true, at(0)) && !wrong.has_expired(&stuck, true, at(4)));
    assert!(!wrong.has_expired(&other, true, at(5)), "it is another");
    assert!(wrong.has_expired(&other, true, at(10)));
    assert!(!wrong.has_expired(&WaitProgress::Pending("x".into()), true, at(10)));
    assert!(!wrong.has_expired(&other, true, at(11)), "it was mended meanwhile");
    let failing = WaitProgress::Failing("away".into());
    assert!(!wrong.has_expired(&failing, true, at(12)) && !wrong.has_expired(&failing, true, at(41)));
    assert!(wrong.has_expired(&failing, true, at(42)));
    assert!(wrong.has_expired(&WaitProgress::Blocked("it was deleted".into()), false, at(43)));
}

#[test]
fn wait_reports_the_reason_of_a_failed_sync() {
    let mut object = application("OutOfSync", "Missing");
    object["status"]["operationState"] = json!({ "phase": "Failed", "message": "no namespace" });
    assert_eq!(WaitGoal::Synced.progress(Some(&object)), WaitProgress::Failing("no namespace".into()));
    // Argo CD retries the sync.
    object["status"]["operationState"] = json!({ "phase": "Running", "finishedAt": "x", "message": "no namespace" });
    assert_eq!(WaitGoal::Ready.progress(Some(&object)), WaitProgress::Pending("Failing no namespace".into()));
    let condition = json!({ "type": "ConnectionInitializationSucceeded", "status": "Unknown", "message": "away" });
    let environment = json!({ "status": { "conditions": [condition] } });
    assert_eq!(WaitGoal::Environment.progress(Some(&environment)), WaitProgress::Failing("away".into()));
    let conditions = json!([
        { "type": "ErrorOccurred", "status": "True", "message": "away" },
        { "type": "ValidRepositoryURL", "status": "Unknown", "message": "away" },
    ]);
    let repository = json!({ "status": { "conditions": conditions } });
    let way = WaitGoal::Repository.progress(Some(&repository));
    assert_eq!(way, WaitProgress::Failing("away".into()));
    assert!(hint(WaitGoal::Repository, &way).contains("reach the git server"));
}

/// An error that cannot heal by itself ends the wait at once, with the root cause; an unreachable server does not.
#[test]
fn wait_ends_at_once_if_the_source_is_wrong() {
    let with = |message: &str| {
        let mut object = application("Unknown", "Healthy");
        let chain = format!(
            "Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = {message}"
        );
        object["status"]["conditions"] = json!([{ "type": "ComparisonError", "status": "True", "message": chain }]);
        object
    };
    for message in ["nope: app path does not exist", "unable to resolve 'nope' to a commit SHA"] {
        for aim in [WaitGoal::Ready, WaitGoal::Synced, WaitGoal::Healthy] {
            let way = aim.progress(Some(&with(message)));
            assert_eq!(way, WaitProgress::Invalid(message.into()));
            assert!(FailureTimer::default().has_expired(&way, true, Instant::now()));
        }
    }
    let lost = with("failed to list refs: repository not found");
    let way = WaitGoal::Ready.progress(Some(&lost));
    assert_eq!(way, WaitProgress::Blocked("failed to list refs: repository not found".into()));
    assert!(hint(WaitGoal::Ready, &way).contains("repo create"));
    let away = WaitGoal::Ready.progress(Some(&with("failed to list refs: connection refused")));
    assert_eq!(away, WaitProgress::Pending("Failing failed to list refs: connection refused".into()));
    // The error is about a former path.
    let mut changed = with("nope: app path does not exist");
    changed["spec"]["source"] = json!({ "repoURL": "https://h/r", "path": "b" });
    changed["status"]["reconciledState"] = json!({ "source": { "repoURL": "https://h/r", "path": "nope" } });
    assert!(matches!(WaitGoal::Ready.progress(Some(&changed)), WaitProgress::Pending(_)));
}
