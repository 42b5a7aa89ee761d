//! Deployments.

use serde_json::{Value, json};
use switchboard_gitops::kinds::deployment::FINALIZER;
use switchboard_ledger::rows::Application;

use super::{Flow, Later, deployed, is_synced, killed, nothing};
use crate::stage::{ARGO, ARGOCD, DEPLOYMENTS, GROUP, Stage, create, plain, send, uid};

killed! {
    a_deployment_is_created
    a_deployment_is_changed
    a_deployment_goes_to_another_environment
    a_deployment_is_made_anew
    a_deployment_is_removed
    a_deployment_with_a_finalizer_is_removed
    an_application_that_somebody_edits_is_put_right
    an_application_that_somebody_takes_away_comes_back
    what_argo_cd_says_is_told
    an_operation_of_somebody_else_is_done
}

fn path() -> String {
    format!("{GROUP}/namespaces/shop/{DEPLOYMENTS}/web")
}

async fn application(stage: &Stage) -> Option<Value> {
    let web = stage.deployment("shop", "web").await?;
    stage.application(&uid(&web)).await
}

async fn application_path(stage: &Stage) -> String {
    let web = uid(&stage.deployment("shop", "web").await.unwrap());
    format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{web}")
}

fn remove(stage: &Stage) -> Later<'_> {
    Box::pin(stage.delete("shop", DEPLOYMENTS, "web"))
}

/// As it was made.
fn right(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        stage
            .until("what the row says", async || {
                application(stage).await.filter(|found| found["spec"]["source"]["path"] == "deploy")
            })
            .await;
        super::synced(stage).await;
    })
}

fn gone(stage: &Stage) -> Later<'_> {
    Box::pin(async {
        let objects = format!("{ARGO}/namespaces/{ARGOCD}/applications");
        stage.until("no Application", async || stage.listed(&objects).await.is_empty().then_some(())).await;
        stage.until("no rows", async || stage.all::<Application>().await.is_empty().then_some(())).await;
        let released = async || stage.deployment("shop", "web").await.is_none().then_some(());
        stage.until("no resource", released).await;
    })
}

fn a_deployment_is_created() -> Flow {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async { drop(stage.deploy("shop", "web", plain()).await) })
    }
    Flow { before: nothing, change, holds: is_synced }
}

fn a_deployment_is_changed() -> Flow {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let spec = json!({"spec": {"source": {"repoURL": "https://git.example/Shop/other", "path": "other"}}});
            send(&stage.tenants, "PATCH", &path(), spec).await.unwrap();
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage
                .until("the change", async || {
                    let web = stage.deployment("shop", "web").await?;
                    (web["status"]["reconciledState"]["source"]["path"] == "other").then_some(())
                })
                .await;
        })
    }
    Flow { before: deployed, change, holds }
}

fn a_deployment_goes_to_another_environment() -> Flow {
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            deployed(stage).await;
            stage.environment("shop", "stage", "token-one").await;
        })
    }
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let there = json!({"spec": {"source": {"path": "other"},
                "destination": {"environment": "stage", "namespace": "web"}}});
            send(&stage.tenants, "PATCH", &path(), there).await.unwrap();
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage
                .until("the other environment", async || {
                    let there = &application(stage).await?["spec"];
                    let is_there = there["destination"]["name"].as_str()?.starts_with("managed-env-");
                    (is_there && there["source"]["path"] == "other").then_some(())
                })
                .await;
            stage.until("its Secret", async || stage.secrets_of_argo().await.pop()).await;
        })
    }
    Flow { before, change, holds }
}

fn a_deployment_is_made_anew() -> Flow {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage.delete("shop", DEPLOYMENTS, "web").await;
            let mut spec = plain();
            spec["source"]["path"] = "anew".into();
            stage.deploy("shop", "web", spec).await;
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage
                .until("the new one", async || {
                    application(stage).await.filter(|found| found["spec"]["source"]["path"] == "anew")
                })
                .await;
            let all = format!("{ARGO}/applications");
            stage.until("it alone", async || (stage.listed(&all).await.len() == 1).then_some(())).await;
            super::synced(stage).await;
        })
    }
    Flow { before: deployed, change, holds }
}

fn a_deployment_is_removed() -> Flow {
    Flow { before: deployed, change: remove, holds: gone }
}

fn a_deployment_with_a_finalizer_is_removed() -> Flow {
    fn before(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            deployed(stage).await;
            let finalizers = json!({"metadata": {"finalizers": [FINALIZER]}});
            send(&stage.tenants, "PATCH", &path(), finalizers).await.unwrap();
        })
    }
    Flow { before, change: remove, holds: gone }
}

fn an_application_that_somebody_edits_is_put_right() -> Flow {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let edit = json!({"spec": {"source": {"path": "elsewhere"}}});
            send(&stage.engine, "PATCH", &application_path(stage).await, edit).await.unwrap();
        })
    }
    Flow { before: deployed, change, holds: right }
}

fn an_application_that_somebody_takes_away_comes_back() -> Flow {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            send(&stage.engine, "DELETE", &application_path(stage).await, Value::Null).await.unwrap();
        })
    }
    Flow { before: deployed, change, holds: right }
}

fn what_argo_cd_says_is_told() -> Flow {
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let said = json!({"status": {"health": {"status": "Degraded"},
                "conditions": [{"type": "ComparisonError", "message": "no such path"}]}});
            send(&stage.engine, "PATCH", &application_path(stage).await, said).await.unwrap();
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage
                .until("what it says", async || {
                    let web = stage.deployment("shop", "web").await?;
                    let conditions = web["status"]["conditions"].as_array()?;
                    let is_told =
                        conditions.iter().any(|one| one["type"] == "ComparisonError" && one["status"] == "True");
                    (is_told && web["status"]["health"]["status"] == "Degraded").then_some(())
                })
                .await;
        })
    }
    Flow { before: deployed, change, holds }
}

/// As the original's end-to-end tests write one: a row, and a resource of any name.
fn an_operation_of_somebody_else_is_done() -> Flow {
    use switchboard_ledger::ids::{OperationResource, OperationState};
    use switchboard_ledger::rows::{ApplicationOwner, Operation};
    use switchboard_ledger::{Change, Moment};
    fn change(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            let row: Application = stage.all().await.remove(0);
            let owner: ApplicationOwner = stage.all().await.remove(0);
            let now = Moment::from_unix_us(jiff::Timestamp::now().as_microsecond());
            let wish = Operation {
                id: "by-hand".into(),
                instance: row.instance.clone(),
                resource_id: row.id.to_string(),
                owner: Some(owner.user),
                resource: OperationResource::Application,
                created_on: now,
                last_state_update: now,
                state: OperationState::Waiting,
                human_readable_state: None,
                gc_expiration_s: None,
            };
            let other = Application { spec_field: row.spec_field.replace("deploy", "by-hand"), ..row.clone() };
            stage.ledger.commit(&[Change::update(&row, &other), Change::insert(&wish)]).await.unwrap();
            let ring = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "Operation",
                "metadata": {"name": "test-operation"}, "spec": {"operationID": "by-hand"}});
            create(&stage.engine, &format!("{GROUP}/namespaces/{ARGOCD}/operations"), ring).await;
        })
    }
    fn holds(stage: &Stage) -> Later<'_> {
        Box::pin(async {
            stage
                .until("its end", async || {
                    let rows: Vec<Operation> = stage.all().await;
                    rows.into_iter().find(|row| row.id.as_str() == "by-hand" && row.state == OperationState::Completed)
                })
                .await;
            super::synced(stage).await;
        })
    }
    Flow { before: deployed, change, holds }
}
