#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[test]
fn bundled_documents_contain_core_and_openshift() {
    let carried = Discovery::bundled();
    let pods = carried.served(&ResourceType::new("", "v1", "pods")).unwrap();
    assert_eq!((pods.kind.to_string(), pods.namespaced), ("/v1, Kind=Pod".into(), true));
    let ingresses = carried.served(&ResourceType::new("config.openshift.io", "v1", "ingresses")).unwrap();
    assert_eq!((&*ingresses.kind.kind, ingresses.namespaced), ("Ingress", false));
    assert_eq!(carried.served(&ResourceType::new("config.openshift.io", "v9", "ingresses")), None);
}

#[test]
fn subset_contains_only_the_requested_resources() {
    let types: BTreeSet<ResourceType> =
        [ResourceType::new("", "v1", "pods"), ResourceType::new("apps", "v1", "deployments")].into();
    let slim = Discovery::bundled().subset(&types);
    assert_eq!(slim.types().map(|(of, _)| of.clone()).collect::<BTreeSet<_>>(), types);
    assert!(yaml::to_string(slim.apis()).len() < 2000);
    assert!(
        !list(&slim.api()["items"][0]["versions"][0]["resources"][0]["subresources"]).collect::<Vec<_>>().is_empty()
    );
}

#[test]
fn documents_are_merged_by_resource_and_the_first_wins() {
    let of = |resource: &str| ResourceType::new("apps", "v1", resource);
    let mut one = Discovery::bundled().subset(&[of("deployments")].into()).apis().clone();
    one["items"][0]["versions"][0]["resources"][0]["scope"] = "Cluster".into();
    let both = Discovery::new(Value::Null, one).merged_with(Discovery::bundled());
    assert!(both.served(&ResourceType::new("batch", "v1", "jobs")).is_some(), "a group of the second");
    assert!(both.served(&of("daemonsets")).is_some(), "a resource of the second, in a group and version of the first");
    assert!(!both.served(&of("deployments")).unwrap().namespaced, "the first one's");
    let groups: Vec<&Value> = list(&both.apis()["items"]).filter(|group| group_name(group) == "apps").collect();
    let resources: Vec<String> =
        list(&groups[0]["versions"][0]["resources"]).map(|resource| text(&resource["resource"])).collect();
    assert_eq!((groups.len(), list(&groups[0]["versions"]).count()), (1, 1));
    assert_eq!(resources.iter().filter(|name| *name == "deployments").count(), 1, "{resources:?}");
    assert_eq!(both.merged_with(&both), both, "what is known adds nothing");
}

#[test]
fn groups_without_versions_take_those_of_the_other_document() {
    let bare = json!({"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "apps"}}]});
    let both = Discovery::new(Value::Null, bare).merged_with(Discovery::bundled());
    assert!(both.served(&ResourceType::new("apps", "v1", "deployments")).is_some());
}
