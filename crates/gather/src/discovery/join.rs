//! Two documents as one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{group_name, list, text};

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
