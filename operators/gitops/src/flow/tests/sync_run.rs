use switchboard_ledger::Change;
use switchboard_ledger::ids::*;
use switchboard_ledger::rows::*;

use super::world::{UID, World, status, web};
use crate::flow::sync_run::{self, Known};
use crate::flow::{Decision, Now};
use crate::kinds::condition::Truth;
use crate::kinds::sync_run::{NAME_IMMUTABLE, REVISION_IMMUTABLE, SyncRunSpec};
use crate::kinds::{Condition, Deployment, Meta, SyncRun};

fn run(name: &str, revision: &str) -> SyncRun {
    SyncRun {
        metadata: Meta::named("shop", name, &format!("uid-{name}")),
        spec: SyncRunSpec { gitops_deployment_name: "web".into(), revision_id: revision.into() },
        status: Default::default(),
    }
}

fn manual() -> Deployment {
    let mut deployment = web(UID);
    deployment.spec.r#type = "manual".into();
    deployment
}

async fn decide(world: &mut World, run: Option<&SyncRun>, deployment: Option<&Deployment>, behind: bool) -> Decision {
    let mappings = world.all::<ApiToDatabase>().await;
    let syncs = world.all::<SyncOperation>().await;
    let known = mappings.first().map(|mapping| Known {
        mapping: mapping.clone(),
        sync: syncs.iter().find(|sync| sync.id.as_str() == mapping.relation_key).unwrap().clone(),
    });
    let (applications, operations) = (world.all::<Application>().await, world.all::<Operation>().await);
    let mut id = world.ids();
    let decision = sync_run::decide(
        &sync_run::Input {
            now: Now { moment: world.now, text: "2026-11-16T08:00:00Z" },
            namespace: &world.namespace,
            user: &world.user,
            run,
            known: known.as_ref(),
            deployment,
            application: applications.first(),
            is_behind_another: behind,
            operations: &operations,
        },
        &mut id,
    );
    world.ledger.commit(&decision.changes).await.unwrap();
    decision
}

async fn world() -> World {
    let mut world = World::new().await;
    world.decide("web", Some(&manual()), None).await;
    world.complete(Ok(())).await;
    world
}

/// Defect 11: the original refuses a run without a revision.
#[tokio::test]
async fn a_run_without_a_revision_is_one_of_what_the_deployment_says() {
    let mut world = world().await;
    decide(&mut world, Some(&run("now", "")), Some(&manual()), false).await;
    let [sync] = &*world.all::<SyncOperation>().await else { panic!("one sync") };
    assert_eq!((sync.revision.as_str(), sync.desired_state), ("", DesiredState::Running));
    world.complete(Ok(())).await;
    let told = decide(&mut world, Some(&run("now", "")), Some(&manual()), false).await;
    let condition = &status(&told).unwrap()["conditions"][0];
    assert_eq!(
        (&condition["status"], &condition["reason"], &condition["message"]),
        (&"False".into(), &"".into(), &"".into())
    );
    assert!(condition.get("lastProbeTime").is_none());
}

/// Defect 11: the original keeps a run whose deployment is missing in memory, and loses it.
#[tokio::test]
async fn a_revision_that_no_row_holds_is_told() {
    let mut world = world().await;
    let told = decide(&mut world, Some(&run("now", &"x".repeat(257))), Some(&manual()), false).await;
    let condition = &status(&told).unwrap()["conditions"][0];
    assert_eq!(condition["status"], "True");
    assert_eq!(condition["message"], "spec.revisionID has 257 characters, and at most 256 are supported");
    assert!(world.all::<SyncOperation>().await.is_empty());
}

#[tokio::test]
async fn guarantees_a_run_waits_for_its_deployment() {
    let mut world = world().await;
    let waiting = decide(&mut world, Some(&run("now", "")), None, false).await;
    assert_eq!(waiting, Decision::default());
    decide(&mut world, Some(&run("now", "")), Some(&manual()), false).await;
    assert_eq!(world.all::<SyncOperation>().await.len(), 1);
}

/// A deployment that cannot be made has no Application, and a run of it waited without a word.
#[tokio::test]
async fn a_run_of_a_deployment_that_cannot_be_made_says_why_until_it_is_made() {
    let mut world = World::new().await;
    let mut broken = manual();
    broken.status.conditions = vec![Condition {
        r#type: "ErrorOccurred".into(),
        message: "no such environment".into(),
        last_probe_time: None,
        last_transition_time: None,
        status: Truth::True,
        reason: "ErrorOccurred".into(),
    }];
    let waiting = decide(&mut world, Some(&run("now", "")), Some(&manual()), false).await;
    assert_eq!(waiting, Decision::default(), "it may be made yet");
    let refused = decide(&mut world, Some(&run("now", "")), Some(&broken), false).await;
    let condition = &status(&refused).unwrap()["conditions"][0];
    assert_eq!((&condition["status"], &condition["message"]), (&"True".into(), &"no such environment".into()));
    let refused = told(&run("now", ""), &refused);
    // It is mended, and the run made.
    world.decide("web", Some(&manual()), None).await;
    world.complete(Ok(())).await;
    decide(&mut world, Some(&refused), Some(&manual()), false).await;
    let under_way = decide(&mut world, Some(&refused), Some(&manual()), false).await;
    assert_eq!(status(&under_way).unwrap().get("conditions"), None, "it is under way");
    world.complete(Ok(())).await;
    let over = decide(&mut world, Some(&told(&refused, &under_way)), Some(&manual()), false).await;
    assert_eq!(status(&over).unwrap()["conditions"][0]["status"], "False");
}

#[tokio::test]
async fn guarantees_runs_are_made_one_after_the_other() {
    let mut world = world().await;
    assert_eq!(decide(&mut world, Some(&run("second", "")), Some(&manual()), true).await, Decision::default());
    decide(&mut world, Some(&run("second", "")), Some(&manual()), false).await;
    assert_eq!(world.all::<SyncOperation>().await.len(), 1);
}

#[tokio::test]
async fn a_deployment_that_deploys_itself_takes_no_runs() {
    let mut world = world().await;
    let told = decide(&mut world, Some(&run("now", "")), Some(&web(UID)), false).await;
    let message = status(&told).unwrap()["conditions"][0]["message"].clone();
    assert_eq!(
        message,
        "invalid GitOpsDeploymentSyncRun 'now'. Syncing a GitOpsDeployment with Automated sync policy is not allowed"
    );
}

#[tokio::test]
async fn what_a_run_says_cannot_be_changed() {
    let mut world = world().await;
    decide(&mut world, Some(&run("now", "abc")), Some(&manual()), false).await;
    let told = decide(&mut world, Some(&run("now", "def")), Some(&manual()), false).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["message"], REVISION_IMMUTABLE);
    let mut renamed = run("now", "abc");
    renamed.spec.gitops_deployment_name = "other".into();
    let told = decide(&mut world, Some(&renamed), Some(&manual()), false).await;
    assert_eq!(status(&told).unwrap()["conditions"][0]["message"], NAME_IMMUTABLE);
}

#[tokio::test]
async fn a_run_that_is_deleted_is_stopped_and_then_forgotten() {
    let mut world = world().await;
    decide(&mut world, Some(&run("now", "")), Some(&manual()), false).await;
    decide(&mut world, None, Some(&manual()), false).await;
    assert_eq!(world.all::<SyncOperation>().await[0].desired_state, DesiredState::Terminated);
    assert_eq!(decide(&mut world, None, Some(&manual()), false).await, Decision::default(), "the agent stops it");
    world.complete(Ok(())).await;
    decide(&mut world, None, Some(&manual()), false).await;
    assert!(world.all::<SyncOperation>().await.is_empty() && world.all::<ApiToDatabase>().await.is_empty());
}

/// The run as it stands once it was told this.
fn told(run: &SyncRun, decision: &Decision) -> SyncRun {
    SyncRun { status: serde_json::from_value(status(decision).unwrap().clone()).unwrap(), ..run.clone() }
}

/// Operations are over for long, or were left out of a backup.
async fn without_operations(world: &World) {
    for row in world.all::<Operation>().await {
        world.ledger.commit(&[Change::delete(&row)]).await.unwrap();
    }
}

#[tokio::test]
async fn guarantees_a_run_that_failed_has_failed() {
    for end in [Err("no such commit"), Ok(())] {
        let mut world = world().await;
        decide(&mut world, Some(&run("now", "")), Some(&manual()), false).await;
        world.complete(end).await;
        let over = decide(&mut world, Some(&run("now", "")), Some(&manual()), false).await;
        let over = told(&run("now", ""), &over);
        assert_eq!(over.status.conditions[0].status == Truth::True, end.is_err());
        without_operations(&world).await;
        let later = decide(&mut world, Some(&over), Some(&manual()), false).await;
        assert_eq!(later, Decision::default(), "it is over, and was told how");
    }
}

/// What was told of the change took the place of how it ended.
#[tokio::test]
async fn a_change_that_is_undone_makes_no_failure_of_a_success_nor_a_success_of_a_failure() {
    for (end, is_swept_first) in [(Ok(()), true), (Ok(()), false), (Err("no such commit"), true)] {
        let mut world = world().await;
        let (first, other) = (run("now", "abc"), run("now", "def"));
        decide(&mut world, Some(&first), Some(&manual()), false).await;
        world.complete(end).await;
        let over = decide(&mut world, Some(&first), Some(&manual()), false).await;
        let over = told(&first, &over);
        if is_swept_first {
            without_operations(&world).await;
        }
        let changed = SyncRun { status: over.status.clone(), ..other };
        let refused = decide(&mut world, Some(&changed), Some(&manual()), false).await;
        assert_eq!(status(&refused).unwrap()["conditions"][0]["message"], REVISION_IMMUTABLE);
        let refused = told(&changed, &refused);
        without_operations(&world).await;
        assert!(decide(&mut world, Some(&refused), Some(&manual()), false).await.writes.is_empty(), "it is told");
        let back = SyncRun { status: refused.status.clone(), ..first };
        let again = decide(&mut world, Some(&back), Some(&manual()), false).await;
        match end {
            Ok(()) => assert_eq!(status(&again).unwrap()["conditions"][0]["status"], "False"),
            Err(_) => assert_eq!(again, Decision::default(), "it has failed"),
        }
        assert!(world.all::<Operation>().await.is_empty(), "it is not made again");
    }
}

#[tokio::test]
async fn a_run_that_waited_when_its_operation_was_lost_is_made() {
    let mut world = world().await;
    decide(&mut world, Some(&run("now", "")), Some(&manual()), false).await;
    without_operations(&world).await;
    let again = decide(&mut world, Some(&run("now", "")), Some(&manual()), false).await;
    assert!(again.writes.is_empty(), "nothing is told of what nobody knows: {again:?}");
    let [asked] = &*world.all::<Operation>().await else { panic!("one Operation") };
    let [sync] = &*world.all::<SyncOperation>().await else { panic!("one sync") };
    assert_eq!((asked.resource_id.as_str(), asked.state), (sync.id.as_str(), OperationState::Waiting));
    world.complete(Ok(())).await;
    let over = decide(&mut world, Some(&run("now", "")), Some(&manual()), false).await;
    assert_eq!(status(&over).unwrap()["conditions"][0]["status"], "False");
}

#[tokio::test]
async fn a_run_that_went_well_is_not_made_again_when_its_rows_were_lost() {
    let mut world = world().await;
    decide(&mut world, Some(&run("now", "")), Some(&manual()), false).await;
    world.complete(Ok(())).await;
    let over = decide(&mut world, Some(&run("now", "")), Some(&manual()), false).await;
    let over = told(&run("now", ""), &over);
    without_operations(&world).await;
    for row in world.all::<ApiToDatabase>().await {
        world.ledger.commit(&[Change::delete(&row)]).await.unwrap();
    }
    for row in world.all::<SyncOperation>().await {
        world.ledger.commit(&[Change::delete(&row)]).await.unwrap();
    }
    decide(&mut world, Some(&over), Some(&manual()), false).await;
    assert_eq!((world.all::<SyncOperation>().await.len(), world.all::<Operation>().await.len()), (1, 0));
}
