#![allow(clippy::unwrap_used)]

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::*;
use crate::response::ResponseBody;
use crate::store::disk::tests::on_a_full_disk;

async fn get(cluster: &Cluster, path: &str) -> (StatusCode, String) {
    let request = Request::get(path).body(String::new()).unwrap();
    let answer: Response<ResponseBody> = cluster.service().oneshot(request).await.unwrap();
    let status = answer.status();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_server_with_a_failed_disk_is_live_but_not_ready() {
    let cluster = Cluster::with_store(on_a_full_disk(), ClockAndRng::system()).await;
    for path in ["/readyz", "/healthz", "/readyz/etcd", "/healthz/etcd"] {
        let (status, body) = get(&cluster, path).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "{path}");
        assert!(body.starts_with("[-]etcd failed: ") && body.contains("no storage space"), "{path}: {body}");
    }
    // The server still answers reads, so a restart would not help.
    for path in ["/livez", "/readyz/ping"] {
        assert_eq!(get(&cluster, path).await, (StatusCode::OK, "ok".into()), "{path}");
    }
}

#[tokio::test]
async fn a_healthy_server_is_ready() {
    let cluster = Cluster::ephemeral().await;
    assert_eq!(get(&cluster, "/readyz").await, (StatusCode::OK, "ok".into()));
}

#[tokio::test]
async fn public_paths_do_not_reveal_cluster_names() {
    let cluster = Cluster::ephemeral().await;
    cluster.logical("blue").await;
    for path in ["/version", "/healthz", "/livez", "/readyz", "/readyz/ping", "/api", "/api/v1/pods", "/metrics", "/"] {
        let there = get(&cluster, &format!("/clusters/blue{path}")).await;
        let nowhere = get(&cluster, &format!("/clusters/green{path}")).await;
        assert_eq!(there, nowhere, "{path}");
    }
    assert_eq!(get(&cluster, "/clusters/green/version").await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_fork_continues_from_the_same_state() {
    let cluster = Cluster::ephemeral().await;
    cluster.wait_for_controllers().await;
    let (one, other) = (cluster.fork(ClockAndRng::system()), cluster.fork(ClockAndRng::system()));
    let post = |path: &str, body: serde_json::Value| {
        let request = Request::post(path).header("content-type", "application/json");
        request.extension(crate::auth::User::loopback()).body(body.to_string()).unwrap()
    };
    let namespace = serde_json::json!({"metadata": {"name": "shop"}});
    let made = one.service().oneshot(post("/api/v1/namespaces", namespace)).await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED);
    one.wait_for_controllers().await;
    let account = crate::store::StoreKey::new("default", "serviceaccounts", "shop", "default");
    let there = |cluster: &Cluster| cluster.inner.store.get(&account).is_some();
    assert!(there(&one), "its controllers run");
    assert!(!there(&other) && !there(&cluster), "what is written to one is not in the others");
    let role = serde_json::json!({"metadata": {"name": "reader"}, "rules": [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]});
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    assert_eq!(one.service().oneshot(post(path, role)).await.unwrap().status(), StatusCode::CREATED);
    let rules = |cluster: &Cluster| {
        let logical = cluster.inner.find_logical(crate::request::DEFAULT_CLUSTER).unwrap();
        let role = |name: &str| crate::auth::rbac::RoleRef {
            kind: "ClusterRole".into(),
            name: name.into(),
            ..Default::default()
        };
        let policy = logical.policy.read(&cluster.inner.store);
        (policy.role_rules(&role("reader"), "").is_ok(), policy.role_rules(&role("view"), "").is_ok())
    };
    assert_eq!((rules(&one), rules(&other)), ((true, true), (false, true)));
}
