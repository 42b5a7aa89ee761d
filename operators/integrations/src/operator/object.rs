//! One object: what is wanted against what is there.

use serde_json::{Map, Value};
use switchboard_kernel::plan::{Act, Mutation, PatchForm};
use switchboard_kernel::resource::Resource;

use super::drift::drifts;
use crate::annotations::{self, Marks};
use crate::{desired, hash};

/// Where people restart workloads by hand; a restart is not ours to undo.
const RESTARTED: [&str; 2] = ["kubectl.kubernetes.io/restartedAt", "openshift.openshift.io/restartedAt"];

/// The label that tells shards of an integration apart, where it was asked for.
const SHARD_LABEL: &str = "switchboard.dev/shard";

/// An object that is wanted.
pub struct Wanted<'a> {
    /// Its kind.
    pub kind: &'static Resource,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The object, without marks.
    pub body: &'a Value,
    /// Its hash.
    pub hash: &'a str,
    /// For whom it is made.
    pub caller: &'a str,
    /// Whether others want the very same one.
    pub shared: bool,
    /// Whether it is taken from others.
    pub take_over: bool,
    /// Its shard, where that is to stand in selectors of its own.
    pub shard: Option<&'a str>,
    /// Whether it stands there when the object is made.
    pub shard_labels: bool,
}

impl<'a> Wanted<'a> {
    /// Reads one of an answer.
    pub fn read(one: &'a Value, answer: &'a Value, namespace: &'a str) -> Option<Self> {
        let flag = |name: &str| answer[name].as_bool().unwrap_or_default();
        Some(Self {
            kind: desired::resource(one["kind"].as_str()?)?,
            namespace,
            name: one["name"].as_str()?,
            body: &one["body"],
            hash: one["hash"].as_str()?,
            caller: answer["caller"].as_str()?,
            shared: flag("shared"),
            take_over: flag("takeOver") || flag("compat"),
            shard: one["shard"].as_str().filter(|shard| !flag("compat") && is_label(shard)),
            shard_labels: flag("shardLabels"),
        })
    }
}

/// What is to be done about an object.
pub enum Verdict {
    /// It is as it should be.
    Right,
    /// This is written.
    Write(Box<Mutation>),
    /// It is somebody else's, which a person must sort out.
    Refuse(String),
}

impl Verdict {
    fn write(mutation: Mutation) -> Self {
        Self::Write(Box::new(mutation))
    }
}

/// What is to be done.
pub fn judge(wanted: &Wanted<'_>, live: Option<&Value>, now: jiff::Timestamp) -> Verdict {
    let Some(live) = live else {
        let (body, sum) = labelled(wanted, None).unwrap_or_else(|| (wanted.body.clone(), wanted.hash.to_string()));
        let mut body = annotations::annotate_with(&body, wanted.caller, &sum, Some(now));
        body["metadata"]["namespace"] = wanted.namespace.into();
        return Verdict::write(Mutation::create(wanted.kind, body));
    };
    if live.pointer("/metadata/deletionTimestamp").is_some() {
        return Verdict::Right;
    }
    let marks = Marks::of(live);
    let (body, sum) = restarted(wanted, live);
    let drifts = drifts(&body, live);
    if marks.sum.as_deref() == Some(&sum) && marks.integration.as_deref() == Some(annotations::OUR_NAME) && !drifts {
        // The same object for two callers is nobody's to fight over.
        if wanted.shared || marks.caller.as_deref() == Some(wanted.caller) || wanted.take_over {
            return Verdict::Right;
        }
    }
    if let Some(owner) = other_owner(&marks, wanted).filter(|_| !wanted.take_over) {
        let kind = &wanted.kind.kind;
        return Verdict::Refuse(format!("{kind} {} belongs to {owner}; `takeOver` takes it", wanted.name));
    }
    if marks.integration.is_none() && drifts && !wanted.take_over {
        let (kind, name) = (&wanted.kind.kind, wanted.name);
        return Verdict::Refuse(format!(
            "{kind} {name} was made by somebody else, and not from this template; `takeOver` takes it"
        ));
    }
    let marked = annotations::annotate_with(&body, wanted.caller, &sum, Some(now));
    if marks.sum.is_none() && !drifts {
        return Verdict::write(adopted(wanted, &marked));
    }
    if let Some(propagation) = must_be_made_again(wanted.kind, &body, live) {
        let mut delete = Mutation::delete(wanted.kind, wanted.namespace, wanted.name);
        delete.act = Act::Delete { propagation: Some(propagation.to_string()) };
        return Verdict::write(delete);
    }
    Verdict::write(Mutation::update(wanted.kind, replaced(wanted, marked, live)))
}

fn other_owner(marks: &Marks, wanted: &Wanted<'_>) -> Option<String> {
    match (&marks.integration, &marks.caller) {
        (Some(name), _) if name != annotations::OUR_NAME => Some(format!("integration {name}")),
        (Some(_), Some(caller)) if caller != wanted.caller => Some(format!("caller {caller}")),
        _ => None,
    }
}

/// Whether a text can be the value of a label.
fn is_label(text: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.len() <= 63 && ends(text.chars().next()) && ends(text.chars().last()) && text.chars().all(fits)
}

/// The workload with its shard in selector and pods, and its hash: a new one where that is asked for, and one that was made
/// so. A selector cannot change, so all others keep the one they have.
fn labelled(wanted: &Wanted<'_>, live: Option<&Value>) -> Option<(Value, String)> {
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

/// The object with restarts that people asked for, and its hash with them.
fn restarted(wanted: &Wanted<'_>, live: &Value) -> (Value, String) {
    let (mut body, sum) =
        labelled(wanted, Some(live)).unwrap_or_else(|| (wanted.body.clone(), wanted.hash.to_string()));
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

/// Takes an object that somebody made by hand and that is right: it gets its marks, and nothing else of it changes.
fn adopted(wanted: &Wanted<'_>, marked: &Value) -> Mutation {
    let mut marks = Map::new();
    for name in annotations::ALL {
        marks.insert(name.to_string(), marked["metadata"]["annotations"][name].clone());
    }
    marks.insert(annotations::LAST_APPLIED.to_string(), Value::Null);
    let patch = serde_json::json!({"metadata": {"annotations": marks}});
    Mutation::patch(wanted.kind, wanted.namespace, wanted.name, PatchForm::Merge, patch)
}

/// What is written over the object that is there: what is wanted, and of what is there what is not ours to remove.
fn replaced(wanted: &Wanted<'_>, mut body: Value, live: &Value) -> Value {
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
        // Addresses are given once and cannot be taken back.
        for (key, value) in live["spec"].as_object().into_iter().flatten() {
            if body["spec"].get(key).is_none() {
                body["spec"][key] = value.clone();
            }
        }
    }
    body
}

/// Fields that cannot change once they are set: the object is deleted, and made again when it is gone.
fn must_be_made_again(kind: &Resource, body: &Value, live: &Value) -> Option<&'static str> {
    let differs = |name: &str| body["spec"].get(name).is_some_and(|wanted| drifts(wanted, &live["spec"][name]));
    match &*kind.kind {
        // Its pods and their volumes stay, and are taken up by the next one.
        "StatefulSet" if ["selector", "serviceName", "volumeClaimTemplates"].into_iter().any(differs) => Some("Orphan"),
        "Deployment" if differs("selector") => Some("Background"),
        _ => None,
    }
}
