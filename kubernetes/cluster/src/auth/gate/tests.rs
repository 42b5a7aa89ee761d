#![allow(clippy::unwrap_used)]
use bytes::Bytes;
use serde_json::json;

use super::*;
use crate::auth::rbac::GROUP;
use crate::store::{Bounds, Expect};

async fn put(store: &Store, resource: &str, namespace: &str, name: &str, object: Value) {
    let key = Key::new("c", resource, namespace, name);
    let expect = store.get(&key).map_or(Expect::Absent, |record| Expect::Revision(record.revision));
    store.put(key, expect, |_| Bytes::from(object.to_string())).await.unwrap();
}

async fn grant(store: &Store, verbs: &[&str]) {
    let rules = json!([{"verbs": verbs, "apiGroups": [""], "resources": ["pods"]}]);
    put(store, "clusterroles.rbac.authorization.k8s.io", "", "r", json!({"rules": rules})).await;
}

fn ask(verb: &str) -> Attributes {
    Attributes::resource(User::default(), verb, "", "pods")
}

fn admit(gate: &Gate, store: &Store, policy: &LivePolicy, user: &str, verb: &str) -> Result<User, Status> {
    let mut extensions = Extensions::new();
    extensions.insert(User::named(user));
    gate.admit(ask(verb), (&HeaderMap::new(), &extensions), (store, Some(policy)), Timestamp::UNIX_EPOCH)
}

#[tokio::test]
async fn the_policy_follows_the_store() {
    let store = Store::in_memory(Bounds::default());
    let gate = Gate::ephemeral().unwrap();
    let policy = LivePolicy::new("c");
    assert_eq!(admit(&gate, &store, &policy, "x", "get").unwrap_err().code, 403);
    grant(&store, &["get"]).await;
    let binding = json!({
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "x"}],
    });
    put(&store, "clusterrolebindings.rbac.authorization.k8s.io", "", "b", binding).await;
    assert!(admit(&gate, &store, &policy, "x", "get").is_ok());
    assert!(admit(&gate, &store, &policy, "x", "list").is_err());
    grant(&store, &["list"]).await;
    assert!(admit(&gate, &store, &policy, "x", "get").is_err());
    assert!(admit(&gate, &store, &policy, "x", "list").is_ok());
    let key = Key::new("c", "clusterrolebindings.rbac.authorization.k8s.io", "", "b");
    let revision = store.get(&key).unwrap().revision;
    store.delete(key, revision, |_| Bytes::new()).await.unwrap();
    assert!(admit(&gate, &store, &policy, "x", "list").is_err());
}

#[tokio::test]
async fn a_policy_that_fell_behind_is_read_again() {
    let store = Store::in_memory(Bounds::default());
    let gate = Gate::ephemeral().unwrap();
    let policy = LivePolicy::new("c");
    grant(&store, &["get"]).await;
    assert!(admit(&gate, &store, &policy, "x", "get").is_err());
    let binding = json!({
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "x"}],
    });
    put(&store, "clusterrolebindings.rbac.authorization.k8s.io", "", "b", binding).await;
    store.compact(store.revision());
    assert!(admit(&gate, &store, &policy, "x", "get").is_ok());
}

#[tokio::test]
async fn nobody_without_credentials_reaches_a_resource() {
    let store = Store::in_memory(Bounds::default());
    let gate = Gate::ephemeral().unwrap();
    let policy = LivePolicy::new("c");
    let nothing = (HeaderMap::new(), Extensions::new());
    let admit =
        |attributes| gate.admit(attributes, (&nothing.0, &nothing.1), (&store, Some(&policy)), Timestamp::UNIX_EPOCH);
    assert_eq!(admit(ask("get")).unwrap_err(), Status::unauthorized());
    assert_eq!(admit(Attributes::path(User::default(), "get", "/api")).unwrap_err(), Status::unauthorized());
    assert_eq!(admit(Attributes::path(User::default(), "get", "/healthz")).unwrap(), User::anonymous());
    // The name of a resource request cannot pass for a path.
    let mut sly = ask("get");
    sly.path = "/healthz".into();
    assert_eq!(admit(sly).unwrap_err(), Status::unauthorized());
}

#[tokio::test]
async fn a_token_of_one_logical_cluster_is_worthless_in_another() {
    use crate::auth::token::{Binding, Claims, ISSUER, Reference};
    let store = Store::in_memory(Bounds::default());
    let gate = Gate::ephemeral().unwrap();
    put(&store, "serviceaccounts", "shop", "web", json!({"metadata": {"uid": "u1"}})).await;
    let claims = Claims {
        iss: ISSUER.into(),
        exp: Some(600),
        kubernetes: Some(Binding {
            namespace: "shop".into(),
            serviceaccount: Reference { name: "web".into(), uid: "u1".into() },
            ..Binding::default()
        }),
        ..Claims::default()
    };
    let token = gate.authenticator.key().sign(&claims).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
    let code = |cluster: &str| {
        let policy = LivePolicy::new(cluster);
        let to = (&store, Some(&policy));
        gate.admit(ask("get"), (&headers, &Extensions::new()), to, Timestamp::UNIX_EPOCH).unwrap_err().code
    };
    assert_eq!((code("c"), code("d")), (403, 401));
}
