//! Fleet actions: moves of placements and syncs of deployments.

use super::*;
use crate::fleet::PlacementName;
use crate::fleet::fake::{FakeFleet, shop};

/// Rules that permit moves to `argocd-2` and `nowhere` only.
fn mover() -> Value {
    json!([{"apiGroups": ["managed-gitops.redhat.com"], "resources": ["gitopsengineinstances"], "verbs": ["move"], "resourceNames": ["argocd-2", "nowhere"]}])
}

async fn post(console: &ConsoleFixture, token: &str, body: Value) -> (StatusCode, Value) {
    act(console, "move", token, body).await
}

async fn act(console: &ConsoleFixture, word: &str, token: &str, body: Value) -> (StatusCode, Value) {
    let request = Request::post(format!("/api/v1/actions/{word}"))
        .header("Host", "localhost:7467")
        .header("Content-Type", "application/json")
        .header("Authorization", format!("Bearer {token}"));
    let response = console.router.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap();
    let status = response.status();
    (status, serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap())
}

#[tokio::test]
async fn user_with_permission_moves_a_placement_and_sees_progress() {
    let fleet = Arc::new(FakeFleet::default());
    let console = ConsoleFixture::with_fleet(Some(fleet.clone())).await;
    let before = console.page("/fleet").await;
    for printed in
        ["1 placement", "environment prod", "0 of 1000", "--environment prod --to <span data-chosen>argocd-2<"]
    {
        assert!(before.contains(printed), "{printed} is not on {before}");
    }
    assert!(before.contains("href=\"/signin?back=%2Ffleet\">Move<"), "a visitor can sign in: {before}");
    let (cookie, csrf_token) = console.sign_in(&console.token_with("mover", mover()).await).await;
    let form = format!("csrf_token={csrf_token}&tenant=shop&environment=prod&to=argocd-2");
    let done = console.submit("/actions/move", &cookie, OWN, &form).await;
    assert_eq!((done.status(), &done.headers()["location"]), (StatusCode::SEE_OTHER, &"/fleet".parse().unwrap()));
    assert_eq!(fleet.requested(), [(shop(), "argocd-2".to_string())]);
    let page = console.with("/fleet", &cookie).await;
    for printed in ["move of shop from argocd to argocd-2 started", "1 running", "freeze", "an Operation is under way"]
    {
        assert!(page.contains(printed), "{printed} is not on {page}");
    }
    assert!(page.contains("data-refresh=\"1\""), "a running move is refreshed often");
    assert!(!page.contains("action=\"/actions/move\""), "a moving placement is not moved elsewhere: {page}");
    let data: Value = serde_json::from_str(&console.page("/api/v1/fleet").await).unwrap();
    assert_eq!((&data["moves"][0]["from"], &data["moves"][0]["progress"]), (&json!("argocd"), &json!("running")));
    assert_eq!((&data["placements"][0]["tenant"], &data["placements"][0]["moving"]), (&json!("shop"), &json!(true)));
    assert_eq!(data["instances"][1]["member"]["maxPlacements"], 10, "{data}");
}

#[tokio::test]
async fn moves_without_permission_or_target_are_refused() {
    let fleet = Arc::new(FakeFleet::default());
    let console = ConsoleFixture::with_fleet(Some(fleet.clone())).await;
    let body = |to: &str| json!({"tenant": "shop", "environment": "prod", "to": to});
    let pauser = console.token("pauser", &["pause"]).await;
    let (status, problem) = post(&console, &pauser, body("argocd-2")).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("is not allowed to move gitopsengineinstances"), "{problem}");
    let mover = console.token_with("mover", mover()).await;
    let (status, _) = post(&console, &mover, body("argocd")).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "a right names the instance");
    let (status, problem) = post(&console, &mover, body("nowhere")).await;
    assert_eq!(
        (status, &problem["hint"]),
        (StatusCode::NOT_FOUND, &json!("list the instances with `switchboard gitops fleet list`"))
    );
    assert_eq!(problem["detail"], "could not find an Argo CD instance in namespace `nowhere`");
    let (status, _) = post(&console, &mover, json!({"tenant": "shop"})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let (cookie, csrf_token) = console.sign_in(&mover).await;
    let form = format!("csrf_token={csrf_token}&tenant=shop&environment=prod&to=argocd-2");
    let foreign = console.submit("/actions/move", &cookie, "http://evil.example", &form).await;
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    assert_eq!(console.submit("/actions/move", "", OWN, &form).await.headers()["location"], "/signin?back=%2Ffleet");
    console.submit("/actions/move", &cookie, OWN, &form.replace("argocd-2", "nowhere")).await;
    let page = console.with("/fleet", &cookie).await;
    assert!(page.contains("namespace `nowhere`; list the instances with `switchboard gitops fleet list`"), "{page}");
    assert_eq!(fleet.requested(), Vec::<(PlacementName, String)>::new());
    let (status, done) = post(&console, &mover, body("argocd-2")).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(done["command"], "switchboard gitops fleet move shop --environment prod --to argocd-2");
}

#[tokio::test]
async fn failing_fleet_keeps_the_rest_of_the_page() {
    let console = ConsoleFixture::with_fleet(Some(Arc::new(FakeFleet { broken: true, ..FakeFleet::default() }))).await;
    let page = console.page("/fleet").await;
    assert!(page.contains("could not connect to PostgreSQL") && page.contains("is the server running?"), "{page}");
    assert!(page.contains("Argo CD instances"), "{page}");
    let without = ConsoleFixture::build().await;
    let mover = without.token_with("mover", mover()).await;
    let (status, problem) = post(&without, &mover, json!({"tenant": "shop", "to": "argocd-2"})).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(problem["hint"].as_str().unwrap().contains("`gitops: {}`"), "{problem}");
}

const GITOPS: &str = "/apis/managed-gitops.redhat.com/v1alpha1/namespaces/default";

/// Installs a kind of the service with arbitrary fields.
async fn serve(console: &ConsoleFixture, kind: &str) {
    let plural = format!("{}s", kind.to_lowercase());
    let open = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.managed-gitops.redhat.com")},
        "spec": {"group": "managed-gitops.redhat.com", "scope": "Namespaced", "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true, "schema": open}]}});
    console.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    let served = async || {
        let request = Request::get(format!("{GITOPS}/{plural}")).body(Vec::new()).unwrap();
        console.client.request::<Value>(request).await.is_ok()
    };
    tokio::time::timeout(PATIENCE, async { while !served().await {} }).await.unwrap();
}

#[tokio::test]
async fn automatic_deployment_has_no_sync_action() {
    let console = ConsoleFixture::build().await;
    for kind in ["GitOpsDeployment", "GitOpsDeploymentSyncRun"] {
        serve(&console, kind).await;
    }
    for (name, how) in [("web", "automated"), ("api", "manual")] {
        let deployment = json!({"apiVersion": "managed-gitops.redhat.com/v1alpha1", "kind": "GitOpsDeployment",
            "metadata": {"name": name}, "spec": {"type": how}});
        console.post(&format!("{GITOPS}/gitopsdeployments"), deployment).await;
    }
    let page = console.page("/fleet").await;
    assert!(page.contains("title=\"switchboard gitops sync api -n default\""), "{page}");
    assert!(!page.contains("switchboard gitops sync web"), "{page}");
    let syncer = json!([{"apiGroups": ["managed-gitops.redhat.com"], "resources": ["gitopsdeploymentsyncruns"], "verbs": ["create"]}]);
    let token = console.token_with("syncer", syncer).await;
    let sync = async |name: &str| act(&console, "sync", &token, json!({"namespace": "default", "name": name})).await;
    let (status, done) = sync("api").await;
    assert_eq!(status, StatusCode::OK, "{done}");
    let (status, problem) = sync("web").await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert_eq!(problem["detail"], "application `web` cannot be synced by hand: it is automated");
    assert_eq!(sync("none").await.0, StatusCode::NOT_FOUND);
    let request = Request::get(format!("{GITOPS}/gitopsdeploymentsyncruns")).body(Vec::new()).unwrap();
    let runs = console.client.request::<Value>(request).await.unwrap();
    assert_eq!(runs["items"].as_array().unwrap().len(), 1, "{runs}");
}
