//! Built-in resources, from the discovery documents of the Kubernetes release.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use switchboard_object::DISCOVERY;
use switchboard_object::kind::GroupVersionKind;

use super::{ApiGroup, GroupVersionResources, Registry};
use crate::resource::{LazySchema, ServedResource, Subresource};

pub(super) fn registry() -> Arc<Registry> {
    static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| {
        let documents: DiscoveryDocuments<'_> =
            serde_json::from_str(DISCOVERY).expect("the embedded discovery is well formed");
        let groups = documents.core.items.into_iter().chain(documents.groups.items);
        Arc::new(Registry::from_groups(groups.map(|g| Arc::new(group(g))).collect()))
    });
    REGISTRY.clone()
}

fn group(found: DiscoveryGroup<'_>) -> ApiGroup {
    let name: Arc<str> = found.metadata.name.into();
    let versions = found.versions.into_iter().map(|v| version(&name, v)).collect();
    ApiGroup { name, versions }
}

fn version(group: &str, found: DiscoveryVersion<'_>) -> GroupVersionResources {
    let name: Arc<str> = found.version.into();
    let mut resources: Vec<_> = found.resources.into_iter().map(|r| Arc::new(resource(group, &name, r))).collect();
    resources.sort_by(|a, b| a.plural.cmp(&b.plural));
    GroupVersionResources { name, resources }
}

fn resource(group: &str, version: &str, found: DiscoveryResource<'_>) -> ServedResource {
    let kind = GroupVersionKind::new(group, version, found.response_kind.kind);
    let subresources = found.subresources.into_iter().map(|s| subresource(&kind, s)).collect();
    ServedResource {
        plural: found.resource.into(),
        singular: found.singular_resource.into(),
        list_kind: format!("{}List", kind.kind).into(),
        short_names: names(found.short_names),
        categories: names(found.categories),
        namespaced: found.scope == "Namespaced",
        verbs: names(found.verbs),
        subresources,
        schema: LazySchema::built_in(kind.clone()),
        custom: None,
        kind,
    }
}

fn subresource(parent: &GroupVersionKind, found: DiscoverySubresource<'_>) -> Subresource {
    let DiscoveryKind { group, version, kind } = found.response_kind;
    // Empty group and version mean those of the resource.
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
struct DiscoveryDocuments<'a> {
    #[serde(rename = "/api")]
    #[serde(borrow)]
    core: DiscoveryDocument<'a>,
    #[serde(rename = "/apis")]
    #[serde(borrow)]
    groups: DiscoveryDocument<'a>,
}

#[derive(Deserialize)]
struct DiscoveryDocument<'a> {
    #[serde(borrow)]
    items: Vec<DiscoveryGroup<'a>>,
}

#[derive(Deserialize)]
struct DiscoveryGroup<'a> {
    #[serde(borrow)]
    metadata: DiscoveryMetadata<'a>,
    #[serde(borrow)]
    versions: Vec<DiscoveryVersion<'a>>,
}

#[derive(Deserialize, Default)]
struct DiscoveryMetadata<'a> {
    #[serde(default)]
    name: &'a str,
}

#[derive(Deserialize)]
struct DiscoveryVersion<'a> {
    version: &'a str,
    #[serde(borrow)]
    resources: Vec<DiscoveryResource<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiscoveryResource<'a> {
    resource: &'a str,
    #[serde(borrow)]
    response_kind: DiscoveryKind<'a>,
    scope: &'a str,
    singular_resource: &'a str,
    verbs: Vec<&'a str>,
    #[serde(default)]
    short_names: Vec<&'a str>,
    #[serde(default)]
    categories: Vec<&'a str>,
    #[serde(default)]
    #[serde(borrow)]
    subresources: Vec<DiscoverySubresource<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiscoverySubresource<'a> {
    subresource: &'a str,
    #[serde(borrow)]
    response_kind: DiscoveryKind<'a>,
    verbs: Vec<&'a str>,
}

#[derive(Deserialize)]
struct DiscoveryKind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}
