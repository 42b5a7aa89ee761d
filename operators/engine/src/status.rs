//! What is found when what is wanted is held against what is there, and how an Application's status says it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::compare::is_same;
use crate::destination::Cluster;
use crate::field::{has_option, list, stamp, text, told};
use crate::health::{self, Code};
use crate::project::Project;
use crate::target::{Key, Targets, images, tracked_by};

/// Live objects by what they are, with their versions; none for what was looked for and is not there.
pub type Live = BTreeMap<Key, (String, Option<Value>)>;

/// A condition: its type and its message.
pub type Condition = (&'static str, String);

/// Whether things are as they are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// They are.
    Synced,
    /// They are not.
    OutOfSync,
    /// It cannot be told.
    Unknown,
}

impl Sync {
    /// In Argo CD's word.
    pub fn word(self) -> &'static str {
        match self {
            Sync::Synced => "Synced",
            Sync::OutOfSync => "OutOfSync",
            Sync::Unknown => "Unknown",
        }
    }
}

/// One object of an Application.
#[derive(Clone, Debug, PartialEq)]
pub struct Managed {
    /// What it is.
    pub key: Key,
    /// The version of its group.
    pub version: String,
    /// Whether it is as it is wanted.
    pub sync: Sync,
    /// How it does; nothing for kinds without health.
    pub health: Option<Value>,
    /// Whether it is there and not wanted.
    pub prune: bool,
    /// Its turn in a sync.
    pub wave: i64,
}

/// All that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Each object.
    pub managed: Vec<Managed>,
    /// All of them.
    pub sync: Sync,
    /// All of them.
    pub health: Code,
    /// Conditions: type and message.
    pub conditions: Vec<Condition>,
    /// Images of pods.
    pub images: BTreeSet<String>,
}

/// Holds what is wanted against what is there. `failed` says that it is not known what is wanted.
pub fn compare(
    application: &str,
    targets: &Targets,
    live: &Live,
    project: &Project,
    cluster: &Cluster,
    failed: bool,
) -> Found {
    let mut found = Found {
        managed: Vec::new(),
        sync: Sync::Synced,
        health: Code::Healthy,
        conditions: targets.warnings.clone(),
        images: BTreeSet::new(),
    };
    let keys: BTreeSet<&Key> = targets.wanted.keys().chain(live.keys()).collect();
    let mut healths = Vec::new();
    for key in keys {
        let target = targets.wanted.get(key);
        // As Argo CD: what may not be deployed to is not looked at. Whether somebody guessed it right would tell what it is.
        let refused = project.refuses(cluster, &key.group, &key.kind, &key.namespace, &key.name).is_some();
        let there = live.get(key).and_then(|(_, object)| object.as_ref()).filter(|_| !refused);
        let owner = there.and_then(|there| tracked_by(there, key));
        if target.is_none() && owner != Some(application) {
            continue;
        }
        if let Some(other) = owner.filter(|owner| *owner != application) {
            let message = format!("{}/{} is part of applications {application} and {other}", key.kind, key.name);
            found.conditions.push(("SharedResourceWarning", message));
        }
        let same = matches!((target, there), (Some(target), Some(there)) if is_same(&target.object, there));
        let prune = target.is_none();
        let permitted = project.permits_kind(&key.group, &key.kind, &key.name, !key.namespace.is_empty());
        let sync = match (failed || !permitted, same) {
            (true, _) => Sync::Unknown,
            (false, true) => Sync::Synced,
            (false, false) => Sync::OutOfSync,
        };
        let extraneous =
            prune && there.is_some_and(|one| has_option(one, "argocd.argoproj.io/compare-options", "IgnoreExtraneous"));
        if !same && !extraneous {
            found.sync = Sync::OutOfSync;
        }
        healths.push(there);
        if let Some(object) = there.or(target.map(|target| &target.object)) {
            found.images.extend(images(object));
        }
        let health = match there {
            Some(there) => health::of(there).map(|health| health.value()),
            None => Some(json!({"status": Code::Missing.word()})),
        };
        let version =
            target.map(|target| target.version.clone()).or_else(|| live.get(key).map(|(version, _)| version.clone()));
        let wave = target.map_or(0, |target| target.wave);
        found.managed.push(Managed {
            key: key.clone(),
            version: version.unwrap_or_default(),
            sync,
            health,
            prune,
            wave,
        });
    }
    found.health = health::of_application(healths);
    if failed {
        found.sync = Sync::Unknown;
    }
    found
}

impl Found {
    /// As `.status.resources`.
    pub fn resources(&self) -> Value {
        self.managed
            .iter()
            .map(|one| {
                told([
                    ("group", json!(one.key.group)),
                    ("version", json!(one.version)),
                    ("kind", json!(one.key.kind)),
                    ("namespace", json!(one.key.namespace)),
                    ("name", json!(one.key.name)),
                    ("status", json!(one.sync.word())),
                    ("health", one.health.clone().unwrap_or(Value::Null)),
                    ("requiresPruning", if one.prune { json!(true) } else { Value::Null }),
                    ("syncWave", if one.wave == 0 { Value::Null } else { json!(one.wave) }),
                ])
            })
            .collect()
    }
}

/// The objects that a status says were managed, with their versions.
pub fn managed(status: &Value) -> Vec<(Key, String)> {
    let read = |one: &Value| {
        let field = |name: &str| text(one, name).to_string();
        let key =
            Key { group: field("/group"), kind: field("/kind"), namespace: field("/namespace"), name: field("/name") };
        (key, field("/version"))
    };
    list(status, "/resources").map(read).collect()
}

/// Sets conditions of the types that were looked at; others stay. One that was there already keeps its time.
pub fn set_conditions(status: &mut Value, evaluated: &[&str], now_true: &[Condition], now: Timestamp) {
    let before: Vec<Value> = list(status, "/conditions").cloned().collect();
    let mut after: Vec<Value> = before.iter().filter(|one| !evaluated.contains(&text(one, "/type"))).cloned().collect();
    for (kind, message) in now_true {
        let known = before.iter().find(|one| one["type"] == *kind && one["message"] == *message);
        let fresh = || json!({"type": kind, "message": message, "lastTransitionTime": stamp(now)});
        after.push(known.cloned().unwrap_or_else(fresh));
    }
    after.sort_by(|a, b| (text(a, "/type"), text(a, "/message")).cmp(&(text(b, "/type"), text(b, "/message"))));
    after.dedup();
    put(status, "conditions", Value::Array(after));
}

/// Sets how the Application does; the time is that of the last change.
pub fn set_health(status: &mut Value, code: Code, now: Timestamp) {
    if text(status, "/health/status") != code.word() {
        status["health"] = json!({"status": code.word(), "lastTransitionTime": stamp(now)});
    }
}

/// Sets a field, or removes it when there is nothing to say.
pub fn put(status: &mut Value, field: &str, value: Value) {
    let empty = value.is_null()
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(|map| map.is_empty());
    match (empty, status.as_object_mut()) {
        (true, Some(status)) => drop(status.remove(field)),
        (false, Some(status)) => drop(status.insert(field.to_string(), value)),
        (_, None) => {}
    }
}

/// Conditions as the message of an operation that they stop.
pub fn in_words(conditions: &[Condition]) -> String {
    conditions.iter().map(|(kind, message)| format!("{kind}: {message}")).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests;
