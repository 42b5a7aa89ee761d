#![allow(clippy::unwrap_used)]
use bytes::Bytes;
use serde_json::json;

use super::*;
use crate::auth::rbac::GROUP;
use crate::store::{ExpectedState, StoreLimits};

async fn put(store: &ObjectStore, resource: &str, namespace: &str, name: &str, object: Value) {
    let key = StoreKey::new("c", resource, namespace, name);
    let expect = store.get(&key).map_or(ExpectedState::Absent, |record| ExpectedState::Revision(record.revision));
    store.put(key, expect, |_| Bytes::from(object.to_string())).await.unwrap();
}

async fn grant(store: &ObjectStore, verbs: &[&str]) {
    let rules = json!([{"verbs": verbs, "apiGroups": [""], "resources": ["pods"]}]);
    put(store, "clusterroles.rbac.authorization.k8s.io", "", "r", json!({"rules": rules})).await;
}

fn ask(verb: &str) -> Attributes {
    Attributes::resource(User::default(), verb, "", "pods")
}

fn admit(
    auth_keys: &AuthKeys,
    store: &ObjectStore,
    policy: &PolicyCache,
    user: &str,
    verb: &str,
) -> Result<User, Status> {
    let mut extensions = Extensions::new();
    extensions.insert(User::named(user));
    auth_keys.admit(ask(verb), (&HeaderMap::new(), &extensions), (store, Some(policy)), Timestamp::UNIX_EPOCH)
}

#[tokio::test]
async fn the_policy_follows_the_store() {
    let store = ObjectStore::in_memory(StoreLimits::default());
    let auth_keys = AuthKeys::ephemeral().unwrap();
    let policy = PolicyCache::new("c");
    assert_eq!(admit(&auth_keys, &store, &policy, "x", "get").unwrap_err().code, 403);
    grant(&store, &["get"]).await;
    let binding = json!({
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "x"}],
    });
    put(&store, "clusterrolebindings.rbac.authorization.k8s.io", "", "b", binding).await;
    assert!(admit(&auth_keys, &store, &policy, "x", "get").is_ok());
    assert!(admit(&auth_keys, &store, &policy, "x", "list").is_err());
    grant(&store, &["list"]).await;
    assert!(admit(&auth_keys, &store, &policy, "x", "get").is_err());
    assert!(admit(&auth_keys, &store, &policy, "x", "list").is_ok());
    let key = StoreKey::new("c", "clusterrolebindings.rbac.authorization.k8s.io", "", "b");
    let revision = store.get(&key).unwrap().revision;
    store.delete(key, revision, |_| Bytes::new()).await.unwrap();
    assert!(admit(&auth_keys, &store, &policy, "x", "list").is_err());
}

#[tokio::test]
async fn an_expired_policy_cache_is_reloaded() {
    let store = ObjectStore::in_memory(StoreLimits::default());
    let auth_keys = AuthKeys::ephemeral().unwrap();
    let policy = PolicyCache::new("c");
    grant(&store, &["get"]).await;
    assert!(admit(&auth_keys, &store, &policy, "x", "get").is_err());
    let binding = json!({
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "x"}],
    });
    put(&store, "clusterrolebindings.rbac.authorization.k8s.io", "", "b", binding).await;
    store.compact(store.revision());
    assert!(admit(&auth_keys, &store, &policy, "x", "get").is_ok());
}

#[tokio::test]
async fn resources_need_credentials() {
    let store = ObjectStore::in_memory(StoreLimits::default());
    let auth_keys = AuthKeys::ephemeral().unwrap();
    let policy = PolicyCache::new("c");
    let nothing = (HeaderMap::new(), Extensions::new());
    let admit = |attributes| {
        auth_keys.admit(attributes, (&nothing.0, &nothing.1), (&store, Some(&policy)), Timestamp::UNIX_EPOCH)
    };
    assert_eq!(admit(ask("get")).unwrap_err(), Status::unauthorized());
    assert_eq!(admit(Attributes::path(User::default(), "get", "/api")).unwrap_err(), Status::unauthorized());
    assert_eq!(admit(Attributes::path(User::default(), "get", "/healthz")).unwrap(), User::anonymous());
    // The name of a resource request must not count as a path.
    let mut sly = ask("get");
    sly.path = "/healthz".into();
    assert_eq!(admit(sly).unwrap_err(), Status::unauthorized());
}

#[tokio::test]
async fn a_token_of_one_logical_cluster_is_refused_in_another() {
    use crate::auth::token::{BoundObject, ISSUER, TokenBinding, TokenClaims};
    let store = ObjectStore::in_memory(StoreLimits::default());
    let auth_keys = AuthKeys::ephemeral().unwrap();
    put(&store, "serviceaccounts", "shop", "web", json!({"metadata": {"uid": "u1"}})).await;
    let claims = TokenClaims {
        iss: ISSUER.into(),
        exp: Some(600),
        kubernetes: Some(TokenBinding {
            namespace: "shop".into(),
            serviceaccount: BoundObject { name: "web".into(), uid: "u1".into() },
            ..TokenBinding::default()
        }),
        ..TokenClaims::default()
    };
    let token = auth_keys.authenticator.key().sign(&claims).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
    let code = |cluster: &str| {
        let policy = PolicyCache::new(cluster);
        let to = (&store, Some(&policy));
        auth_keys.admit(ask("get"), (&headers, &Extensions::new()), to, Timestamp::UNIX_EPOCH).unwrap_err().code
    };
    assert_eq!((code("c"), code("d")), (403, 401));
}
