//! What somebody takes away from Argo CD comes back, whether anybody looked or not.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::base::{Base, on_both};
use crate::stage::{ARGO, ARGOCD, CREDENTIAL_SECRET, CREDENTIALS, DEPLOYMENTS, Stage, create, plain, send, uid};

on_both! {
    what_went_while_the_agent_was_away_comes_back
    what_is_edited_or_deleted_is_put_right
    an_application_is_what_its_row_says_and_nothing_more
    an_application_that_no_row_knows_goes_and_what_it_deployed_stays
}

/// A deployment to an environment, from a repository with a credential.
async fn deployed(stage: &Stage) -> String {
    stage.environment("shop", "stage", "token-one").await;
    stage.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "one"})).await;
    let spec = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    stage.make("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", spec).await;
    let mut spec = plain();
    spec["destination"] = json!({"environment": "stage", "namespace": "web"});
    let web = uid(&stage.deploy("shop", "web", spec).await);
    stage
        .until("a status", async || {
            stage.deployment("shop", "web").await.filter(|web| web["status"]["sync"]["status"] == "Synced")
        })
        .await;
    stage.until("both Secrets", async || (stage.secrets_of_argo().await.len() == 2).then_some(())).await;
    stage.settled().await;
    web
}

fn projects() -> String {
    format!("{ARGO}/namespaces/{ARGOCD}/appprojects")
}

/// What is there of the tenant, as far as it is ours.
async fn belongings(stage: &Stage) -> Vec<(Value, Value, Value)> {
    let mut all = stage.secrets_of_argo().await;
    all.extend(stage.listed(&projects()).await);
    all.extend(stage.listed(&format!("{ARGO}/namespaces/{ARGOCD}/applications")).await);
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

async fn what_went_while_the_agent_was_away_comes_back(base: Base) {
    let mut stage = Stage::new(base).await;
    let web = deployed(&stage).await;
    let before = belongings(&stage).await;
    stage.kill().await;
    let mut all = stage.secrets_of_argo().await;
    all.extend(stage.listed(&projects()).await);
    for object in &all {
        send(&stage.engine, "DELETE", &path_of(object), Value::Null).await.unwrap();
    }
    let application = format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{web}");
    send(&stage.engine, "DELETE", &application, Value::Null).await.unwrap();
    stage.start().await;
    stage.until("all of it", async || (belongings(&stage).await == before).then_some(())).await;
    // One that lost its label is still ours.
    stage.settled().await;
    stage.kill().await;
    let stripped = json!({"metadata": {"labels": {"databaseID": null}}, "spec": {"project": "default"}});
    send(&stage.engine, "PATCH", &application, stripped).await.unwrap();
    stage.start().await;
    stage
        .until("its label", async || {
            let found = stage.application(&web).await?;
            (found["metadata"]["labels"]["databaseID"].is_string() && found["spec"]["project"] != "default")
                .then_some(())
        })
        .await;
}

async fn what_is_edited_or_deleted_is_put_right(base: Base) {
    let stage = Stage::new(base).await;
    deployed(&stage).await;
    let before = belongings(&stage).await;
    for object in stage.secrets_of_argo().await {
        let edited = json!({"metadata": {"labels": {"databaseID": null}}, "data": {"project": "ZGVmYXVsdA=="}});
        send(&stage.engine, "PATCH", &path_of(&object), edited).await.unwrap();
        stage.until("the Secret as it was", async || (belongings(&stage).await == before).then_some(())).await;
        stage.settled().await;
        send(&stage.engine, "DELETE", &path_of(&object), Value::Null).await.unwrap();
        stage.until("the Secret again", async || (belongings(&stage).await == before).then_some(())).await;
        stage.settled().await;
    }
    let project = stage.listed(&projects()).await.remove(0);
    for widened in [
        json!({"sourceRepos": ["*"]}),
        json!({"clusterResourceWhitelist": [{"group": "*", "kind": "*"}], "sourceNamespaces": ["*"]}),
        json!({"roles": [{"name": "admin", "policies": ["p, proj:x:admin, *, *, *, allow"]}]}),
    ] {
        send(&stage.engine, "PATCH", &path_of(&project), json!({"spec": widened})).await.unwrap();
        stage.until("the project as it was", async || (belongings(&stage).await == before).then_some(())).await;
        stage.settled().await;
    }
    send(&stage.engine, "DELETE", &path_of(&project), Value::Null).await.unwrap();
    stage.until("the project again", async || (belongings(&stage).await == before).then_some(())).await;
}

async fn an_application_is_what_its_row_says_and_nothing_more(base: Base) {
    let stage = Stage::new(base).await;
    let web = deployed(&stage).await;
    let other = uid(&stage.deploy("shop", "other", plain()).await);
    let other = stage.until("another", async || stage.application(&other).await).await;
    stage.settled().await;
    let before = stage.application(&web).await.unwrap();
    let path = format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{web}");
    for edited in [
        json!({"spec": {"sources": [{"repoURL": "https://other.example/x", "path": "."}], "revisionHistoryLimit": 0}}),
        json!({"spec": {"ignoreDifferences": [{"group": "*", "kind": "*", "jsonPointers": ["/"]}], "info": [{"name": "a", "value": "b"}]}}),
        // By its label nobody would find its row: neither one that is not there nor somebody else's.
        json!({"metadata": {"labels": {"databaseID": "nobody"}}, "spec": {"project": "default"}}),
        json!({"metadata": {"labels": {"databaseID": other["metadata"]["labels"]["databaseID"]}}}),
    ] {
        send(&stage.engine, "PATCH", &path, edited).await.unwrap();
        stage
            .until("the Application as it was", async || {
                let found = stage.application(&web).await?;
                let same =
                    found["spec"] == before["spec"] && found["metadata"]["labels"] == before["metadata"]["labels"];
                same.then_some(())
            })
            .await;
        stage.settled().await;
    }
}

/// An Application with our label, of a row that never was.
async fn stray(stage: &Stage, namespace: &str, number: u8) -> String {
    let name = format!("gitopsdepl-{number:08}-0000-4000-8000-000000000000");
    let body = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "spec": {"project": "default"},
        "metadata": {"name": name, "labels": {"databaseID": format!("row-{number}")},
            "finalizers": ["resources-finalizer.argocd.argoproj.io"]}});
    let path = format!("{ARGO}/namespaces/{namespace}/applications");
    create(&stage.engine, &path, body).await;
    format!("{path}/{name}")
}

/// Whether an Application is about to go.
async fn leaving(stage: &Stage, deployment: &str) -> Option<()> {
    let found = stage.application(deployment).await?;
    found["metadata"]["deletionTimestamp"].is_string().then_some(())
}

async fn an_application_that_no_row_knows_goes_and_what_it_deployed_stays(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.orphan_grace = Duration::from_millis(300);
    stage.start().await;
    let web = uid(&stage.deploy("shop", "web", plain()).await);
    stage.until("an Application", async || stage.application(&web).await).await;
    // A namespace that is no Argo CD of this database is somebody else's.
    create(&stage.engine, "/api/v1/namespaces", json!({"metadata": {"name": "others"}})).await;
    let others = stray(&stage, "others", 1).await;
    let ours = stray(&stage, ARGOCD, 2).await;
    let gone = async || send(&stage.engine, "GET", &ours, Value::Null).await.is_err().then_some(());
    stage.until("it to go", gone).await;
    assert_eq!(stage.cascades(), 0, "what it deployed stays");
    stage.settled().await;
    for kept in [others, format!("{ARGO}/namespaces/{ARGOCD}/applications/gitopsdepl-{web}")] {
        assert!(send(&stage.engine, "GET", &kept, Value::Null).await.is_ok(), "{kept}");
    }
    // One that is being removed is the removal's, however long that takes.
    stage.argo.stuck(true);
    stage.delete("shop", DEPLOYMENTS, "web").await;
    stage.until("a deletion", async || leaving(&stage, &web).await).await;
    stage.kill().await;
    stage.start().await;
    let (later, from) = (stage.orphan_grace * 3, Instant::now());
    stage.until("a while", async || (from.elapsed() > later).then_some(())).await;
    assert!(leaving(&stage, &web).await.is_some(), "it waits for what it deployed");
    stage.argo.stuck(false);
    stage.until("its end", async || stage.application(&web).await.is_none().then_some(())).await;
    assert_eq!(stage.cascades(), 1);
}
