//! Flows of moves between two Argo CD instances.

use serde_json::Value;
use switchboard_gitops::rows::fleet;

use super::{CrashCase, StepFuture, crash_tests, credentials, deployed, environments, synced};
use crate::fixture::{ARGO, ARGOCD, ServiceFixture, uid};

/// Target of the move.
const OTHER: &str = "argocd-2";

crash_tests! {
    a_placement_is_moved
    a_placement_of_an_environment_is_moved
}

async fn begin(fixture: &ServiceFixture, environment: Option<&str>) {
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", environment).await.unwrap();
    fleet.begin_move(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
}

fn at_target(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        fixture
            .wait_for("the end of the move", async || {
                let rows: Vec<fleet::Move> = fixture.all().await;
                rows.iter().all(|row| row.step.as_str() == "done").then_some(())
            })
            .await;
        let web = fixture.deployment("shop", "web").await.unwrap();
        let (at, application) = fixture.find_application(&uid(&web)).await.unwrap();
        assert_eq!((at.as_str(), &application["metadata"]["annotations"]), (OTHER, &Value::Null));
        assert_eq!(fixture.cascades(), 0, "no deployed resource was deleted");
        let placements: Vec<fleet::Placement> = fixture.all().await;
        assert!(placements.iter().all(|one| one.moving.is_none() && one.epoch == 2), "{placements:?}");
        let left = fixture.list_objects(&format!("{ARGO}/namespaces/{ARGOCD}/appprojects")).await;
        assert!(left.is_empty(), "{left:?}");
        synced(fixture).await;
    })
}

fn a_placement_is_moved() -> CrashCase {
    fn before(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            credentials::create(fixture).await;
            credentials::is_reported(fixture).await;
            deployed(fixture).await;
            fixture.add_instance(OTHER).await;
        })
    }
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(begin(fixture, None))
    }
    CrashCase { before, change, verify: at_target }
}

fn a_placement_of_an_environment_is_moved() -> CrashCase {
    fn before(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            environments::with_created_account(fixture).await;
            fixture.add_instance(OTHER).await;
        })
    }
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(begin(fixture, Some("stage")))
    }
    CrashCase { before, change, verify: at_target }
}
