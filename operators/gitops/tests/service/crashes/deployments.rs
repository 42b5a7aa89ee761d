//! Flows of deployments.

use serde_json::{Value, json};
use switchboard_gitops::deployment::kind::FINALIZER;
use switchboard_gitops::rows::Application;

use super::{CrashCase, StepFuture, crash_tests, deployed, is_synced, nothing};
use crate::fixture::{ARGO, ARGOCD, DEPLOYMENTS, GROUP, ServiceFixture, create, plain, send, uid};

crash_tests! {
    a_deployment_is_created
    a_deployment_is_changed
    a_deployment_changes_its_environment
    a_deployment_is_recreated
    a_deployment_is_removed
    a_deployment_with_a_finalizer_is_removed
    an_edited_application_is_restored
    a_deleted_application_is_restored
    the_status_of_argo_cd_is_reported
    an_operation_of_another_client_is_completed
}

fn path() -> String {
    format!("{GROUP}/namespaces/shop/{DEPLOYMENTS}/web")
}

async fn application(fixture: &ServiceFixture) -> Option<Value> {
    let web = fixture.deployment("shop", "web").await?;
    fixture.application(&uid(&web)).await
}

async fn application_path(fixture: &ServiceFixture) -> String {
    let web = uid(&fixture.deployment("shop", "web").await.unwrap());
    format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{web}")
}

fn remove(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(fixture.delete("shop", DEPLOYMENTS, "web"))
}

/// Expects the Application as it was created.
fn as_created(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        fixture
            .wait_for("the Application of the row", async || {
                application(fixture).await.filter(|found| found["spec"]["source"]["path"] == "deploy")
            })
            .await;
        super::synced(fixture).await;
    })
}

fn gone(fixture: &ServiceFixture) -> StepFuture<'_> {
    Box::pin(async {
        let objects = format!("{ARGO}/namespaces/{ARGOCD}/applications");
        fixture
            .wait_for("no Application", async || fixture.list_objects(&objects).await.is_empty().then_some(()))
            .await;
        fixture.wait_for("no rows", async || fixture.all::<Application>().await.is_empty().then_some(())).await;
        let released = async || fixture.deployment("shop", "web").await.is_none().then_some(());
        fixture.wait_for("no resource", released).await;
    })
}

fn a_deployment_is_created() -> CrashCase {
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async { drop(fixture.deploy("shop", "web", plain()).await) })
    }
    CrashCase { before: nothing, change, verify: is_synced }
}

fn a_deployment_is_changed() -> CrashCase {
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            let spec = json!({"spec": {"source": {"repoURL": "https://git.example/Shop/other", "path": "other"}}});
            send(&fixture.tenants, "PATCH", &path(), spec).await.unwrap();
        })
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            fixture
                .wait_for("the change", async || {
                    let web = fixture.deployment("shop", "web").await?;
                    (web["status"]["reconciledState"]["source"]["path"] == "other").then_some(())
                })
                .await;
        })
    }
    CrashCase { before: deployed, change, verify }
}

fn a_deployment_changes_its_environment() -> CrashCase {
    fn before(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            deployed(fixture).await;
            fixture.environment("shop", "stage", "token-one").await;
        })
    }
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            let there = json!({"spec": {"source": {"path": "other"},
                "destination": {"environment": "stage", "namespace": "web"}}});
            send(&fixture.tenants, "PATCH", &path(), there).await.unwrap();
        })
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            fixture
                .wait_for("the other environment", async || {
                    let there = &application(fixture).await?["spec"];
                    let is_there = there["destination"]["name"].as_str()?.starts_with("managed-env-");
                    (is_there && there["source"]["path"] == "other").then_some(())
                })
                .await;
            fixture.wait_for("its Secret", async || fixture.argocd_secrets().await.pop()).await;
        })
    }
    CrashCase { before, change, verify }
}

fn a_deployment_is_recreated() -> CrashCase {
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            fixture.delete("shop", DEPLOYMENTS, "web").await;
            let mut spec = plain();
            spec["source"]["path"] = "changed-again".into();
            fixture.deploy("shop", "web", spec).await;
        })
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            fixture
                .wait_for("the new one", async || {
                    application(fixture).await.filter(|found| found["spec"]["source"]["path"] == "changed-again")
                })
                .await;
            let all = format!("{ARGO}/applications");
            fixture.wait_for("it alone", async || (fixture.list_objects(&all).await.len() == 1).then_some(())).await;
            super::synced(fixture).await;
        })
    }
    CrashCase { before: deployed, change, verify }
}

fn a_deployment_is_removed() -> CrashCase {
    CrashCase { before: deployed, change: remove, verify: gone }
}

fn a_deployment_with_a_finalizer_is_removed() -> CrashCase {
    fn before(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            deployed(fixture).await;
            let finalizers = json!({"metadata": {"finalizers": [FINALIZER]}});
            send(&fixture.tenants, "PATCH", &path(), finalizers).await.unwrap();
        })
    }
    CrashCase { before, change: remove, verify: gone }
}

fn an_edited_application_is_restored() -> CrashCase {
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            let edit = json!({"spec": {"source": {"path": "elsewhere"}}});
            send(&fixture.engine, "PATCH", &application_path(fixture).await, edit).await.unwrap();
        })
    }
    CrashCase { before: deployed, change, verify: as_created }
}

fn a_deleted_application_is_restored() -> CrashCase {
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            send(&fixture.engine, "DELETE", &application_path(fixture).await, Value::Null).await.unwrap();
        })
    }
    CrashCase { before: deployed, change, verify: as_created }
}

fn the_status_of_argo_cd_is_reported() -> CrashCase {
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            let said = json!({"status": {"health": {"status": "Degraded"},
                "conditions": [{"type": "ComparisonError", "message": "no such path"}]}});
            send(&fixture.engine, "PATCH", &application_path(fixture).await, said).await.unwrap();
        })
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            fixture
                .wait_for("what it says", async || {
                    let web = fixture.deployment("shop", "web").await?;
                    let conditions = web["status"]["conditions"].as_array()?;
                    let is_told =
                        conditions.iter().any(|one| one["type"] == "ComparisonError" && one["status"] == "True");
                    (is_told && web["status"]["health"]["status"] == "Degraded").then_some(())
                })
                .await;
        })
    }
    CrashCase { before: deployed, change, verify }
}

/// As in managed-gitops' end-to-end tests: a row, and a resource of any name.
fn an_operation_of_another_client_is_completed() -> CrashCase {
    use switchboard_gitops::ids::{OperationResource, OperationState};
    use switchboard_gitops::rows::{ApplicationOwner, Operation};
    use switchboard_sql::{DbTimestamp, RowChange};
    fn change(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            let row: Application = fixture.all().await.remove(0);
            let owner: ApplicationOwner = fixture.all().await.remove(0);
            let now = DbTimestamp::from_unix_us(jiff::Timestamp::now().as_microsecond());
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
            fixture.ledger.commit(&[RowChange::update(&row, &other), RowChange::insert(&wish)]).await.unwrap();
            let ring = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "Operation",
                "metadata": {"name": "test-operation"}, "spec": {"operationID": "by-hand"}});
            create(&fixture.engine, &format!("{GROUP}/namespaces/{ARGOCD}/operations"), ring).await;
        })
    }
    fn verify(fixture: &ServiceFixture) -> StepFuture<'_> {
        Box::pin(async {
            fixture
                .wait_for("its end", async || {
                    let rows: Vec<Operation> = fixture.all().await;
                    rows.into_iter().find(|row| row.id.as_str() == "by-hand" && row.state == OperationState::Completed)
                })
                .await;
            super::synced(fixture).await;
        })
    }
    CrashCase { before: deployed, change, verify }
}
