//! Two documents as one, and resources as a document.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Served, group_name, list, text};
use crate::contract::ResourceType;

/// What can be done with a resource of which no more is known than that there are objects of it.
const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The groups of both; whatever both have, in whatever depth, is the first one's.
pub(super) fn both(ours: &Value, theirs: &Value) -> Value {
    // A document that says nothing is no reason to lose the head of the other.
    let head = [ours, theirs].into_iter().find(|document| document.is_object());
    let mut joined = head.cloned().unwrap_or_else(|| json!({}));
    joined["items"] = beside(&ours["items"], &theirs["items"], group_name, |ours, theirs| {
        ours["versions"] = versions(&ours["versions"], &theirs["versions"]);
    });
    joined
}

/// CRDs come one by one: two clusters may each serve a part of one version.
fn versions(ours: &Value, theirs: &Value) -> Value {
    let version = |version: &Value| text(&version["version"]);
    beside(ours, theirs, version, |ours, theirs| {
        let resource = |resource: &Value| text(&resource["resource"]);
        ours["resources"] = beside(&ours["resources"], &theirs["resources"], resource, |_, _| {});
    })
}

/// Ours, in our order, and behind them those of theirs that have other names; `join` brings together what has the same.
fn beside(ours: &Value, theirs: &Value, name: impl Fn(&Value) -> String, join: impl Fn(&mut Value, &Value)) -> Value {
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

/// A document that says of these resources what readers look at.
pub(super) fn document(types: BTreeMap<&ResourceType, &Served>) -> Value {
    let mut groups: BTreeMap<&str, BTreeMap<&str, Vec<Value>>> = BTreeMap::new();
    for (of, served) in types {
        let resources = groups.entry(&of.group).or_default().entry(&of.version).or_default();
        resources.push(resource(of, served));
    }
    let version = |(version, resources): (&str, Vec<Value>)| json!({"freshness": "Current", "resources": resources, "version": version});
    let group = |(name, versions): (&str, BTreeMap<&str, Vec<Value>>)| json!({"metadata": {"name": name}, "versions": versions.into_iter().map(version).collect::<Vec<_>>()});
    headed(groups.into_iter().map(group).collect())
}

/// A document of these groups.
pub(super) fn headed(groups: Vec<Value>) -> Value {
    json!({"apiVersion": "apidiscovery.k8s.io/v2", "items": groups, "kind": "APIGroupDiscoveryList", "metadata": {}})
}

fn resource(of: &ResourceType, Served { kind, namespaced }: &Served) -> Value {
    json!({
        "resource": of.resource,
        "responseKind": {"group": kind.group, "kind": kind.kind, "version": kind.version},
        "scope": if *namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.kind.to_lowercase(),
        "verbs": VERBS,
    })
}
