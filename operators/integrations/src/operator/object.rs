//! Reconciliation of one object.

use serde_json::{Map, Value};
use switchboard_kernel::plan::{Mutation, PatchType, WriteOp};
use switchboard_kernel::resource::Resource;

use super::drift::has_drifted;
use super::question::{DesiredState, ObjectState};
use crate::annotations::{self, QontractAnnotations};
use crate::{desired, hash};

/// Annotations of manual restarts, which are preserved.
const RESTARTED: [&str; 2] = ["kubectl.kubernetes.io/restartedAt", "openshift.openshift.io/restartedAt"];

/// Label that distinguishes the shards of an integration, if enabled.
const SHARD_LABEL: &str = "switchboard.dev/shard";

/// Desired object with the settings for its reconciliation.
pub struct ReconcileTarget<'a> {
    /// Kind.
    pub kind: &'static Resource,
    /// Namespace.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
    /// Object without the manager's annotations.
    pub body: &'a Value,
    /// Hash of the object.
    pub hash: &'a str,
    /// Caller that the object is managed for.
    pub caller: &'a str,
    /// Whether other callers desire the same object.
    pub shared: bool,
    /// Whether to take over objects of other managers.
    pub take_over: bool,
    /// Shard for the shard label.
    pub shard: Option<&'a str>,
    /// Whether new objects get the shard label.
    pub shard_labels: bool,
}

impl<'a> ReconcileTarget<'a> {
    /// Returns the target for an object of the desired state, if its kind is known.
    pub fn of(object: &'a ObjectState, state: &'a DesiredState, namespace: &'a str) -> Option<Self> {
        Some(Self {
            kind: desired::resource(&object.kind)?,
            namespace,
            name: &object.name,
            body: &object.body,
            hash: &object.hash,
            caller: &state.caller,
            shared: state.shared,
            take_over: state.take_over || state.compat,
            shard: object.shard.as_deref().filter(|shard| !state.compat && is_label(shard)),
            shard_labels: state.shard_labels,
        })
    }
}

/// Action for an object.
pub enum ObjectAction {
    /// The object is up to date.
    UpToDate,
    /// Execute this write.
    Write(Box<Mutation>),
    /// The object belongs to another manager, and a user must decide.
    Refuse(String),
}

impl ObjectAction {
    fn write(mutation: Mutation) -> Self {
        Self::Write(Box::new(mutation))
    }
}

/// Decides on the action for an object.
pub fn decide(wanted: &ReconcileTarget<'_>, live: Option<&Value>, now: jiff::Timestamp) -> ObjectAction {
    let Some(live) = live else {
        let (body, sum) =
            with_shard_label(wanted, None).unwrap_or_else(|| (wanted.body.clone(), wanted.hash.to_string()));
        let mut body = annotations::annotate_with(&body, wanted.caller, &sum, Some(now));
        body["metadata"]["namespace"] = wanted.namespace.into();
        return ObjectAction::write(Mutation::create(wanted.kind, body));
    };
    if live.pointer("/metadata/deletionTimestamp").is_some() {
        return ObjectAction::UpToDate;
    }
    let marks = QontractAnnotations::from_object(live);
    let (body, sum) = with_restart_annotations(wanted, live);
    let has_drifted = has_drifted(&body, live);
    if marks.sum.as_deref() == Some(&sum) && marks.integration.as_deref() == Some(annotations::OUR_NAME) && !has_drifted
    {
        // A shared object is desired by several callers, which must not compete for it.
        if wanted.shared || marks.caller.as_deref() == Some(wanted.caller) || wanted.take_over {
            return ObjectAction::UpToDate;
        }
    }
    if let Some(owner) = other_owner(&marks, wanted).filter(|_| !wanted.take_over) {
        let kind = &wanted.kind.kind;
        return ObjectAction::Refuse(format!(
            "{kind} {} belongs to {owner}; set `takeOver` to take it over",
            wanted.name
        ));
    }
    if marks.integration.is_none() && has_drifted && !wanted.take_over {
        let (kind, name) = (&wanted.kind.kind, wanted.name);
        return ObjectAction::Refuse(format!(
            "{kind} {name} was not created by an integrations manager and differs from the template; set `takeOver` to take it over"
        ));
    }
    let marked = annotations::annotate_with(&body, wanted.caller, &sum, Some(now));
    if marks.sum.is_none() && !has_drifted {
        return ObjectAction::write(adoption_patch(wanted, &marked));
    }
    if let Some(propagation) = recreation_propagation(wanted.kind, &body, live) {
        let mut delete = Mutation::delete(wanted.kind, wanted.namespace, wanted.name);
        delete.operation = WriteOp::Delete { propagation: Some(propagation.to_string()) };
        return ObjectAction::write(delete);
    }
    ObjectAction::write(Mutation::update(wanted.kind, merged_body(wanted, marked, live)))
}

fn other_owner(marks: &QontractAnnotations, wanted: &ReconcileTarget<'_>) -> Option<String> {
    match (&marks.integration, &marks.caller) {
        (Some(name), _) if name != annotations::OUR_NAME => Some(format!("integration {name}")),
        (Some(_), Some(caller)) if caller != wanted.caller => Some(format!("caller {caller}")),
        _ => None,
    }
}

/// Whether a text is a valid label value.
fn is_label(text: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.len() <= 63 && ends(text.chars().next()) && ends(text.chars().last()) && text.chars().all(fits)
}

/// Returns a workload with the shard label and its new hash: for new objects if enabled, and for objects that already
/// have the label. A selector is immutable, so other objects keep theirs.
fn with_shard_label(wanted: &ReconcileTarget<'_>, live: Option<&Value>) -> Option<(Value, String)> {
    let shard = wanted.shard.filter(|_| matches!(&*wanted.kind.kind, "Deployment" | "StatefulSet"))?;
    let has = |live: &Value| live["spec"]["selector"]["matchLabels"].get(SHARD_LABEL).is_some();
    if !live.map_or(wanted.shard_labels, has) {
        return None;
    }
    let mut body = wanted.body.clone();
    body["spec"]["selector"]["matchLabels"][SHARD_LABEL] = shard.into();
    body["spec"]["template"]["metadata"]["labels"][SHARD_LABEL] = shard.into();
    let sum = hash::hash(&body);
    Some((body, sum))
}

/// Returns the object with the annotations of manual restarts and its new hash.
fn with_restart_annotations(wanted: &ReconcileTarget<'_>, live: &Value) -> (Value, String) {
    let (mut body, sum) =
        with_shard_label(wanted, Some(live)).unwrap_or_else(|| (wanted.body.clone(), wanted.hash.to_string()));
    let pointer = "/spec/template/metadata/annotations";
    let kept = RESTARTED.iter().filter_map(|name| Some((*name, live.pointer(pointer)?.get(*name)?)));
    let kept: Vec<(&str, &Value)> =
        kept.filter(|(name, _)| wanted.body.pointer(pointer).and_then(|a| a.get(*name)).is_none()).collect();
    let Some(template) = body.pointer_mut("/spec/template").filter(|_| !kept.is_empty()) else {
        return (body, sum);
    };
    for (name, value) in kept {
        template["metadata"]["annotations"][name] = value.clone();
    }
    let sum = hash::hash(&body);
    (body, sum)
}

/// Returns the patch that adopts a manually created object that is up to date. Only the annotations change.
fn adoption_patch(wanted: &ReconcileTarget<'_>, marked: &Value) -> Mutation {
    let mut marks = Map::new();
    for name in annotations::ALL {
        marks.insert(name.to_string(), marked["metadata"]["annotations"][name].clone());
    }
    marks.insert(annotations::LAST_APPLIED.to_string(), Value::Null);
    let patch = serde_json::json!({"metadata": {"annotations": marks}});
    Mutation::patch(wanted.kind, wanted.namespace, wanted.name, PatchType::Merge, patch)
}

/// Returns the object to write: the desired fields, and the live fields that the manager does not own.
fn merged_body(wanted: &ReconcileTarget<'_>, mut body: Value, live: &Value) -> Value {
    let applied = live.pointer("/metadata/annotations").and_then(|a| a.get(annotations::LAST_APPLIED));
    let applied: Value =
        applied.and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let metadata = &mut body["metadata"];
    for name in ["labels", "annotations"] {
        let there = live["metadata"][name].as_object().cloned().unwrap_or_default();
        let removed = applied["metadata"][name].as_object();
        for (key, value) in there {
            let ours = key == annotations::LAST_APPLIED || removed.is_some_and(|removed| removed.contains_key(&key));
            if !ours && metadata[name].get(&key).is_none() {
                metadata[name][&key] = value;
            }
        }
    }
    for name in ["finalizers", "ownerReferences", "uid", "resourceVersion"] {
        if let Some(value) = live["metadata"].get(name) {
            metadata[name] = value.clone();
        }
    }
    metadata["namespace"] = wanted.namespace.into();
    if wanted.kind.kind == "Service" {
        // Cluster addresses are assigned once and are immutable.
        for (key, value) in live["spec"].as_object().into_iter().flatten() {
            if body["spec"].get(key).is_none() {
                body["spec"][key] = value.clone();
            }
        }
    }
    body
}

/// Returns the propagation policy if an immutable field differs, so that the object must be deleted and recreated.
fn recreation_propagation(kind: &Resource, body: &Value, live: &Value) -> Option<&'static str> {
    let differs = |name: &str| body["spec"].get(name).is_some_and(|wanted| has_drifted(wanted, &live["spec"][name]));
    match &*kind.kind {
        // Pods and volumes are kept and adopted by the recreated StatefulSet.
        "StatefulSet" if ["selector", "serviceName", "volumeClaimTemplates"].into_iter().any(differs) => Some("Orphan"),
        "Deployment" if differs("selector") => Some("Background"),
        _ => None,
    }
}
