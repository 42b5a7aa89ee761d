#![allow(clippy::unwrap_used)]
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use super::garbage_collector::{GarbageAction, OwnerState, garbage_action};
use super::ownership_graph::{OwnerReference, OwnershipMetadata};
use crate::auth::User;
use crate::clock_and_rng::ClockAndRng;
use crate::server::Cluster;
use crate::store::{ObjectStore, StoreLimits};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn send(cluster: &Cluster, method: Method, path: &str, body: Value) -> (u16, Value) {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder().method(method).uri(path).header("content-type", kind);
    let request = request.extension(User::loopback()).body(Full::new(Bytes::from(body))).unwrap();
    let response = cluster.inner().handle(request).await;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn create(cluster: &Cluster, path: &str, object: Value) -> Value {
    let (code, made) = send(cluster, Method::POST, path, object).await;
    assert_eq!(code, 201, "{made}");
    made
}

async fn get(cluster: &Cluster, path: &str) -> Option<Value> {
    let (code, found) = send(cluster, Method::GET, path, Value::Null).await;
    (code == 200).then_some(found)
}

async fn delete(cluster: &Cluster, path: &str, propagation: &str) {
    let (code, answer) = send(cluster, Method::DELETE, path, json!({"propagationPolicy": propagation})).await;
    assert!(code < 300, "{answer}");
}

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

fn owned(name: &str, owner: &Value) -> Value {
    json!({"metadata": {"name": name, "ownerReferences": [reference(owner)]}})
}

fn reference(owner: &Value) -> Value {
    let metadata = &owner["metadata"];
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"],
        "blockOwnerDeletion": true,
    })
}

fn at(name: &str) -> String {
    format!("{MAPS}/{name}")
}

#[tokio::test]
async fn dependents_follow_their_owner() {
    let cluster = Cluster::ephemeral().await;
    let owner = create(&cluster, MAPS, map("owner")).await;
    let child = create(&cluster, MAPS, owned("child", &owner)).await;
    create(&cluster, MAPS, owned("grandchild", &child)).await;
    create(&cluster, MAPS, map("free")).await;
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &at("grandchild")).await.is_some());
    delete(&cluster, &at("owner"), "Background").await;
    cluster.wait_for_controllers().await;
    for gone in ["owner", "child", "grandchild"] {
        assert!(get(&cluster, &at(gone)).await.is_none(), "{gone}");
    }
    assert!(get(&cluster, &at("free")).await.is_some());
}

#[tokio::test]
async fn a_nonexistent_owner_is_absent() {
    let cluster = Cluster::ephemeral().await;
    let owner = create(&cluster, MAPS, map("owner")).await;
    let mut stranger = owner.clone();
    stranger["metadata"]["uid"] = "another".into();
    create(&cluster, MAPS, owned("child", &stranger)).await;
    let mut both = owned("both", &stranger);
    both["metadata"]["ownerReferences"].as_array_mut().unwrap().push(reference(&owner));
    create(&cluster, MAPS, both).await;
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &at("child")).await.is_none());
    let both = get(&cluster, &at("both")).await.unwrap();
    assert_eq!(both["metadata"]["ownerReferences"], json!([reference(&owner)]));
}

#[tokio::test]
async fn owners_of_unknown_kinds_and_wrong_scopes_are_left_alone() {
    let cluster = Cluster::ephemeral().await;
    let unknown = json!({"apiVersion": "x.io/v1", "kind": "X", "metadata": {"name": "x", "uid": "1"}});
    create(&cluster, MAPS, owned("unknown", &unknown)).await;
    let owner = create(&cluster, MAPS, map("owner")).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let mut role = owned("role", &owner);
    role["rules"] = json!([]);
    create(&cluster, roles, role).await;
    delete(&cluster, &at("owner"), "Background").await;
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &at("unknown")).await.is_some());
    assert!(get(&cluster, &format!("{roles}/role")).await.is_some());
}

#[tokio::test]
async fn an_owner_in_another_namespace_is_absent_and_a_cluster_scoped_one_is_found() {
    let cluster = Cluster::ephemeral().await;
    let other = create(&cluster, "/api/v1/namespaces/kube-public/configmaps", map("owner")).await;
    create(&cluster, MAPS, owned("child", &other)).await;
    let role = json!({"metadata": {"name": "r"}, "rules": []});
    let role = create(&cluster, "/apis/rbac.authorization.k8s.io/v1/clusterroles", role).await;
    create(&cluster, MAPS, owned("of-role", &role)).await;
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &at("child")).await.is_none());
    assert!(get(&cluster, &at("of-role")).await.is_some());
}

#[tokio::test]
async fn foreground_waits_for_the_dependents_that_block() {
    let cluster = Cluster::ephemeral().await;
    let owner = create(&cluster, MAPS, map("owner")).await;
    let mut child = owned("child", &owner);
    child["metadata"]["finalizers"] = json!(["x.io/hold"]);
    create(&cluster, MAPS, child).await;
    delete(&cluster, &at("owner"), "Foreground").await;
    cluster.wait_for_controllers().await;
    let waiting = get(&cluster, &at("owner")).await.unwrap();
    assert_eq!(waiting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert!(get(&cluster, &at("child")).await.unwrap()["metadata"]["deletionTimestamp"].is_string());
    let (code, _) = send(&cluster, Method::PATCH, &at("child"), json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(code, 200);
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &at("child")).await.is_none());
    assert!(get(&cluster, &at("owner")).await.is_none());
}

#[tokio::test]
async fn orphans_live_on_without_their_owner() {
    let cluster = Cluster::ephemeral().await;
    let owner = create(&cluster, MAPS, map("owner")).await;
    create(&cluster, MAPS, owned("child", &owner)).await;
    delete(&cluster, &at("owner"), "Orphan").await;
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &at("owner")).await.is_none());
    let child = get(&cluster, &at("child")).await.unwrap();
    assert!(child["metadata"]["ownerReferences"].is_null());
}

#[tokio::test]
async fn an_ownership_cycle_does_not_block_deletion() {
    let cluster = Cluster::ephemeral().await;
    let a = create(&cluster, MAPS, map("a")).await;
    let b = create(&cluster, MAPS, owned("b", &a)).await;
    let change = json!({"metadata": {"ownerReferences": [reference(&b)]}});
    assert_eq!(send(&cluster, Method::PATCH, &at("a"), change).await.0, 200);
    delete(&cluster, &at("a"), "Foreground").await;
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &at("a")).await.is_none());
    assert!(get(&cluster, &at("b")).await.is_none());
}

#[tokio::test]
async fn a_namespace_is_deleted_with_its_content() {
    let cluster = Cluster::ephemeral().await;
    create(&cluster, "/api/v1/namespaces", json!({"metadata": {"name": "shop"}})).await;
    cluster.wait_for_controllers().await;
    let maps = "/api/v1/namespaces/shop/configmaps";
    assert!(get(&cluster, &format!("{maps}/kube-root-ca.crt")).await.is_some());
    assert!(get(&cluster, "/api/v1/namespaces/shop/serviceaccounts/default").await.is_some());
    create(&cluster, maps, json!({"metadata": {"name": "held", "finalizers": ["x.io/hold"]}})).await;
    create(&cluster, maps, map("free")).await;
    delete(&cluster, "/api/v1/namespaces/shop", "Background").await;
    cluster.wait_for_controllers().await;
    let namespace = get(&cluster, "/api/v1/namespaces/shop").await.unwrap();
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let conditions = namespace["status"]["conditions"].as_array().unwrap();
    let message = |kind: &str| conditions.iter().find(|c| c["type"] == kind).unwrap()["message"].clone();
    assert_eq!(
        message("NamespaceContentRemaining"),
        "Some resources are remaining: configmaps. has 1 resource instances"
    );
    assert_eq!(
        message("NamespaceFinalizersRemaining"),
        "Some content in the namespace has finalizers remaining: x.io/hold in 1 resource instances"
    );
    assert!(get(&cluster, &format!("{maps}/free")).await.is_none());
    let (code, _) = send(&cluster, Method::POST, maps, map("late")).await;
    assert_eq!(code, 403);
    let held = format!("{maps}/held");
    assert_eq!(send(&cluster, Method::PATCH, &held, json!({"metadata": {"finalizers": null}})).await.0, 200);
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, "/api/v1/namespaces/shop").await.is_none());
    assert!(get(&cluster, &held).await.is_none());
}

#[tokio::test]
async fn deleted_namespace_defaults_are_recreated() {
    let cluster = Cluster::ephemeral().await;
    let account = "/api/v1/namespaces/default/serviceaccounts/default";
    delete(&cluster, account, "Background").await;
    let root = at("kube-root-ca.crt");
    assert_eq!(send(&cluster, Method::PATCH, &root, json!({"data": {"ca.crt": "x", "more": "y"}})).await.0, 200);
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, account).await.is_some());
    let root = get(&cluster, &root).await.unwrap();
    assert!(root["data"]["ca.crt"].as_str().unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
    assert_eq!(root["data"].as_object().unwrap().len(), 1);
}

#[tokio::test]
async fn token_secrets_are_filled_and_go_with_their_account() {
    let cluster = Cluster::ephemeral().await;
    create(&cluster, "/api/v1/namespaces/default/serviceaccounts", map("web")).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({
        "metadata": {"name": "t", "annotations": {"kubernetes.io/service-account.name": "web"}},
        "type": "kubernetes.io/service-account-token",
    });
    create(&cluster, secrets, secret).await;
    cluster.wait_for_controllers().await;
    let filled = get(&cluster, &format!("{secrets}/t")).await.unwrap();
    for field in ["token", "ca.crt", "namespace"] {
        assert!(!filled["data"][field].as_str().unwrap().is_empty(), "{field}");
    }
    delete(&cluster, "/api/v1/namespaces/default/serviceaccounts/web", "Background").await;
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &format!("{secrets}/t")).await.is_none());
}

#[tokio::test]
async fn aggregated_roles_have_the_rules_of_the_others() {
    let cluster = Cluster::ephemeral().await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    cluster.wait_for_controllers().await;
    let before = get(&cluster, &format!("{roles}/view")).await.unwrap();
    let rule = json!({"verbs": ["get"], "apiGroups": ["x.io"], "resources": ["widgets"]});
    let labels = json!({"rbac.authorization.k8s.io/aggregate-to-view": "true"});
    create(&cluster, roles, json!({"metadata": {"name": "widgets", "labels": labels}, "rules": [rule]})).await;
    cluster.wait_for_controllers().await;
    for role in ["view", "edit", "admin"] {
        let role = get(&cluster, &format!("{roles}/{role}")).await.unwrap();
        assert!(role["rules"].as_array().unwrap().iter().any(|r| r["apiGroups"] == json!(["x.io"])), "{role}");
    }
    delete(&cluster, &format!("{roles}/widgets"), "Background").await;
    cluster.wait_for_controllers().await;
    assert_eq!(get(&cluster, &format!("{roles}/view")).await.unwrap()["rules"], before["rules"]);
}

#[tokio::test]
async fn guarantees_idle_state_depends_on_writes_only() {
    let cluster = Cluster::ephemeral().await;
    cluster.wait_for_controllers().await;
    let revision = cluster.inner().store.revision();
    tokio::task::yield_now().await;
    cluster.wait_for_controllers().await;
    assert_eq!(cluster.inner().store.revision(), revision);
}

#[tokio::test]
async fn guarantees_a_restart_continues() {
    let store = ObjectStore::in_memory(StoreLimits::default());
    let died = Cluster::with_store(store.clone(), ClockAndRng::system()).await;
    create(&died, "/api/v1/namespaces", json!({"metadata": {"name": "shop"}})).await;
    create(&died, "/api/v1/namespaces/shop/configmaps", map("x")).await;
    let owner = create(&died, MAPS, map("owner")).await;
    create(&died, MAPS, owned("child", &owner)).await;
    delete(&died, &at("owner"), "Background").await;
    delete(&died, "/api/v1/namespaces/shop", "Background").await;
    drop(died);
    let again = Cluster::with_store(store, ClockAndRng::system()).await;
    again.start_controllers();
    again.wait_for_controllers().await;
    assert!(get(&again, &at("child")).await.is_none());
    assert!(get(&again, "/api/v1/namespaces/shop").await.is_none());
}

#[tokio::test]
async fn a_new_logical_cluster_has_controllers_too() {
    let cluster = Cluster::ephemeral().await;
    cluster.logical("blue").await;
    let maps = format!("/clusters/blue{MAPS}");
    let owner = create(&cluster, &maps, map("owner")).await;
    create(&cluster, &maps, owned("child", &owner)).await;
    delete(&cluster, &format!("{maps}/owner"), "Background").await;
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &format!("{maps}/child")).await.is_none());
}

#[tokio::test]
async fn an_owner_is_found_once_its_kind_is_served() {
    let cluster = Cluster::ephemeral().await;
    let widget = json!({"apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "x", "uid": "1"}});
    create(&cluster, MAPS, owned("child", &widget)).await;
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &at("child")).await.is_some());
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let crd = json!({
        "metadata": {"name": "widgets.x.io"},
        "spec": {
            "group": "x.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    });
    create(&cluster, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &at("child")).await.is_none(), "there is no such widget");
}

#[tokio::test]
async fn a_claim_is_kept_while_a_pod_uses_it() {
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let cluster = Cluster::ephemeral().await;
    let claim = json!({"metadata": {"name": "c"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    }});
    let made = create(&cluster, claims, claim).await;
    assert_eq!(made["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "p"}, "spec": {
        "nodeName": "n", "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
    }});
    create(&cluster, pods, pod).await;
    delete(&cluster, &format!("{claims}/c"), "Background").await;
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &format!("{claims}/c")).await.is_some());
    let now = json!({"gracePeriodSeconds": 0});
    assert_eq!(send(&cluster, Method::DELETE, &format!("{pods}/p"), now).await.0, 200);
    cluster.wait_for_controllers().await;
    assert!(get(&cluster, &format!("{claims}/c")).await.is_none());
}

#[test]
fn verdicts() {
    let owned_by = |uids: &[&str]| OwnershipMetadata {
        owner_references: uids
            .iter()
            .map(|uid| OwnerReference { uid: (*uid).into(), ..OwnerReference::default() })
            .collect(),
        ..OwnershipMetadata::default()
    };
    let two = owned_by(&["1", "2"]);
    let cases = [
        ([OwnerState::Solid, OwnerState::Solid], false, GarbageAction::Keep),
        ([OwnerState::Solid, OwnerState::Absent], false, GarbageAction::Release(vec!["2".into()])),
        ([OwnerState::Waiting, OwnerState::Solid], true, GarbageAction::Release(vec!["1".into()])),
        ([OwnerState::Absent, OwnerState::Absent], true, GarbageAction::Delete("Background")),
        ([OwnerState::Absent, OwnerState::Waiting], true, GarbageAction::Delete("Foreground")),
        ([OwnerState::Absent, OwnerState::Waiting], false, GarbageAction::Delete("Background")),
        ([OwnerState::Absent, OwnerState::Unknown], false, GarbageAction::Keep),
        ([OwnerState::Absent, OwnerState::WrongScope], false, GarbageAction::Keep),
    ];
    for (owners, has_dependents, verdict) in cases {
        assert_eq!(garbage_action(&two, &owners, has_dependents), verdict, "{owners:?}");
    }
    assert_eq!(garbage_action(&owned_by(&[]), &[], true), GarbageAction::Keep);
    let keeps = OwnershipMetadata { finalizers: vec!["orphan".into()], ..owned_by(&["1"]) };
    assert_eq!(garbage_action(&keeps, &[OwnerState::Absent], true), GarbageAction::Delete("Orphan"));
}
