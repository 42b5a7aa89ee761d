//! Discovery of groups, versions and resources, in the plain and the aggregated form.
//!
//! Pure functions from a [`Registry`] to the documents that clients fetch first.

#[cfg(test)]
mod tests;

use base64::Engine;
use ring::digest::{SHA256, digest};
use serde_json::json;
use switchboard_object::{Map, Value};

use crate::registry::{ApiGroup, GroupVersionResources, Registry};
use crate::resource::{ServedResource, Subresource};

/// Returns `/api`: the versions of the core group. `address` is the address at which clients reach the server.
pub fn core_versions(registry: &Registry, address: &str) -> Value {
    let versions: Vec<&str> = registry.group("").iter().flat_map(|g| &g.versions).map(|v| &*v.name).collect();
    json!({
        "kind": "APIVersions",
        "versions": versions,
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// Returns `/apis`: all groups except the core group.
pub fn group_list(registry: &Registry) -> Value {
    let groups: Vec<Value> = named_groups(registry).map(|g| Value::Object(group_fields(g))).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// Returns `/apis/<group>`.
pub fn group(group: &ApiGroup) -> Value {
    let mut document = group_fields(group);
    document.insert("kind".into(), "APIGroup".into());
    document.insert("apiVersion".into(), "v1".into());
    Value::Object(document)
}

/// Returns `/api/v1` or `/apis/<group>/<version>`: the resources with their subresources.
pub fn resource_list(group: &ApiGroup, version: &GroupVersionResources) -> Value {
    let resources: Vec<Value> = version.resources.iter().flat_map(|r| entries(r)).collect();
    let mut document =
        json!({"kind": "APIResourceList", "groupVersion": group_version(group, version), "resources": resources});
    if !group.name.is_empty() {
        // The core group's list has no apiVersion in kube-apiserver, and clients rely on that.
        document["apiVersion"] = "v1".into();
    }
    document
}

/// Returns the aggregated form of `/api` (`core`) or `/apis`: everything in one document.
pub fn aggregated(registry: &Registry, core: bool) -> Value {
    let items: Vec<Value> =
        registry.groups().filter(|g| g.name.is_empty() == core).map(|g| aggregated_group(g)).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

/// Returns the tag of a discovery document, the `Etag` header's value without quotes.
pub fn etag(document: &[u8]) -> String {
    hex(digest(&ring::digest::SHA512, document).as_ref())
}

fn named_groups(registry: &Registry) -> impl Iterator<Item = &ApiGroup> {
    registry.groups().map(|g| &**g).filter(|g| !g.name.is_empty())
}

fn group_version(group: &ApiGroup, version: &GroupVersionResources) -> String {
    if group.name.is_empty() { version.name.to_string() } else { format!("{}/{}", group.name, version.name) }
}

fn group_fields(group: &ApiGroup) -> Map {
    let versions: Vec<Value> =
        group.versions.iter().map(|v| json!({"groupVersion": group_version(group, v), "version": &*v.name})).collect();
    let mut fields = Map::new();
    fields.insert("name".into(), (&*group.name).into());
    fields.insert("preferredVersion".into(), versions.first().cloned().unwrap_or_default());
    fields.insert("versions".into(), versions.into());
    fields
}

/// Returns the entries of the resource and of its subresources.
fn entries(resource: &ServedResource) -> Vec<Value> {
    let mut own = json!({
        "name": &*resource.plural,
        "singularName": &*resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind.kind,
        "verbs": strings(&resource.verbs),
    });
    let fields = own.as_object_mut().expect("created as an object above");
    insert_names(fields, resource);
    if let Some(hash) = storage_version_hash(resource) {
        fields.insert("storageVersionHash".into(), hash.into());
    }
    let mut all = vec![own];
    all.extend(resource.subresources.iter().map(|s| subresource_entry(resource, s)));
    all
}

fn subresource_entry(resource: &ServedResource, subresource: &Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", resource.plural, subresource.name),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": subresource.kind.kind,
        "verbs": strings(&subresource.verbs),
    });
    let foreign =
        (&subresource.kind.group, &subresource.kind.version) != (&resource.kind.group, &resource.kind.version);
    if foreign {
        entry["group"] = subresource.kind.group.as_str().into();
        entry["version"] = subresource.kind.version.as_str().into();
    }
    entry
}

fn insert_names(fields: &mut Map, resource: &ServedResource) {
    if !resource.short_names.is_empty() {
        fields.insert("shortNames".into(), strings(&resource.short_names));
    }
    if !resource.categories.is_empty() {
        fields.insert("categories".into(), strings(&resource.categories));
    }
}

fn aggregated_group(group: &ApiGroup) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|v| {
            let resources: Vec<Value> = v.resources.iter().map(|r| aggregated_resource(r)).collect();
            json!({"version": &*v.name, "resources": resources, "freshness": "Current"})
        })
        .collect();
    let metadata = if group.name.is_empty() { json!({}) } else { json!({"name": &*group.name}) };
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_resource(resource: &ServedResource) -> Value {
    let scope = if resource.namespaced { "Namespaced" } else { "Cluster" };
    let mut entry = json!({
        "resource": &*resource.plural,
        "responseKind": response_kind(resource, None),
        "scope": scope,
        "singularResource": &*resource.singular,
        "verbs": strings(&resource.verbs),
    });
    let fields = entry.as_object_mut().expect("created as an object above");
    insert_names(fields, resource);
    if !resource.subresources.is_empty() {
        let subresources = resource.subresources.iter().map(|s| {
            json!({"subresource": &*s.name, "responseKind": response_kind(resource, Some(s)), "verbs": strings(&s.verbs)})
        });
        fields.insert("subresources".into(), subresources.collect());
    }
    entry
}

/// Returns the response kind. Built-in resources omit group and version where they equal the resource's own; CRDs do
/// not.
fn response_kind(resource: &ServedResource, subresource: Option<&Subresource>) -> Value {
    let kind = subresource.map_or(&resource.kind, |s| &s.kind);
    let own = (&kind.group, &kind.version) == (&resource.kind.group, &resource.kind.version);
    if own && resource.custom.is_none() {
        json!({"group": "", "version": "", "kind": kind.kind})
    } else {
        json!({"group": kind.group, "version": kind.version, "kind": kind.kind})
    }
}

/// Returns a hash that changes with the storage version; `None` for kinds that are not stored.
fn storage_version_hash(resource: &ServedResource) -> Option<String> {
    if !resource.verbs.iter().any(|v| &**v == "watch") {
        return None;
    }
    let (group, version) = match (&resource.custom, resource.kind.group.as_str(), resource.kind.kind.as_str()) {
        (Some(custom), group, _) => (group, &*custom.storage_version),
        // Two groups serve one stored kind.
        (None, "events.k8s.io", "Event") => ("", "v1"),
        (None, "autoscaling", "HorizontalPodAutoscaler") => ("autoscaling", "v2"),
        // The release still reports an earlier storage version.
        (None, "apiextensions.k8s.io", _) => ("apiextensions.k8s.io", "v1beta1"),
        (None, group, _) => (group, resource.kind.version.as_str()),
    };
    let hash = digest(&SHA256, format!("{group}/{version}/{}", resource.kind.kind).as_bytes());
    Some(base64::engine::general_purpose::STANDARD.encode(&hash.as_ref()[..8]))
}

fn strings(names: &[std::sync::Arc<str>]) -> Value {
    names.iter().map(|n| Value::from(&**n)).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02X}")).collect()
}
