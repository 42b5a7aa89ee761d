//! Authorization through the in-process client.
#![allow(clippy::unwrap_used)]

use http::Request;
use kube::Client;
use serde_json::{Value, json};
use switchboard_cluster::Cluster;
use switchboard_cluster::auth::User;

async fn post(client: &Client, path: &str, body: Value) -> Result<Value, String> {
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(body.to_string().into_bytes()).unwrap();
    client.request::<Value>(request).await.map_err(|error| match error {
        kube::Error::Api(status) => status.message,
        other => panic!("{other}"),
    })
}

const TOKEN: &str = "/api/v1/namespaces/default/serviceaccounts/web/token";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

#[tokio::test]
async fn a_user_without_roles_gets_the_upstream_error() {
    let cluster = Cluster::ephemeral().await;
    let client = cluster.client_as("default", User::named("bob").with_group("system:authenticated"));
    let refused = post(&client, ACCOUNTS, json!({"metadata": {"name": "web"}})).await.unwrap_err();
    assert_eq!(
        refused,
        "serviceaccounts is forbidden: User \"bob\" cannot create resource \"serviceaccounts\" in API group \"\" in \
         the namespace \"default\""
    );
}

#[tokio::test]
async fn a_token_is_requested_reviewed_and_ends_with_its_account() {
    let cluster = Cluster::ephemeral().await;
    let client = cluster.client();
    post(&client, ACCOUNTS, json!({"metadata": {"name": "web"}})).await.unwrap();
    let made = post(&client, TOKEN, json!({"spec": {}})).await.unwrap();
    assert_eq!(made["spec"]["expirationSeconds"], 3600);
    let review = json!({"spec": {"token": made["status"]["token"]}});
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let reviewed = post(&client, reviews, review).await.unwrap();
    assert_eq!(reviewed["status"]["user"]["username"], "system:serviceaccount:default:web");
}

#[tokio::test]
async fn access_reviews_are_answered() {
    let cluster = Cluster::ephemeral().await;
    let spec = json!({"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods"}});
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let answer = post(&cluster.client(), path, json!({"spec": spec})).await.unwrap();
    assert_eq!(answer["status"], json!({"allowed": false}));
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = post(&cluster.client(), path, json!({})).await.unwrap();
    assert_eq!(answer["status"]["userInfo"]["username"], "system:apiserver");
}

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";

fn bind(name: &str, role: &str, user: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    })
}

#[tokio::test]
async fn users_cannot_grant_rights_they_do_not_have() {
    let cluster = Cluster::ephemeral().await;
    let admin = cluster.client();
    let rules = json!([
        {"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles", "clusterrolebindings"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
    ]);
    post(&admin, ROLES, json!({"metadata": {"name": "granter"}, "rules": rules})).await.unwrap();
    post(&admin, BINDINGS, bind("granter", "granter", "bob")).await.unwrap();
    let bob = cluster.client_as("default", User::named("bob").with_group("system:authenticated"));
    let role = |name: &str, verbs: &[&str]| json!({"metadata": {"name": name}, "rules": [{"verbs": verbs, "apiGroups": [""], "resources": ["pods"]}]});
    post(&bob, ROLES, role("small", &["get"])).await.unwrap();
    assert_eq!(
        post(&bob, ROLES, role("big", &["get", "list"])).await.unwrap_err(),
        "clusterroles.rbac.authorization.k8s.io \"big\" is forbidden: user \"bob\" (groups=[\"system:authenticated\"]) is \
         attempting to grant RBAC permissions not currently held:\n\
         {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}"
    );
    assert!(post(&bob, BINDINGS, bind("up", "cluster-admin", "bob")).await.unwrap_err().contains("not currently held"));
    post(&bob, BINDINGS, bind("same", "small", "eve")).await.unwrap();
}

#[tokio::test]
async fn impersonation_needs_the_right_and_gives_the_users_rights() {
    let cluster = Cluster::ephemeral().await;
    let admin = cluster.client();
    post(&admin, BINDINGS, bind("alice", "cluster-admin", "alice")).await.unwrap();
    let ask = |client: Client, user: &'static str| async move {
        let request = Request::get("/api/v1/namespaces").header("impersonate-user", user).body(Vec::new()).unwrap();
        client.request::<Value>(request).await.map_err(|e| e.to_string())
    };
    assert!(ask(admin.clone(), "alice").await.is_ok());
    let refused = ask(admin.clone(), "bob").await.unwrap_err();
    assert!(refused.contains("User \"bob\" cannot list resource \"namespaces\""), "{refused}");
    let bob = cluster.client_as("default", User::named("bob"));
    let refused = ask(bob, "alice").await.unwrap_err();
    assert!(refused.contains("User \"bob\" cannot impersonate-on:user-info:list"), "{refused}");
}

/// Access checks and the results recorded from kube-apiserver with the same roles, one per line; the first line holds
/// the roles.
const MATRIX: &str = include_str!("access/matrix.jsonl");

#[tokio::test]
async fn access_matches_kube_apiserver() {
    let cluster = Cluster::ephemeral().await;
    let admin = cluster.client();
    let mut lines = MATRIX.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    post(&admin, "/api/v1/namespaces", json!({"metadata": {"name": "access"}})).await.unwrap();
    for object in lines.next().unwrap()["objects"].as_array().unwrap() {
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        let place = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => format!("namespaces/{namespace}/{kind}s"),
            None => format!("{kind}s"),
        };
        post(&admin, &format!("/apis/rbac.authorization.k8s.io/v1/{place}"), object.clone()).await.unwrap();
    }
    let mut asked = 0;
    for case in lines {
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let answer = post(&admin, path, json!({"spec": case["spec"]})).await.unwrap();
        assert_eq!(answer["status"]["allowed"], case["allowed"], "{}", case["spec"]);
        if !case["reason"].is_null() {
            assert_eq!(answer["status"]["reason"], case["reason"], "{}", case["spec"]);
        }
        asked += 1;
    }
    assert!(asked > 700, "{asked}");
}
