//! Objects of Argo CD that a user deletes or edits are restored, with or without a running agent.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::database::{TestDatabase, on_both};
use crate::fixture::{
    ARGO, ARGOCD, CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, ServiceFixture, create, plain, send, uid,
};

on_both! {
    objects_deleted_while_the_agent_was_down_are_restored
    edited_or_deleted_objects_are_restored
    an_application_matches_its_row_exactly
    an_orphaned_application_is_deleted_without_its_resources
}

/// Creates a deployment to an environment, from a repository with a credential.
async fn deployed(fixture: &ServiceFixture) -> String {
    fixture.environment("shop", "stage", "token-one").await;
    fixture.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
    let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    fixture.create_resource("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let mut spec = plain();
    spec["destination"] = json!({"environment": "stage", "namespace": "web"});
    let web = uid(&fixture.deploy("shop", "web", spec).await);
    fixture
        .wait_for("a status", async || {
            fixture.deployment("shop", "web").await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
    fixture.wait_for("both Secrets", async || (fixture.argocd_secrets().await.len() == 2).then_some(())).await;
    fixture.wait_until_settled().await;
    web
}

fn projects() -> String {
    format!("{ARGO}/namespaces/{ARGOCD}/appprojects")
}

/// Objects of the tenant that belong to the service.
async fn argocd_objects(fixture: &ServiceFixture) -> Vec<(Value, Value, Value)> {
    let mut all = fixture.argocd_secrets().await;
    all.extend(fixture.list_objects(&projects()).await);
    all.extend(fixture.list_objects(&format!("{ARGO}/namespaces/{ARGOCD}/applications")).await);
    let ours = |one: Value| (one["metadata"]["name"].clone(), one["data"].clone(), one["spec"].clone());
    let mut ours: Vec<_> = all.into_iter().map(ours).collect();
    ours.sort_by_key(|(name, ..)| name.to_string());
    ours
}

fn path_of(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap();
    match name.starts_with("app-project-") {
        true => format!("{}/{name}", projects()),
        false => format!("/api/v1/namespaces/{ARGOCD}/secrets/{name}"),
    }
}

async fn objects_deleted_while_the_agent_was_down_are_restored(database: TestDatabase) {
    let mut fixture = ServiceFixture::new(database).await;
    let web = deployed(&fixture).await;
    let before = argocd_objects(&fixture).await;
    fixture.kill().await;
    let mut all = fixture.argocd_secrets().await;
    all.extend(fixture.list_objects(&projects()).await);
    for object in &all {
        send(&fixture.engine, "DELETE", &path_of(object), Value::Null).await.unwrap();
    }
    let application = format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{web}");
    send(&fixture.engine, "DELETE", &application, Value::Null).await.unwrap();
    fixture.start().await;
    fixture.wait_for("all of it", async || (argocd_objects(&fixture).await == before).then_some(())).await;
    // An object without its label still belongs to the service.
    fixture.wait_until_settled().await;
    fixture.kill().await;
    let stripped = json!({"metadata": {"labels": {"databaseID": null}}, "spec": {"project": "default"}});
    send(&fixture.engine, "PATCH", &application, stripped).await.unwrap();
    fixture.start().await;
    fixture
        .wait_for("its label", async || {
            let found = fixture.application(&web).await?;
            (found["metadata"]["labels"]["databaseID"].is_string() && found["spec"]["project"] != "default")
                .then_some(())
        })
        .await;
}

async fn edited_or_deleted_objects_are_restored(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    deployed(&fixture).await;
    let before = argocd_objects(&fixture).await;
    for object in fixture.argocd_secrets().await {
        let edited = json!({"metadata": {"labels": {"databaseID": null}}, "data": {"project": "ZGVmYXVsdA=="}});
        send(&fixture.engine, "PATCH", &path_of(&object), edited).await.unwrap();
        fixture
            .wait_for("the Secret as it was", async || (argocd_objects(&fixture).await == before).then_some(()))
            .await;
        fixture.wait_until_settled().await;
        send(&fixture.engine, "DELETE", &path_of(&object), Value::Null).await.unwrap();
        fixture.wait_for("the Secret again", async || (argocd_objects(&fixture).await == before).then_some(())).await;
        fixture.wait_until_settled().await;
    }
    let project = fixture.list_objects(&projects()).await.remove(0);
    for widened in [
        json!({"sourceRepos": ["*"]}),
        json!({"clusterResourceWhitelist": [{"group": "*", "kind": "*"}], "sourceNamespaces": ["*"]}),
        json!({"roles": [{"name": "admin", "policies": ["p, proj:x:admin, *, *, *, allow"]}]}),
    ] {
        send(&fixture.engine, "PATCH", &path_of(&project), json!({"spec": widened})).await.unwrap();
        fixture
            .wait_for("the project as it was", async || (argocd_objects(&fixture).await == before).then_some(()))
            .await;
        fixture.wait_until_settled().await;
    }
    send(&fixture.engine, "DELETE", &path_of(&project), Value::Null).await.unwrap();
    fixture.wait_for("the project again", async || (argocd_objects(&fixture).await == before).then_some(())).await;
}

async fn an_application_matches_its_row_exactly(database: TestDatabase) {
    let fixture = ServiceFixture::new(database).await;
    let web = deployed(&fixture).await;
    let other = uid(&fixture.deploy("shop", "other", plain()).await);
    let other = fixture.wait_for("another", async || fixture.application(&other).await).await;
    fixture.wait_until_settled().await;
    let before = fixture.application(&web).await.unwrap();
    let path = format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{web}");
    for edited in [
        json!({"spec": {"sources": [{"repoURL": "https://other.example/x", "path": "."}], "revisionHistoryLimit": 0}}),
        json!({"spec": {"ignoreDifferences": [{"group": "*", "kind": "*", "jsonPointers": ["/"]}], "info": [{"name": "a", "value": "b"}]}}),
        // With such a label, a lookup finds no row or another Application's row.
        json!({"metadata": {"labels": {"databaseID": "unknown"}}, "spec": {"project": "default"}}),
        json!({"metadata": {"labels": {"databaseID": other["metadata"]["labels"]["databaseID"]}}}),
    ] {
        send(&fixture.engine, "PATCH", &path, edited).await.unwrap();
        fixture
            .wait_for("the Application as it was", async || {
                let found = fixture.application(&web).await?;
                let same =
                    found["spec"] == before["spec"] && found["metadata"]["labels"] == before["metadata"]["labels"];
                same.then_some(())
            })
            .await;
        fixture.wait_until_settled().await;
    }
}

/// Creates an Application with the service's label for a row that never existed.
async fn create_orphan(fixture: &ServiceFixture, namespace: &str, number: u8) -> String {
    let name = format!("gitopsdepl-{number:08}-0000-4000-8000-000000000000");
    let body = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "spec": {"project": "default"},
        "metadata": {"name": name, "labels": {"databaseID": format!("row-{number}")},
            "finalizers": ["resources-finalizer.argocd.argoproj.io"]}});
    let path = format!("{ARGO}/namespaces/{namespace}/applications");
    create(&fixture.engine, &path, body).await;
    format!("{path}/{name}")
}

/// Whether an Application is being deleted.
async fn is_terminating(fixture: &ServiceFixture, deployment: &str) -> Option<()> {
    let found = fixture.application(deployment).await?;
    found["metadata"]["deletionTimestamp"].is_string().then_some(())
}

async fn an_orphaned_application_is_deleted_without_its_resources(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.orphan_grace = Duration::from_millis(300);
    fixture.start().await;
    let web = uid(&fixture.deploy("shop", "web", plain()).await);
    fixture.wait_for("an Application", async || fixture.application(&web).await).await;
    // A namespace that is not an Argo CD instance of this database is left alone.
    create(&fixture.engine, "/api/v1/namespaces", json!({"metadata": {"name": "others"}})).await;
    let others = create_orphan(&fixture, "others", 1).await;
    let ours = create_orphan(&fixture, ARGOCD, 2).await;
    let gone = async || send(&fixture.engine, "GET", &ours, Value::Null).await.is_err().then_some(());
    fixture.wait_for("it to go", gone).await;
    assert_eq!(fixture.cascades(), 0, "its resources stay");
    fixture.wait_until_settled().await;
    for kept in [others, format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{web}")] {
        assert!(send(&fixture.engine, "GET", &kept, Value::Null).await.is_ok(), "{kept}");
    }
    // A running deletion is not an orphan, however long it takes.
    fixture.fake_argocd.stuck(true);
    fixture.delete("shop", DEPLOYMENTS, "web").await;
    fixture.wait_for("a deletion", async || is_terminating(&fixture, &web).await).await;
    fixture.kill().await;
    fixture.start().await;
    let (later, from) = (fixture.orphan_grace * 3, Instant::now());
    fixture.wait_for("a while", async || (from.elapsed() > later).then_some(())).await;
    assert!(is_terminating(&fixture, &web).await.is_some(), "it waits for its resources");
    fixture.fake_argocd.stuck(false);
    fixture.wait_for("its end", async || fixture.application(&web).await.is_none().then_some(())).await;
    assert_eq!(fixture.cascades(), 1);
}
