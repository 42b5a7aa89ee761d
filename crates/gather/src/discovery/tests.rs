#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn the_carried_documents_know_core_and_openshift() {
    let carried = Discovery::carried();
    let pods = carried.served(&ResourceType::new("", "v1", "pods")).unwrap();
    assert_eq!((pods.kind.to_string(), pods.namespaced), ("/v1, Kind=Pod".into(), true));
    let ingresses = carried.served(&ResourceType::new("config.openshift.io", "v1", "ingresses")).unwrap();
    assert_eq!((&*ingresses.kind.kind, ingresses.namespaced), ("Ingress", false));
    assert_eq!(carried.served(&ResourceType::new("config.openshift.io", "v9", "ingresses")), None);
}

#[test]
fn slim_documents_say_what_is_asked_for_and_no_more() {
    let types: BTreeSet<ResourceType> =
        [ResourceType::new("", "v1", "pods"), ResourceType::new("apps", "v1", "deployments")].into();
    let slim = Discovery::carried().slim(&types);
    assert_eq!(slim.types().map(|(of, _)| of.clone()).collect::<BTreeSet<_>>(), types);
    assert!(yaml::to_string(slim.apis()).len() < 2000);
    assert!(
        !list(&slim.api()["items"][0]["versions"][0]["resources"][0]["subresources"]).collect::<Vec<_>>().is_empty()
    );
}

#[test]
fn two_documents_are_joined_and_the_first_counts() {
    let one = Discovery::carried().slim(&[ResourceType::new("apps", "v1", "deployments")].into());
    let both = one.and(Discovery::carried());
    assert!(both.served(&ResourceType::new("batch", "v1", "jobs")).is_some());
    assert_eq!(
        both.served(&ResourceType::new("apps", "v1", "daemonsets")),
        None,
        "the group and version is the first one's"
    );
}
