//! Status of a CRD: functions of the CRD and of the names that other CRDs of its group have.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_object::quote::quote;

use crate::registry::ApiGroup;
use crate::resource::ServedResource;

/// Finalizer that keeps a CRD until its instances are deleted.
pub(super) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Names in use by other resources of the group.
#[derive(Debug, Default)]
pub(super) struct NamesInUse {
    group: Option<Arc<ApiGroup>>,
    own: String,
}

impl NamesInUse {
    /// Creates the names in use in `group`, except those of the resource `own`.
    pub fn new(group: Option<&Arc<ApiGroup>>, own: &str) -> Self {
        Self { group: group.cloned(), own: own.into() }
    }

    fn any(&self, test: impl Fn(&ServedResource) -> bool) -> bool {
        let resources = self.group.iter().flat_map(|g| &g.versions).flat_map(|v| &v.resources);
        resources.filter(|r| *r.plural != *self.own).any(|r| test(r))
    }

    fn resource(&self, name: &str) -> bool {
        self.any(|r| *r.plural == *name || *r.singular == *name || r.short_names.iter().any(|s| **s == *name))
    }

    fn kind(&self, name: &str) -> bool {
        self.any(|r| r.kind.kind == name || *r.list_kind == *name)
    }
}

/// Returns the CRD with its accepted names, or `None` if nothing changes.
pub(super) fn accept_names(crd: &Value, taken: &NamesInUse, now: &str) -> Option<Value> {
    if crd["spec"]["names"] == crd["status"]["acceptedNames"] {
        return None;
    }
    let (accepted, conflict) = names(&crd["spec"]["names"], &crd["status"]["acceptedNames"], taken);
    let accepts = match conflict {
        None => condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        Some((reason, message)) => condition("NamesAccepted", "False", reason, &message),
    };
    let is_accepted = accepts["status"] == "True";
    let same = |kind: &str, next: &Value| {
        find(crd, kind).is_some_and(|c| ["status", "reason", "message"].iter().all(|key| c[*key] == next[*key]))
    };
    if crd["status"]["acceptedNames"] == accepted && same("NamesAccepted", &accepts) {
        return None;
    }
    let mut next = crd.clone();
    next["status"]["acceptedNames"] = accepted;
    set(&mut next, accepts, now);
    let established = match find(crd, "Established") {
        Some(old) if old["status"] == "True" || !is_accepted => old.clone(),
        _ if is_accepted => condition("Established", "False", "Installing", "the initial names have been accepted"),
        _ => condition("Established", "False", "NotAccepted", "not all names are accepted"),
    };
    set(&mut next, established, now);
    Some(next)
}

/// Returns the established CRD, or `None` if its names are not accepted or it is already established.
pub(super) fn establish(crd: &Value, now: &str) -> Option<Value> {
    if !is_condition_true(crd, "NamesAccepted") || is_condition_true(crd, "Established") {
        return None;
    }
    let mut next = crd.clone();
    let message = "the initial names have been accepted";
    set(&mut next, condition("Established", "True", "InitialNamesAccepted", message), now);
    Some(next)
}

/// Returns the CRD after the first delete.
pub(crate) fn marked_for_deletion(crd: &Value, now: &str) -> Value {
    let mut next = crd.clone();
    next["metadata"]["deletionTimestamp"] = now.into();
    let mut finalizers: Vec<Value> = next["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    if !finalizers.iter().any(|f| f == CLEANUP) {
        finalizers.push(CLEANUP.into());
    }
    next["metadata"]["finalizers"] = finalizers.into();
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set(&mut next, condition("Terminating", "True", "InstanceDeletionPending", message), now);
    next
}

/// Returns the CRD while its instances are being deleted.
pub(super) fn deleting_instances(crd: &Value, now: &str) -> Value {
    let mut next = crd.clone();
    let message = "CustomResource deletion is in progress";
    set(&mut next, condition("Terminating", "True", "InstanceDeletionInProgress", message), now);
    next
}

/// Returns the CRD after its instances were deleted, without the cleanup finalizer.
pub(super) fn cleaned_up(crd: &Value, now: &str) -> Value {
    let mut next = crd.clone();
    let done = if is_condition_true(crd, "Established") {
        condition("Terminating", "False", "InstanceDeletionCompleted", "removed all instances")
    } else {
        condition("Terminating", "False", "NeverEstablished", "resource was never established")
    };
    set(&mut next, done, now);
    if let Some(finalizers) = next["metadata"]["finalizers"].as_array_mut() {
        finalizers.retain(|f| f != CLEANUP);
    }
    if next["metadata"]["finalizers"].as_array().is_some_and(Vec::is_empty) {
        next["metadata"].as_object_mut().map(|m| m.remove("finalizers"));
    }
    next
}

/// Whether the CRD is being deleted and waits for its instances.
pub(super) fn awaits_cleanup(crd: &Value) -> bool {
    !crd["metadata"]["deletionTimestamp"].is_null() && strings(&crd["metadata"]["finalizers"]).any(|f| f == CLEANUP)
}

/// Whether the condition is `True`.
pub(super) fn is_condition_true(crd: &Value, kind: &str) -> bool {
    find(crd, kind).is_some_and(|c| c["status"] == "True")
}

/// Returns the names the CRD gets now, and the last conflict among those it requests.
fn names(asked: &Value, accepted: &Value, taken: &NamesInUse) -> (Value, Option<(&'static str, String)>) {
    let mut claims = NameClaims { asked, accepted, next: accepted.clone(), conflict: None };
    let (resource, kind) = (|name: &str| taken.resource(name), |name: &str| taken.kind(name));
    claims.one("plural", &resource, "PluralConflict");
    claims.one("singular", &resource, "SingularConflict");
    claims.short_names(&resource);
    claims.one("kind", &kind, "KindConflict");
    claims.one("listKind", &kind, "ListKindConflict");
    keep(&mut claims.next, "categories", &asked["categories"]);
    (claims.next, claims.conflict)
}

struct NameClaims<'a> {
    asked: &'a Value,
    accepted: &'a Value,
    next: Value,
    conflict: Option<(&'static str, String)>,
}

impl NameClaims<'_> {
    fn one(&mut self, key: &str, used: &dyn Fn(&str) -> bool, reason: &'static str) {
        let wanted = self.asked[key].as_str().unwrap_or_default();
        if wanted != self.accepted[key].as_str().unwrap_or_default() && used(wanted) {
            self.conflict = Some((reason, format!("{} is already in use", quote(wanted))));
        } else {
            keep(&mut self.next, key, &self.asked[key]);
        }
    }

    fn short_names(&mut self, used: &dyn Fn(&str) -> bool) {
        let own: Vec<&str> = strings(&self.accepted["shortNames"]).collect();
        let conflicts: Vec<String> = strings(&self.asked["shortNames"])
            .filter(|name| !own.contains(name) && used(name))
            .map(|name| format!("{} is already in use", quote(name)))
            .collect();
        let message = match conflicts.as_slice() {
            [] => return keep(&mut self.next, "shortNames", &self.asked["shortNames"]),
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        self.conflict = Some(("ShortNamesConflict", message));
    }
}

fn keep(names: &mut Value, key: &str, value: &Value) {
    match (value, names.as_object_mut()) {
        (Value::Null, Some(names)) => drop(names.remove(key)),
        (value, _) => names[key] = value.clone(),
    }
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message})
}

fn find<'a>(crd: &'a Value, kind: &str) -> Option<&'a Value> {
    crd["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == kind)
}

/// Sets a condition. Its transition time changes only with its status.
fn set(crd: &mut Value, mut next: Value, now: &str) {
    if !crd["status"]["conditions"].is_array() {
        crd["status"]["conditions"] = json!([]);
    }
    let Some(all) = crd["status"]["conditions"].as_array_mut() else { return };
    match all.iter_mut().find(|c| c["type"] == next["type"]) {
        Some(old) => {
            let same = old["status"] == next["status"] && !old["lastTransitionTime"].is_null();
            next["lastTransitionTime"] = if same { old["lastTransitionTime"].clone() } else { now.into() };
            *old = next;
        }
        None => {
            next["lastTransitionTime"] = now.into();
            all.push(next);
        }
    }
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}
