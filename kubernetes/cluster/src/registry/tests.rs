#![allow(clippy::unwrap_used)]

use super::*;
use crate::resource::{CrdVersion, LazySchema};
use switchboard_object::kind::GroupVersionKind;

fn widget(version: &str) -> Arc<ServedResource> {
    let kind = GroupVersionKind::new("shop.example.com", version, "Widget");
    Arc::new(ServedResource {
        plural: "widgets".into(),
        singular: "widget".into(),
        list_kind: "WidgetList".into(),
        short_names: vec![],
        categories: vec![],
        namespaced: true,
        verbs: vec![],
        subresources: vec![],
        schema: LazySchema::built_in(kind.clone()),
        custom: Some(Arc::new(CrdVersion::default())),
        kind,
    })
}

#[test]
fn built_in_resources_are_found_with_their_schemas() {
    let registry = Registry::built_in();
    for group in registry.groups() {
        for version in &group.versions {
            for resource in &version.resources {
                assert!(resource.schema().is_some(), "{} has a schema", resource.kind);
            }
        }
    }
    let pods = registry.get("", "v1", "pods").unwrap();
    assert_eq!(pods.subresource("eviction").unwrap().kind.to_string(), "policy/v1, Kind=Eviction");
    assert_eq!(registry.preferred("autoscaling", "horizontalpodautoscalers").unwrap().kind.version, "v2");
}

#[test]
fn custom_groups_are_added_and_removed() {
    let empty = Registry::built_in();
    let one = empty.with_custom("shop.example.com", "widgets", vec![widget("v1beta1"), widget("v1")]);
    let versions: Vec<_> = one.group("shop.example.com").unwrap().versions.iter().map(|v| v.name.to_string()).collect();
    assert_eq!(versions, ["v1", "v1beta1"]);
    let gone = one.with_custom("shop.example.com", "widgets", vec![]);
    assert!(gone.group("shop.example.com").is_none());
    assert_eq!(gone.groups().count(), empty.groups().count());
}

#[test]
fn versions_are_ordered_as_kubernetes_does() {
    let mut names = vec!["foo10", "v1alpha1", "v10", "v1beta1", "foo1", "v2", "v11beta2", "v1beta2", "v1"];
    names.sort_by(|a, b| compare_versions(b, a));
    assert_eq!(names, ["v10", "v2", "v1", "v11beta2", "v1beta2", "v1beta1", "v1alpha1", "foo1", "foo10"]);
}
