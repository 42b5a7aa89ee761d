//! The built-in resources, from the discovery documents of the release.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use switchboard_object::DISCOVERY;
use switchboard_object::kind::GroupVersionKind;

use super::{Group, Registry, Version};
use crate::resource::{LazyShape, Resource, Subresource};

pub(super) fn registry() -> Arc<Registry> {
    static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| {
        let documents: Documents<'_> = serde_json::from_str(DISCOVERY).expect("the carried discovery is well formed");
        let groups = documents.core.items.into_iter().chain(documents.groups.items);
        Arc::new(Registry::from_groups(groups.map(|g| Arc::new(group(g))).collect()))
    });
    REGISTRY.clone()
}

fn group(found: FoundGroup<'_>) -> Group {
    let name: Arc<str> = found.metadata.name.into();
    let versions = found.versions.into_iter().map(|v| version(&name, v)).collect();
    Group { name, versions }
}

fn version(group: &str, found: FoundVersion<'_>) -> Version {
    let name: Arc<str> = found.version.into();
    let mut resources: Vec<_> = found.resources.into_iter().map(|r| Arc::new(resource(group, &name, r))).collect();
    resources.sort_by(|a, b| a.plural.cmp(&b.plural));
    Version { name, resources }
}

fn resource(group: &str, version: &str, found: FoundResource<'_>) -> Resource {
    let kind = GroupVersionKind::new(group, version, found.response_kind.kind);
    let subresources = found.subresources.into_iter().map(|s| subresource(&kind, s)).collect();
    Resource {
        plural: found.resource.into(),
        singular: found.singular_resource.into(),
        list_kind: format!("{}List", kind.kind).into(),
        short_names: names(found.short_names),
        categories: names(found.categories),
        namespaced: found.scope == "Namespaced",
        verbs: names(found.verbs),
        subresources,
        shape: LazyShape::built_in(kind.clone()),
        custom: None,
        kind,
    }
}

fn subresource(parent: &GroupVersionKind, found: FoundSubresource<'_>) -> Subresource {
    let FoundKind { group, version, kind } = found.response_kind;
    // An empty group and version stand for the resource's own.
    let kind = match version {
        "" => GroupVersionKind::new(parent.group.as_str(), parent.version.as_str(), kind),
        _ => GroupVersionKind::new(group, version, kind),
    };
    Subresource { name: found.subresource.into(), kind, verbs: names(found.verbs) }
}

fn names(found: Vec<&str>) -> Vec<Arc<str>> {
    found.into_iter().map(Arc::from).collect()
}

#[derive(Deserialize)]
struct Documents<'a> {
    #[serde(rename = "/api")]
    #[serde(borrow)]
    core: Document<'a>,
    #[serde(rename = "/apis")]
    #[serde(borrow)]
    groups: Document<'a>,
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    items: Vec<FoundGroup<'a>>,
}

#[derive(Deserialize)]
struct FoundGroup<'a> {
    #[serde(borrow)]
    metadata: FoundMetadata<'a>,
    #[serde(borrow)]
    versions: Vec<FoundVersion<'a>>,
}

#[derive(Deserialize, Default)]
struct FoundMetadata<'a> {
    #[serde(default)]
    name: &'a str,
}

#[derive(Deserialize)]
struct FoundVersion<'a> {
    version: &'a str,
    #[serde(borrow)]
    resources: Vec<FoundResource<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FoundResource<'a> {
    resource: &'a str,
    #[serde(borrow)]
    response_kind: FoundKind<'a>,
    scope: &'a str,
    singular_resource: &'a str,
    verbs: Vec<&'a str>,
    #[serde(default)]
    short_names: Vec<&'a str>,
    #[serde(default)]
    categories: Vec<&'a str>,
    #[serde(default)]
    #[serde(borrow)]
    subresources: Vec<FoundSubresource<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FoundSubresource<'a> {
    subresource: &'a str,
    #[serde(borrow)]
    response_kind: FoundKind<'a>,
    verbs: Vec<&'a str>,
}

#[derive(Deserialize)]
struct FoundKind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}
