//! Rights through the in-process client: who may do what, and who they are.
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
async fn a_user_without_roles_is_refused_in_upstreams_words() {
    let cluster = Cluster::ephemeral().await;
    let client = cluster.client_as("default", User::named("bob").in_group("system:authenticated"));
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
