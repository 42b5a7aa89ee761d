//! Moves between two Argo CDs.

use serde_json::Value;
use switchboard_ledger::rows::fleet;

use super::{Flow, Later, credentials, deployed, environments, killed, synced};
use crate::stage::{ARGO, ARGOCD, Stage, uid};

/// The Argo CD that a unit moves to.
const OTHER: &str = "argocd-2";

killed! {
    a_unit_is_moved
    a_unit_of_an_environment_is_moved
}

async fn begin(stage: &Stage, environment: Option<&str>) {
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", environment).await.unwrap();
    fleet.begin(&unit, &fleet.instance(OTHER).await.unwrap()).await.unwrap();
}

fn there(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        stage
            .until("the end of the move", async || {
                let rows: Vec<fleet::Move> = stage.all().await;
                rows.iter().all(|row| row.step.as_str() == "done").then_some(())
            })
            .await;
        let web = stage.deployment("shop", "web").await.unwrap();
        let (at, application) = stage.anywhere(&uid(&web)).await.unwrap();
        assert_eq!((at.as_str(), &application["metadata"]["annotations"]), (OTHER, &Value::Null));
        assert_eq!(stage.cascades(), 0, "nothing that was deployed went");
        let placements: Vec<fleet::Placement> = stage.all().await;
        assert!(placements.iter().all(|one| one.moving.is_none() && one.epoch == 2), "{placements:?}");
        let left = stage.listed(&format!("{ARGO}/namespaces/{ARGOCD}/appprojects")).await;
        assert!(left.is_empty(), "{left:?}");
        synced(stage).await;
    })
}

fn a_unit_is_moved() -> Flow {
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            credentials::create(stage).await;
            credentials::is_told(stage).await;
            deployed(stage).await;
            stage.add_instance(OTHER).await;
        })
    }
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(begin(stage, None))
    }
    Flow { before, change, holds: there }
}

fn a_unit_of_an_environment_is_moved() -> Flow {
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            environments::with_own(stage).await;
            stage.add_instance(OTHER).await;
        })
    }
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(begin(stage, Some("stage")))
    }
    Flow { before, change, holds: there }
}
