//! What a unit is deployed with changes, or goes, while the unit is on its way to another Argo CD.

use serde_json::{Value, json};
use switchboard_ledger::ids::MoveStep;
use switchboard_ledger::rows::fleet::Move;
use switchboard_ledger::rows::{ClusterCredentials, RepositoryCredentials};

use crate::base::{Base, on_both};
use crate::fleet::{OTHER, elsewhere, on_two, placed, to_environment, until_step};
use crate::stage::{CREDENTIAL_SECRET, CREDENTIALS, Side, Stage, decoded, kubeconfig, plain, send};

on_both! {
    a_credential_that_changes_on_the_way_arrives
    a_credential_that_was_asked_for_too_late_is_not_left_behind
    a_login_that_changes_on_the_way_arrives
    a_login_that_is_deleted_on_the_way_is_nowhere
    what_was_edited_while_a_unit_moved_is_put_right
}

/// Both roles at work, but for moves: those are carried by the test.
async fn stage(base: Base) -> Stage {
    let mut stage = Stage::set(base, false).await;
    stage.carries = false;
    stage.start().await;
    stage.add_instance(OTHER).await;
    stage
}

/// Begins to move a unit, and goes on until its Applications are copied.
async fn half_way(stage: &Stage, environment: Option<&str>, to: &str) -> Move {
    let fleet = stage.fleet();
    let (unit, _) = fleet.unit("shop", environment).await.unwrap();
    let row = fleet.begin(&unit, &fleet.instance(to).await.unwrap()).await.unwrap();
    until_step(stage, &row, MoveStep::Pause).await;
    row
}

async fn to_the_end(stage: &Stage, row: &Move) {
    assert_eq!(stage.fleet().finish(&row.id, |_| ()).await.unwrap().step, MoveStep::Done);
}

/// Where Secrets of ours are of whose value this holds.
async fn held(stage: &Stage, key: &str, words: &str) -> Vec<String> {
    let all = stage.secrets_of_argo().await;
    let found = all.iter().filter(|one| decoded(one, key).contains(words));
    found.map(|one| one["metadata"]["namespace"].as_str().unwrap().to_string()).collect()
}

/// Gives the environment another token, and waits until its row has it.
async fn rotated(stage: &Stage) {
    let rotated = json!({"stringData": {"kubeconfig": kubeconfig("token-two")}});
    send(&stage.tenants, "PATCH", "/api/v1/namespaces/shop/secrets/stage-secret", rotated).await.unwrap();
    stage
        .until("the other token in its row", async || {
            let rows: Vec<ClusterCredentials> = stage.all().await;
            let of =
                |row: &ClusterCredentials| row.bearer_token.as_ref().is_some_and(|one| one.expose() == "token-two");
            rows.iter().any(of).then_some(())
        })
        .await;
}

async fn a_credential_that_changes_on_the_way_arrives(base: Base) {
    let stage = stage(base).await;
    stage.environment("shop", "stage", "token-one").await;
    let (_, from) = to_environment(&stage, "stage", "web").await;
    stage.settled().await;
    let to = elsewhere(&from);
    let row = half_way(&stage, Some("stage"), to).await;
    assert_eq!(held(&stage, "config", "token-one").await.len(), 2, "it is prepared");
    rotated(&stage).await;
    stage.settled().await;
    to_the_end(&stage, &row).await;
    stage
        .until("the other token there", async || (held(&stage, "config", "token-two").await == [to]).then_some(()))
        .await;
    assert!(held(&stage, "config", "token-one").await.is_empty());
}

/// No agent is there when the token changes, nor when the unit arrives: what was asked for at the source is found there later.
async fn a_credential_that_was_asked_for_too_late_is_not_left_behind(base: Base) {
    let mut stage = Stage::set(base, false).await;
    stage.carries = false;
    stage.start_side(Side::Backend, None, stage.clients()).await;
    stage.start_side(Side::Agent, None, stage.clients()).await;
    stage.add_instance(OTHER).await;
    stage.environment("shop", "stage", "token-one").await;
    let (_, from) = to_environment(&stage, "stage", "web").await;
    stage.settled().await;
    let to = elsewhere(&from);
    stage.kill_side(Side::Agent).await;
    let row = half_way(&stage, Some("stage"), to).await;
    rotated(&stage).await;
    to_the_end(&stage, &row).await;
    stage.start_side(Side::Agent, None, stage.clients()).await;
    stage.settled().await;
    assert_eq!(held(&stage, "config", "token").await, [to]);
}

async fn with_login(stage: &Stage) -> String {
    stage.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "password-one"})).await;
    let repository = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    stage.make("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", repository).await;
    stage.until("a Secret", async || stage.secrets_of_argo().await.pop()).await;
    let (_, from) = placed(stage, "shop", "web", plain()).await;
    stage.settled().await;
    from
}

async fn a_login_that_changes_on_the_way_arrives(base: Base) {
    let stage = stage(base).await;
    let to = elsewhere(&with_login(&stage).await);
    let row = half_way(&stage, None, to).await;
    let path = "/api/v1/namespaces/shop/secrets/login";
    send(&stage.tenants, "PATCH", path, json!({"stringData": {"password": "password-two"}})).await.unwrap();
    stage
        .until("the other password in its row", async || {
            let rows: Vec<RepositoryCredentials> = stage.all().await;
            rows[0].password.as_ref().is_some_and(|one| one.expose() == "password-two").then_some(())
        })
        .await;
    stage.settled().await;
    to_the_end(&stage, &row).await;
    stage.until("it is there", async || (held(&stage, "password", "password-two").await == [to]).then_some(())).await;
    assert!(held(&stage, "password", "password-one").await.is_empty());
}

async fn a_login_that_is_deleted_on_the_way_is_nowhere(base: Base) {
    let stage = stage(base).await;
    let to = elsewhere(&with_login(&stage).await);
    let row = half_way(&stage, None, to).await;
    assert_eq!(held(&stage, "password", "password-one").await.len(), 2, "it is prepared");
    stage.delete("shop", CREDENTIALS, "git").await;
    stage.until("no row", async || stage.all::<RepositoryCredentials>().await.is_empty().then_some(())).await;
    stage.settled().await;
    to_the_end(&stage, &row).await;
    stage.until("no Secret", async || stage.secrets_of_argo().await.is_empty().then_some(())).await;
}

/// What another unit of the tenant has is touched by nobody, either.
async fn what_was_edited_while_a_unit_moved_is_put_right(base: Base) {
    let stage = stage(base).await;
    let [(_, first), (_, second)] = on_two(&stage).await;
    stage.settled().await;
    let row = half_way(&stage, Some("one"), elsewhere(&first)).await;
    let secrets = stage.secrets_of_argo().await;
    let of_two = secrets.iter().find(|one| decoded(one, "config").contains("token-two")).unwrap();
    let path = format!("/api/v1/namespaces/{second}/secrets/{}", of_two["metadata"]["name"].as_str().unwrap());
    let runs = stage.runs().await;
    let edited = json!({"stringData": {"config": "{}"}});
    send(&stage.engine, "PATCH", &path, edited).await.unwrap();
    stage.until("a look at it", async || (stage.runs().await > runs).then_some(())).await;
    assert!(held(&stage, "config", "token-two").await.is_empty(), "while a unit moves it stays so");
    to_the_end(&stage, &row).await;
    stage
        .until("it is as before", async || {
            (held(&stage, "config", "token-two").await == [second.as_str()]).then_some(())
        })
        .await;
    let settled: Value = send(&stage.engine, "GET", &path, Value::Null).await.unwrap();
    assert_eq!(settled["metadata"]["uid"], of_two["metadata"]["uid"]);
}
