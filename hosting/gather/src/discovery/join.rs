//! Merging of discovery documents, and creation of documents from resources.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{DiscoveredResource, group_name, list, text};
use crate::contract::ResourceType;

/// Verbs of a resource of which only objects are known.
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// Merges the groups of both documents. At every level, entries of the first one win.
pub(super) fn merge_documents(ours: &Value, theirs: &Value) -> Value {
    // If the first document is empty, the second one provides the header.
    let head = [ours, theirs].into_iter().find(|document| document.is_object());
    let mut joined = head.cloned().unwrap_or_else(|| json!({}));
    joined["items"] = merge_named(&ours["items"], &theirs["items"], group_name, |ours, theirs| {
        ours["versions"] = versions(&ours["versions"], &theirs["versions"]);
    });
    joined
}

/// CRDs are separate, so two clusters may each serve a part of one version.
fn versions(ours: &Value, theirs: &Value) -> Value {
    let version = |version: &Value| text(&version["version"]);
    merge_named(ours, theirs, version, |ours, theirs| {
        let resource = |resource: &Value| text(&resource["resource"]);
        ours["resources"] = merge_named(&ours["resources"], &theirs["resources"], resource, |_, _| {});
    })
}

/// Merges two lists in the order of the first one and appends new names of the second. `join` merges entries of the
/// same name.
fn merge_named(
    ours: &Value,
    theirs: &Value,
    name: impl Fn(&Value) -> String,
    join: impl Fn(&mut Value, &Value),
) -> Value {
    let mut all: Vec<Value> = list(ours).filter(|one| one.is_object()).cloned().collect();
    let mut known = BTreeMap::new();
    for (at, one) in all.iter().enumerate() {
        known.entry(name(one)).or_insert(at);
    }
    for one in list(theirs) {
        match known.get(&name(one)) {
            Some(at) => join(&mut all[*at], one),
            None => all.push(one.clone()),
        }
    }
    Value::Array(all)
}

/// Creates a document of these resources with the fields that readers use.
pub(super) fn document(types: BTreeMap<&ResourceType, &DiscoveredResource>) -> Value {
    let mut groups: BTreeMap<&str, BTreeMap<&str, Vec<Value>>> = BTreeMap::new();
    for (of, served) in types {
        let resources = groups.entry(&of.group).or_default().entry(&of.version).or_default();
        resources.push(resource(of, served));
    }
    let version = |(version, resources): (&str, Vec<Value>)| json!({"freshness": "Current", "resources": resources, "version": version});
    let group = |(name, versions): (&str, BTreeMap<&str, Vec<Value>>)| json!({"metadata": {"name": name}, "versions": versions.into_iter().map(version).collect::<Vec<_>>()});
    group_list(groups.into_iter().map(group).collect())
}

/// Creates a document of these groups.
pub(super) fn group_list(groups: Vec<Value>) -> Value {
    json!({"apiVersion": "apidiscovery.k8s.io/v2", "items": groups, "kind": "APIGroupDiscoveryList", "metadata": {}})
}

fn resource(of: &ResourceType, DiscoveredResource { kind, namespaced }: &DiscoveredResource) -> Value {
    json!({
        "resource": of.resource,
        "responseKind": {"group": kind.group, "kind": kind.kind, "version": kind.version},
        "scope": if *namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.kind.to_lowercase(),
        "verbs": VERBS,
    })
}
