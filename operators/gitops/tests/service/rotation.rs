//! Credentials that change or are deleted while their placement moves to another Argo CD instance.

use serde_json::{Value, json};
use switchboard_gitops::ids::MoveStep;
use switchboard_gitops::rows::fleet::Move;
use switchboard_gitops::rows::{ClusterCredentials, RepositoryCredentials};

use crate::database::{TestDatabase, on_both};
use crate::fixture::{CREDENTIAL_SECRET, CREDENTIALS, RoleSet, ServiceFixture, decoded, kubeconfig, plain, send};
use crate::fleet::{OTHER, advance_to, deploy_and_find, deploy_to_environment, deploy_to_two_instances, elsewhere};

on_both! {
    a_cluster_credential_rotated_during_a_move_is_applied
    a_credential_requested_late_is_not_left_at_the_source
    a_repository_credential_rotated_during_a_move_is_applied
    a_repository_credential_deleted_during_a_move_is_removed
    edits_during_a_move_are_corrected
}

/// Starts both roles without automatic moves: the test carries out the moves.
async fn fixture(database: TestDatabase) -> ServiceFixture {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.drives_moves = false;
    fixture.start().await;
    fixture.add_instance(OTHER).await;
    fixture
}

/// Begins to move a placement and advances until its Applications are copied.
async fn begin_and_pause(fixture: &ServiceFixture, environment: Option<&str>, to: &str) -> Move {
    let fleet = fixture.fleet();
    let (unit, _) = fleet.find_placement("shop", environment).await.unwrap();
    let row = fleet.begin_move(&unit, &fleet.instance(to).await.unwrap()).await.unwrap();
    advance_to(fixture, &row, MoveStep::Pause).await;
    row
}

async fn finish(fixture: &ServiceFixture, row: &Move) {
    assert_eq!(fixture.fleet().finish_move(&row.id, |_| ()).await.unwrap().step, MoveStep::Done);
}

/// Namespaces of the service's Secrets with a value that contains the text.
async fn namespaces_with_value(fixture: &ServiceFixture, key: &str, words: &str) -> Vec<String> {
    let all = fixture.argocd_secrets().await;
    let found = all.iter().filter(|one| decoded(one, key).contains(words));
    found.map(|one| one["metadata"]["namespace"].as_str().unwrap().to_string()).collect()
}

/// Changes the environment's token and waits until its row has it.
async fn rotate_environment(fixture: &ServiceFixture) {
    let rotate_environment = json!({"stringData": {"kubeconfig": kubeconfig("token-two")}});
    send(&fixture.tenants, "PATCH", "/api/v1/namespaces/shop/secrets/stage-secret", rotate_environment).await.unwrap();
    fixture
        .wait_for("the other token in its row", async || {
            let rows: Vec<ClusterCredentials> = fixture.all().await;
            let of =
                |row: &ClusterCredentials| row.bearer_token.as_ref().is_some_and(|one| one.expose() == "token-two");
            rows.iter().any(of).then_some(())
        })
        .await;
}

async fn a_cluster_credential_rotated_during_a_move_is_applied(database: TestDatabase) {
    let fixture = fixture(database).await;
    fixture.environment("shop", "stage", "token-one").await;
    let (_, from) = deploy_to_environment(&fixture, "stage", "web").await;
    fixture.wait_until_settled().await;
    let to = elsewhere(&from);
    let row = begin_and_pause(&fixture, Some("stage"), to).await;
    assert_eq!(namespaces_with_value(&fixture, "config", "token-one").await.len(), 2, "it is prepared");
    rotate_environment(&fixture).await;
    fixture.wait_until_settled().await;
    finish(&fixture, &row).await;
    fixture
        .wait_for("the other token there", async || {
            (namespaces_with_value(&fixture, "config", "token-two").await == [to]).then_some(())
        })
        .await;
    assert!(namespaces_with_value(&fixture, "config", "token-one").await.is_empty());
}

/// No agent runs when the token changes, nor when the placement arrives: the operation for the source is processed
/// later.
async fn a_credential_requested_late_is_not_left_at_the_source(database: TestDatabase) {
    let mut fixture = ServiceFixture::without_roles(database, false).await;
    fixture.drives_moves = false;
    fixture.start_roles(RoleSet::Backend, None, fixture.clients()).await;
    fixture.start_roles(RoleSet::Agent, None, fixture.clients()).await;
    fixture.add_instance(OTHER).await;
    fixture.environment("shop", "stage", "token-one").await;
    let (_, from) = deploy_to_environment(&fixture, "stage", "web").await;
    fixture.wait_until_settled().await;
    let to = elsewhere(&from);
    fixture.kill_roles(RoleSet::Agent).await;
    let row = begin_and_pause(&fixture, Some("stage"), to).await;
    rotate_environment(&fixture).await;
    finish(&fixture, &row).await;
    fixture.start_roles(RoleSet::Agent, None, fixture.clients()).await;
    fixture.wait_until_settled().await;
    assert_eq!(namespaces_with_value(&fixture, "config", "token").await, [to]);
}

async fn with_login(fixture: &ServiceFixture) -> String {
    fixture.secret("shop", "login", CREDENTIAL_SECRET, json!({"username": "robot", "password": "password-one"})).await;
    let repository = json!({"repository": "https://git.example/Shop/web.git", "secret": "login"});
    fixture.create_resource("shop", CREDENTIALS, "GitOpsDeploymentRepositoryCredential", "git", repository).await;
    fixture.wait_for("a Secret", async || fixture.argocd_secrets().await.pop()).await;
    let (_, from) = deploy_and_find(fixture, "shop", "web", plain()).await;
    fixture.wait_until_settled().await;
    from
}

async fn a_repository_credential_rotated_during_a_move_is_applied(database: TestDatabase) {
    let fixture = fixture(database).await;
    let to = elsewhere(&with_login(&fixture).await);
    let row = begin_and_pause(&fixture, None, to).await;
    let path = "/api/v1/namespaces/shop/secrets/login";
    send(&fixture.tenants, "PATCH", path, json!({"stringData": {"password": "password-two"}})).await.unwrap();
    fixture
        .wait_for("the other password in its row", async || {
            let rows: Vec<RepositoryCredentials> = fixture.all().await;
            rows[0].password.as_ref().is_some_and(|one| one.expose() == "password-two").then_some(())
        })
        .await;
    fixture.wait_until_settled().await;
    finish(&fixture, &row).await;
    fixture
        .wait_for("it is there", async || {
            (namespaces_with_value(&fixture, "password", "password-two").await == [to]).then_some(())
        })
        .await;
    assert!(namespaces_with_value(&fixture, "password", "password-one").await.is_empty());
}

async fn a_repository_credential_deleted_during_a_move_is_removed(database: TestDatabase) {
    let fixture = fixture(database).await;
    let to = elsewhere(&with_login(&fixture).await);
    let row = begin_and_pause(&fixture, None, to).await;
    assert_eq!(namespaces_with_value(&fixture, "password", "password-one").await.len(), 2, "it is prepared");
    fixture.delete("shop", CREDENTIALS, "git").await;
    fixture.wait_for("no row", async || fixture.all::<RepositoryCredentials>().await.is_empty().then_some(())).await;
    fixture.wait_until_settled().await;
    finish(&fixture, &row).await;
    fixture.wait_for("no Secret", async || fixture.argocd_secrets().await.is_empty().then_some(())).await;
}

/// Edits of the objects of another placement of the tenant are corrected, too.
async fn edits_during_a_move_are_corrected(database: TestDatabase) {
    let fixture = fixture(database).await;
    let [(_, first), (_, second)] = deploy_to_two_instances(&fixture).await;
    fixture.wait_until_settled().await;
    let row = begin_and_pause(&fixture, Some("one"), elsewhere(&first)).await;
    let secrets = fixture.argocd_secrets().await;
    let of_two = secrets.iter().find(|one| decoded(one, "config").contains("token-two")).unwrap();
    let path = format!("/api/v1/namespaces/{second}/secrets/{}", of_two["metadata"]["name"].as_str().unwrap());
    let runs = fixture.runs().await;
    let edited = json!({"stringData": {"config": "{}"}});
    send(&fixture.engine, "PATCH", &path, edited).await.unwrap();
    fixture.wait_for("a look at it", async || (fixture.runs().await > runs).then_some(())).await;
    assert!(
        namespaces_with_value(&fixture, "config", "token-two").await.is_empty(),
        "it stays while a placement moves"
    );
    finish(&fixture, &row).await;
    fixture
        .wait_for("it is unchanged", async || {
            (namespaces_with_value(&fixture, "config", "token-two").await == [second.as_str()]).then_some(())
        })
        .await;
    let settled: Value = send(&fixture.engine, "GET", &path, Value::Null).await.unwrap();
    assert_eq!(settled["metadata"]["uid"], of_two["metadata"]["uid"]);
}
