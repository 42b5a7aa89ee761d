#![allow(clippy::unwrap_used)]
use std::collections::BTreeSet;

use super::*;
use crate::auth::rbac::{Authorizer, Policy, RbacKind};
use crate::auth::{Attributes, AuthorizerDecision, User};
use crate::store::StoreLimits;

async fn started() -> ObjectStore {
    let store = ObjectStore::in_memory(StoreLimits::default());
    write(&store, "c", &ClockAndRng::system(), "-----BEGIN\nx\n").await;
    store
}

#[tokio::test]
async fn every_object_is_whole_and_has_a_uid_of_its_own() {
    let store = started().await;
    let page = store.list("c/", None, 0, None).unwrap();
    assert_eq!(page.records.len(), OBJECTS.lines().count());
    let mut uids = BTreeSet::new();
    for (key, record) in &page.records {
        let object: serde_json::Value = serde_json::from_slice(&record.bytes).unwrap();
        let metadata = &object["metadata"];
        assert_eq!(metadata["name"], key.name());
        assert_eq!(metadata["namespace"].as_str().unwrap_or_default(), key.namespace());
        assert_eq!(metadata["resourceVersion"], record.revision.to_string());
        assert!(metadata["creationTimestamp"].as_str().unwrap().parse::<Timestamp>().is_ok(), "{key}");
        assert!(uids.insert(metadata["uid"].as_str().unwrap().to_string()));
        assert!(next_mark(&object.to_string()).is_none(), "{key}");
    }
    let root = store.get(&StoreKey::new("c", "configmaps", "default", "kube-root-ca.crt")).unwrap();
    let root: serde_json::Value = serde_json::from_slice(&root.bytes).unwrap();
    assert_eq!(root["data"]["ca.crt"], "-----BEGIN\nx\n");
}

#[tokio::test]
async fn a_second_start_writes_nothing() {
    let store = started().await;
    let revision = store.revision();
    write(&store, "c", &ClockAndRng::system(), "").await;
    assert_eq!(store.revision(), revision);
}

#[tokio::test]
async fn the_default_roles_allow_their_rules() {
    let store = started().await;
    let mut policy = Policy::default();
    for kind in RbacKind::ALL {
        let prefix = StoreKey::prefix("c", &format!("{}.rbac.authorization.k8s.io", kind.plural()), None);
        for (key, record) in store.list(&prefix, None, 0, None).unwrap().records {
            policy.put(kind, key.namespace(), key.name(), &record.bytes);
        }
    }
    let allows = |user: User, verb: &str, group: &str, resource: &str| {
        let asked = Attributes::resource(user, verb, group, resource).in_namespace("shop");
        matches!(policy.decide(&asked), AuthorizerDecision::Allow(_))
    };
    let user = || User::named("x").with_group("system:authenticated");
    assert!(allows(user(), "create", "authorization.k8s.io", "selfsubjectaccessreviews"));
    assert!(!allows(user(), "get", "", "pods"));
    assert!(allows(User::named("system:kube-scheduler"), "get", "", "pods"));
    let discovery = Attributes::path(user(), "get", "/apis/apps/v1");
    assert!(matches!(policy.decide(&discovery), AuthorizerDecision::Allow(_)));
}
