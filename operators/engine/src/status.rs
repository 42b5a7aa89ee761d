//! Comparison of target and live objects, and its representation in an Application's status.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::compare::is_in_sync;
use crate::destination::DestinationCluster;
use crate::object_fields::{format_time, has_option, list, non_empty_fields, text};
use crate::project::Project;
use crate::target::{ResourceKey, TargetObjects, images, tracked_by};
use switchboard_object::health::{self, HealthCode};

/// Live objects by key, with their versions. `None` for objects that were read and do not exist.
pub type LiveObjects = BTreeMap<ResourceKey, (String, Option<Value>)>;

/// Condition: type and message.
pub type ApplicationCondition = (&'static str, String);

/// Sync status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncStatusCode {
    /// Live and target objects match.
    Synced,
    /// Live and target objects differ.
    OutOfSync,
    /// The target objects are not known.
    Unknown,
}

impl SyncStatusCode {
    /// Argo CD's name of the code.
    pub fn as_str(self) -> &'static str {
        match self {
            SyncStatusCode::Synced => "Synced",
            SyncStatusCode::OutOfSync => "OutOfSync",
            SyncStatusCode::Unknown => "Unknown",
        }
    }
}

/// Comparison result of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct ManagedResource {
    /// Key of the object.
    pub key: ResourceKey,
    /// Version of its group.
    pub version: String,
    /// Sync status of the object.
    pub sync: SyncStatusCode,
    /// Health of the object; `None` for kinds without health.
    pub health: Option<Value>,
    /// Whether the object exists but is not a target object.
    pub prune: bool,
    /// Sync wave.
    pub wave: i64,
}

/// Comparison result of an Application.
#[derive(Clone, Debug)]
pub struct ComparisonResult {
    /// Results of the single objects.
    pub managed: Vec<ManagedResource>,
    /// Overall sync status.
    pub sync: SyncStatusCode,
    /// Overall health.
    pub health: HealthCode,
    /// Conditions: type and message.
    pub conditions: Vec<ApplicationCondition>,
    /// Images of all pods.
    pub images: BTreeSet<String>,
}

/// Compares target and live objects. `failed` means that the target objects are not known.
pub fn compare(
    application: &str,
    targets: &TargetObjects,
    live: &LiveObjects,
    project: &Project,
    cluster: &DestinationCluster,
    failed: bool,
) -> ComparisonResult {
    let mut found = ComparisonResult {
        managed: Vec::new(),
        sync: SyncStatusCode::Synced,
        health: HealthCode::Healthy,
        conditions: targets.warnings.clone(),
        images: BTreeSet::new(),
    };
    let keys: BTreeSet<&ResourceKey> = targets.objects.keys().chain(live.keys()).collect();
    let mut healths = Vec::new();
    for key in keys {
        let target = targets.objects.get(key);
        // Denied objects are not compared, as in Argo CD: the result would reveal whether the manifest matches another
        // tenant's object.
        let refused = project.denial_reason(cluster, &key.group, &key.kind, &key.namespace, &key.name).is_some();
        let there = live.get(key).and_then(|(_, object)| object.as_ref()).filter(|_| !refused);
        let owner = there.and_then(|there| tracked_by(there, key));
        if target.is_none() && owner != Some(application) {
            continue;
        }
        if let Some(other) = owner.filter(|owner| *owner != application) {
            let message = format!("{}/{} is part of applications {application} and {other}", key.kind, key.name);
            found.conditions.push(("SharedResourceWarning", message));
        }
        let same = matches!((target, there), (Some(target), Some(there)) if is_in_sync(&target.object, there));
        let prune = target.is_none();
        let permitted = project.permits_kind(&key.group, &key.kind, &key.name, !key.namespace.is_empty());
        let sync = match (failed || !permitted, same) {
            (true, _) => SyncStatusCode::Unknown,
            (false, true) => SyncStatusCode::Synced,
            (false, false) => SyncStatusCode::OutOfSync,
        };
        let extraneous =
            prune && there.is_some_and(|one| has_option(one, "argocd.argoproj.io/compare-options", "IgnoreExtraneous"));
        if !same && !extraneous {
            found.sync = SyncStatusCode::OutOfSync;
        }
        healths.push(there);
        if let Some(object) = there.or(target.map(|target| &target.object)) {
            found.images.extend(images(object));
        }
        let health = match there {
            Some(there) => health::assess(there).map(|health| health.to_value()),
            None => Some(json!({"status": HealthCode::Missing.as_str()})),
        };
        let version =
            target.map(|target| target.version.clone()).or_else(|| live.get(key).map(|(version, _)| version.clone()));
        let wave = target.map_or(0, |target| target.wave);
        found.managed.push(ManagedResource {
            key: key.clone(),
            version: version.unwrap_or_default(),
            sync,
            health,
            prune,
            wave,
        });
    }
    found.health = health::application_health(healths);
    if failed {
        found.sync = SyncStatusCode::Unknown;
    }
    found
}

impl ComparisonResult {
    /// Returns `.status.resources`.
    pub fn resources(&self) -> Value {
        self.managed
            .iter()
            .map(|one| {
                non_empty_fields([
                    ("group", json!(one.key.group)),
                    ("version", json!(one.version)),
                    ("kind", json!(one.key.kind)),
                    ("namespace", json!(one.key.namespace)),
                    ("name", json!(one.key.name)),
                    ("status", json!(one.sync.as_str())),
                    ("health", one.health.clone().unwrap_or(Value::Null)),
                    ("requiresPruning", if one.prune { json!(true) } else { Value::Null }),
                    ("syncWave", if one.wave == 0 { Value::Null } else { json!(one.wave) }),
                ])
            })
            .collect()
    }
}

/// Returns the objects listed in a status, with their versions.
pub fn managed_resources(status: &Value) -> Vec<(ResourceKey, String)> {
    let read = |one: &Value| {
        let field = |name: &str| text(one, name).to_string();
        let key = ResourceKey {
            group: field("/group"),
            kind: field("/kind"),
            namespace: field("/namespace"),
            name: field("/name"),
        };
        (key, field("/version"))
    };
    list(status, "/resources").map(read).collect()
}

/// Replaces the conditions of the evaluated types. Conditions that did not change keep their time.
pub fn set_conditions(status: &mut Value, evaluated: &[&str], now_true: &[ApplicationCondition], now: Timestamp) {
    let before: Vec<Value> = list(status, "/conditions").cloned().collect();
    let mut after: Vec<Value> = before.iter().filter(|one| !evaluated.contains(&text(one, "/type"))).cloned().collect();
    for (kind, message) in now_true {
        let known = before.iter().find(|one| one["type"] == *kind && one["message"] == *message);
        let fresh = || json!({"type": kind, "message": message, "lastTransitionTime": format_time(now)});
        after.push(known.cloned().unwrap_or_else(fresh));
    }
    after.sort_by(|a, b| (text(a, "/type"), text(a, "/message")).cmp(&(text(b, "/type"), text(b, "/message"))));
    after.dedup();
    set_field(status, "conditions", Value::Array(after));
}

/// Sets the health of the Application. The time is that of the last change.
pub fn set_health(status: &mut Value, code: HealthCode, now: Timestamp) {
    if text(status, "/health/status") != code.as_str() {
        status["health"] = json!({"status": code.as_str(), "lastTransitionTime": format_time(now)});
    }
}

/// Sets a field, or removes it if the value is empty.
pub fn set_field(status: &mut Value, field: &str, value: Value) {
    let empty = value.is_null()
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(|map| map.is_empty());
    match (empty, status.as_object_mut()) {
        (true, Some(status)) => drop(status.remove(field)),
        (false, Some(status)) => drop(status.insert(field.to_string(), value)),
        (_, None) => {}
    }
}

/// Formats conditions as the message of the operation that they prevent.
pub fn conditions_message(conditions: &[ApplicationCondition]) -> String {
    conditions.iter().map(|(kind, message)| format!("{kind}: {message}")).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests;
