#![allow(clippy::unwrap_used)]
use std::collections::BTreeSet;

use super::*;
use crate::auth::rbac::{Authorizer, Kind, Policy};
use crate::auth::{Attributes, Decision, User};
use crate::store::Bounds;

async fn started() -> Store {
    let store = Store::in_memory(Bounds::default());
    write(&store, "c", &Ambient::system(), "-----BEGIN\nx\n").await;
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
    let root = store.get(&Key::new("c", "configmaps", "default", "kube-root-ca.crt")).unwrap();
    let root: serde_json::Value = serde_json::from_slice(&root.bytes).unwrap();
    assert_eq!(root["data"]["ca.crt"], "-----BEGIN\nx\n");
}

#[tokio::test]
async fn a_second_start_writes_nothing() {
    let store = started().await;
    let revision = store.revision();
    write(&store, "c", &Ambient::system(), "").await;
    assert_eq!(store.revision(), revision);
}

#[tokio::test]
async fn the_default_roles_allow_what_they_say() {
    let store = started().await;
    let mut policy = Policy::default();
    for kind in Kind::ALL {
        let prefix = Key::prefix("c", &format!("{}.rbac.authorization.k8s.io", kind.plural()), None);
        for (key, record) in store.list(&prefix, None, 0, None).unwrap().records {
            policy.put(kind, key.namespace(), key.name(), &record.bytes);
        }
    }
    let allows = |user: User, verb: &str, group: &str, resource: &str| {
        let asked = Attributes::resource(user, verb, group, resource).in_namespace("shop");
        matches!(policy.decide(&asked), Decision::Allow(_))
    };
    let somebody = || User::named("x").in_group("system:authenticated");
    assert!(allows(somebody(), "create", "authorization.k8s.io", "selfsubjectaccessreviews"));
    assert!(!allows(somebody(), "get", "", "pods"));
    assert!(allows(User::named("system:kube-scheduler"), "get", "", "pods"));
    let discovery = Attributes::path(somebody(), "get", "/apis/apps/v1");
    assert!(matches!(policy.decide(&discovery), Decision::Allow(_)));
}
