#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use switchboard_sql::RowChange;

use crate::flow::fixture::{FlowFixture, UID, status, web};
use crate::flow::{DecisionTime, KubernetesWrite, ReconcileResult};
use crate::ids::*;
use crate::kinds::condition::ConditionStatus;
use crate::kinds::{DeploymentCondition, GitOpsDeployment, ObjectMeta, SyncRun};
use crate::rows::*;
use crate::sync_run::kind::{NAME_IMMUTABLE, REVISION_IMMUTABLE, SyncRunSpec};
use crate::sync_run::{self, SyncRunRows};

/// Returns a run that its deployment owns already.
fn run(name: &str, revision: &str) -> SyncRun {
    let mut metadata = ObjectMeta::new("shop", name, &format!("uid-{name}"));
    metadata.owner_references = vec![owner()];
    SyncRun {
        metadata,
        spec: SyncRunSpec { gitops_deployment_name: "web".into(), revision_id: revision.into() },
        status: Default::default(),
    }
}

fn owner() -> Value {
    json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment", "name": "web", "uid": UID})
}

fn manual() -> GitOpsDeployment {
    let mut deployment = web(UID);
    deployment.spec.r#type = "manual".into();
    deployment
}

async fn decide(
    fixture: &mut FlowFixture,
    run: Option<&SyncRun>,
    deployment: Option<&GitOpsDeployment>,
    behind: bool,
) -> ReconcileResult {
    let mappings = fixture.all::<ApiToDatabase>().await;
    let syncs = fixture.all::<SyncOperation>().await;
    let known = mappings.first().map(|mapping| SyncRunRows {
        mapping: mapping.clone(),
        sync: syncs.iter().find(|sync| sync.id.as_str() == mapping.relation_key).unwrap().clone(),
    });
    let (applications, operations) = (fixture.all::<Application>().await, fixture.all::<Operation>().await);
    let mut id = fixture.ids();
    let decision = sync_run::decide(
        &sync_run::SyncRunInput {
            now: DecisionTime { timestamp: fixture.now, text: "2026-11-16T08:00:00Z" },
            namespace: &fixture.namespace,
            user: &fixture.user,
            run,
            rows: known.as_ref(),
            deployment,
            application: applications.first(),
            is_behind_another: behind,
            operations: &operations,
        },
        &mut id,
    );
    fixture.ledger.commit(&decision.changes).await.unwrap();
    decision
}

async fn manual_fixture() -> FlowFixture {
    let mut fixture = FlowFixture::new().await;
    fixture.decide("web", Some(&manual()), None).await;
    fixture.complete(Ok(())).await;
    fixture
}

/// Defect 11: managed-gitops rejects a run without a revision.
#[tokio::test]
async fn a_run_without_a_revision_uses_that_of_the_deployment() {
    let mut fixture = manual_fixture().await;
    decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
    let [sync] = &*fixture.all::<SyncOperation>().await else { panic!("one sync") };
    assert_eq!((sync.revision.as_str(), sync.desired_state), ("", DesiredState::Running));
    fixture.complete(Ok(())).await;
    let told = decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
    let condition = &status(&told).unwrap()["conditions"][0];
    assert_eq!(
        (&condition["status"], &condition["reason"], &condition["message"]),
        (&"False".into(), &"".into(), &"".into())
    );
    assert!(condition.get("lastProbeTime").is_none());
}

/// Defect 11: managed-gitops keeps a run without its deployment in memory only, and loses it.
#[tokio::test]
async fn a_revision_that_exceeds_its_column_is_rejected() {
    let mut fixture = manual_fixture().await;
    let told = decide(&mut fixture, Some(&run("now", &"x".repeat(257))), Some(&manual()), false).await;
    let condition = &status(&told).unwrap()["conditions"][0];
    assert_eq!(condition["status"], "True");
    assert_eq!(condition["message"], "spec.revisionID has 257 characters, and at most 256 are supported");
    assert!(fixture.all::<SyncOperation>().await.is_empty());
}

#[tokio::test]
async fn guarantees_a_run_is_owned_by_its_deployment() {
    let mut fixture = manual_fixture().await;
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"});
    let mut fresh = run("now", "");
    fresh.metadata.owner_references = vec![other.clone()];
    let owned = decide(&mut fixture, Some(&fresh), Some(&manual()), false).await;
    let [KubernetesWrite::Merge(target, patch)] = &*owned.writes else { panic!("{:?}", owned.writes) };
    assert_eq!((target.kind, &*target.name), ("GitOpsDeploymentSyncRun", "now"));
    assert_eq!(patch, &json!({"metadata": {"ownerReferences": [other, owner()]}}));
    let again = decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
    assert!(again.writes.is_empty(), "{:?}", again.writes);
    let mut leaving = manual();
    leaving.metadata.deletion_timestamp = Some("2026-11-16T08:00:00Z".into());
    let unowned = decide(&mut fixture, Some(&fresh), Some(&leaving), false).await;
    assert!(unowned.writes.is_empty(), "{:?}", unowned.writes);
}

#[tokio::test]
async fn guarantees_a_run_waits_for_its_deployment() {
    let mut fixture = manual_fixture().await;
    let waiting = decide(&mut fixture, Some(&run("now", "")), None, false).await;
    assert_eq!(waiting, ReconcileResult::default());
    decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
    assert_eq!(fixture.all::<SyncOperation>().await.len(), 1);
}

/// A deployment with an error has no Application, and a run of it would wait without a message.
#[tokio::test]
async fn a_run_of_a_failed_deployment_reports_the_reason() {
    let mut fixture = FlowFixture::new().await;
    let mut broken = manual();
    broken.status.conditions = vec![DeploymentCondition {
        r#type: "ErrorOccurred".into(),
        message: "no such environment".into(),
        last_probe_time: None,
        last_transition_time: None,
        status: ConditionStatus::True,
        reason: "ErrorOccurred".into(),
    }];
    let waiting = decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
    assert_eq!(waiting, ReconcileResult::default(), "it may be made yet");
    let refused = decide(&mut fixture, Some(&run("now", "")), Some(&broken), false).await;
    let condition = &status(&refused).unwrap()["conditions"][0];
    assert_eq!((&condition["status"], &condition["message"]), (&"True".into(), &"no such environment".into()));
    let refused = with_status(&run("now", ""), &refused);
    // The deployment is fixed, and the run starts.
    fixture.decide("web", Some(&manual()), None).await;
    fixture.complete(Ok(())).await;
    decide(&mut fixture, Some(&refused), Some(&manual()), false).await;
    let under_way = decide(&mut fixture, Some(&refused), Some(&manual()), false).await;
    assert_eq!(status(&under_way).unwrap().get("conditions"), None, "it is under way");
    fixture.complete(Ok(())).await;
    let over = decide(&mut fixture, Some(&with_status(&refused, &under_way)), Some(&manual()), false).await;
    assert_eq!(status(&over).unwrap()["conditions"][0]["status"], "False");
}

#[tokio::test]
async fn guarantees_runs_are_executed_one_after_another() {
    let mut fixture = manual_fixture().await;
    assert_eq!(decide(&mut fixture, Some(&run("second", "")), Some(&manual()), true).await, ReconcileResult::default());
    decide(&mut fixture, Some(&run("second", "")), Some(&manual()), false).await;
    assert_eq!(fixture.all::<SyncOperation>().await.len(), 1);
}

#[tokio::test]
async fn an_automated_deployment_rejects_sync_runs() {
    let mut fixture = manual_fixture().await;
    let told = decide(&mut fixture, Some(&run("now", "")), Some(&web(UID)), false).await;
    let message = status(&told).unwrap()["conditions"][0]["message"].clone();
    assert_eq!(
        message,
        "invalid GitOpsDeploymentSyncRun 'now'. Syncing a GitOpsDeployment with Automated sync policy is not allowed"
    );
}

#[tokio::test]
async fn the_spec_of_a_run_is_immutable() {
    let mut fixture = manual_fixture().await;
    decide(&mut fixture, Some(&run("now", "abc")), Some(&manual()), false).await;
    let told = decide(&mut fixture, Some(&run("now", "def")), Some(&manual()), false).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["message"], REVISION_IMMUTABLE);
    let mut renamed = run("now", "abc");
    renamed.spec.gitops_deployment_name = "other".into();
    let told = decide(&mut fixture, Some(&renamed), Some(&manual()), false).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["message"], NAME_IMMUTABLE);
}

/// managed-gitops' own tests compare the whole condition, after a successful run and without one.
#[tokio::test]
async fn a_changed_run_reports_the_condition_of_managed_gitops() {
    for end in [None, Some(Err("no such commit")), Some(Ok(()))] {
        let mut fixture = manual_fixture().await;
        decide(&mut fixture, Some(&run("now", "abc")), Some(&manual()), false).await;
        if let Some(end) = end {
            fixture.complete(end).await;
        }
        let told = decide(&mut fixture, Some(&run("now", "def")), Some(&manual()), false).await;
        let [condition] = &*status(&told).unwrap()["conditions"].as_array().unwrap().clone() else {
            panic!("one condition: {told:?}")
        };
        assert_eq!(
            (&condition["type"], &condition["status"], &condition["reason"], &condition["message"]),
            (&json!("ErrorOccurred"), &json!("True"), &json!("ErrorOccurred"), &json!(REVISION_IMMUTABLE)),
            "after {end:?}"
        );
    }
}

#[tokio::test]
async fn a_deleted_run_is_stopped_and_its_rows_are_deleted() {
    let mut fixture = manual_fixture().await;
    decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
    decide(&mut fixture, None, Some(&manual()), false).await;
    assert_eq!(fixture.all::<SyncOperation>().await[0].desired_state, DesiredState::Terminated);
    assert_eq!(
        decide(&mut fixture, None, Some(&manual()), false).await,
        ReconcileResult::default(),
        "the agent stops it"
    );
    fixture.complete(Ok(())).await;
    decide(&mut fixture, None, Some(&manual()), false).await;
    assert!(fixture.all::<SyncOperation>().await.is_empty() && fixture.all::<ApiToDatabase>().await.is_empty());
}

/// Returns the run with the status of the decision.
fn with_status(run: &SyncRun, decision: &ReconcileResult) -> SyncRun {
    SyncRun { status: serde_json::from_value(status(decision).unwrap().clone()).unwrap(), ..run.clone() }
}

/// Deletes all Operations, as after their retention or a restore.
async fn without_operations(fixture: &FlowFixture) {
    for row in fixture.all::<Operation>().await {
        fixture.ledger.commit(&[RowChange::delete(&row)]).await.unwrap();
    }
}

#[tokio::test]
async fn guarantees_the_result_of_a_run_is_kept() {
    for end in [Err("no such commit"), Ok(())] {
        let mut fixture = manual_fixture().await;
        decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
        fixture.complete(end).await;
        let over = decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
        let over = with_status(&run("now", ""), &over);
        assert_eq!(over.status.conditions[0].status == ConditionStatus::True, end.is_err());
        without_operations(&fixture).await;
        let later = decide(&mut fixture, Some(&over), Some(&manual()), false).await;
        assert_eq!(later, ReconcileResult::default(), "it is over, with its result");
    }
}

/// The message about the change replaced the result.
#[tokio::test]
async fn a_reverted_change_does_not_alter_the_result() {
    for (end, is_swept_first) in [(Ok(()), true), (Ok(()), false), (Err("no such commit"), true)] {
        let mut fixture = manual_fixture().await;
        let (first, other) = (run("now", "abc"), run("now", "def"));
        decide(&mut fixture, Some(&first), Some(&manual()), false).await;
        fixture.complete(end).await;
        let over = decide(&mut fixture, Some(&first), Some(&manual()), false).await;
        let over = with_status(&first, &over);
        if is_swept_first {
            without_operations(&fixture).await;
        }
        let changed = SyncRun { status: over.status.clone(), ..other };
        let refused = decide(&mut fixture, Some(&changed), Some(&manual()), false).await;
        assert_eq!(status(&refused).unwrap()["conditions"][0]["message"], REVISION_IMMUTABLE);
        let refused = with_status(&changed, &refused);
        without_operations(&fixture).await;
        assert!(decide(&mut fixture, Some(&refused), Some(&manual()), false).await.writes.is_empty(), "it is reported");
        let back = SyncRun { status: refused.status.clone(), ..first };
        let again = decide(&mut fixture, Some(&back), Some(&manual()), false).await;
        match end {
            Ok(()) => assert_eq!(status(&again).unwrap()["conditions"][0]["status"], "False"),
            Err(_) => assert_eq!(again, ReconcileResult::default(), "it has failed"),
        }
        assert!(fixture.all::<Operation>().await.is_empty(), "it is not requested again");
    }
}

#[tokio::test]
async fn a_waiting_run_with_a_lost_operation_is_started() {
    let mut fixture = manual_fixture().await;
    decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
    without_operations(&fixture).await;
    let again = decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
    assert!(again.writes.is_empty(), "an unknown result is not reported: {again:?}");
    let [asked] = &*fixture.all::<Operation>().await else { panic!("one Operation") };
    let [sync] = &*fixture.all::<SyncOperation>().await else { panic!("one sync") };
    assert_eq!((asked.resource_id.as_str(), asked.state), (sync.id.as_str(), OperationState::Waiting));
    fixture.complete(Ok(())).await;
    let over = decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
    assert_eq!(status(&over).unwrap()["conditions"][0]["status"], "False");
}

/// Deletes all rows of runs.
async fn without_rows(fixture: &FlowFixture) {
    without_operations(fixture).await;
    for row in fixture.all::<ApiToDatabase>().await {
        fixture.ledger.commit(&[RowChange::delete(&row)]).await.unwrap();
    }
    for row in fixture.all::<SyncOperation>().await {
        fixture.ledger.commit(&[RowChange::delete(&row)]).await.unwrap();
    }
}

/// Without the row, only the condition shows that the run was started, with another revision.
#[tokio::test]
async fn a_changed_run_with_lost_rows_is_not_started() {
    let mut fixture = manual_fixture().await;
    decide(&mut fixture, Some(&run("now", "abc")), Some(&manual()), false).await;
    fixture.complete(Ok(())).await;
    let changed = run("now", "def");
    let refused = decide(&mut fixture, Some(&changed), Some(&manual()), false).await;
    let refused = with_status(&changed, &refused);
    without_rows(&fixture).await;
    for _ in 0..2 {
        let again = decide(&mut fixture, Some(&refused), Some(&manual()), false).await;
        assert!(again.writes.is_empty(), "it is reported: {again:?}");
    }
    assert_eq!((fixture.all::<SyncOperation>().await.len(), fixture.all::<Operation>().await.len()), (1, 0));
}

#[tokio::test]
async fn a_successful_run_with_lost_rows_is_not_repeated() {
    let mut fixture = manual_fixture().await;
    decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
    fixture.complete(Ok(())).await;
    let over = decide(&mut fixture, Some(&run("now", "")), Some(&manual()), false).await;
    let over = with_status(&run("now", ""), &over);
    without_rows(&fixture).await;
    decide(&mut fixture, Some(&over), Some(&manual()), false).await;
    assert_eq!((fixture.all::<SyncOperation>().await.len(), fixture.all::<Operation>().await.len()), (1, 0));
}
