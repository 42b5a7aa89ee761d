//! In a dry run nothing is made, so what rests on something made earlier in the run cannot be asked of the server.

use serde_json::Value;

use super::{Carried, Sent, WriteRequest, is_same};
use crate::decision::{Write, WriteResult};
use crate::plan::{Act, PatchForm};
use crate::resource::ObjectKey;

/// A write that rests on what the run only pretended to make: the object itself, its namespace or its kind.
pub(super) fn upon(write: &Write, carried: &[Carried]) -> Option<Carried> {
    let made = |one: &&Carried| one.write.result == WriteResult::Pretended && one.before.is_none();
    let ground = carried.iter().rev().filter(made).find(|one| is_ground(one, &write.object))?;
    let after = match &write.mutation.act {
        Act::Create(body) | Act::Update(body) | Act::Apply { body, .. } => Some(body.clone()),
        Act::Patch { .. } if ground.write.object == write.object => ground.after.clone(),
        Act::Patch { .. } | Act::Delete { .. } => None,
    };
    let write = Write { result: WriteResult::Pretended, ..write.clone() };
    Some(Carried { write, before: None, after, unchecked: None })
}

/// What a write would leave behind as far as can be told without the server, which did not let us try.
pub(super) fn guessed(request: &WriteRequest, before: Option<&Value>, message: String) -> Sent {
    let fail = |message| Sent::from((WriteResult::Failed { message }, None));
    let mut after = before.cloned().unwrap_or(Value::Null);
    match &request.write.mutation.act {
        Act::Delete { .. } => after = Value::Null,
        Act::Create(body) => after = body.clone(),
        // What others own is in neither and stays; so does whatever the server fills in.
        Act::Update(body) | Act::Apply { body, .. } => lay(&mut after, body),
        Act::Patch { form: PatchForm::Merge, body } => {
            match switchboard_object::patch::merge::apply(after, body.clone()) {
                Ok(merged) => after = merged,
                Err(_) => return fail(message),
            }
        }
        Act::Patch { .. } => return fail(message),
    }
    let after = Some(after).filter(|after| !after.is_null());
    let same = before.is_some() && after.as_ref().is_some_and(|after| is_same(before, after));
    let result = if same { WriteResult::Unchanged } else { WriteResult::Pretended };
    Sent { result, after, unchecked: Some(message) }
}

/// Lays what is wanted over what is there. Lists are taken whole.
fn lay(there: &mut Value, wanted: &Value) {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => {
            wanted.iter().for_each(|(key, value)| lay(there.entry(key.clone()).or_insert(Value::Null), value));
        }
        (there, wanted) => *there = wanted.clone(),
    }
}

/// The object as a pretended write to its scale would leave it: the server answers with the scale alone.
pub(super) fn scaled(before: &Value, act: &Act) -> Value {
    let mut after = before.clone();
    if let Act::Update(body) | Act::Apply { body, .. } | Act::Patch { body, .. } = act
        && let Some(replicas) = body.pointer("/spec/replicas")
    {
        after["spec"]["replicas"] = replicas.clone();
    }
    after
}

fn is_ground(made: &Carried, object: &ObjectKey) -> bool {
    let ground = &made.write.object;
    if ground == object {
        return true;
    }
    let (resource, wanted) = (&ground.table.resource, &object.table.resource);
    let text = |pointer: &str| made.after.as_ref().and_then(|after| after.pointer(pointer)).and_then(Value::as_str);
    ground.table.cluster == object.table.cluster
        && match (resource.group.as_ref(), resource.kind.as_ref()) {
            ("", "Namespace") => ground.name == object.namespace,
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                text("/spec/group") == Some(&wanted.group) && text("/spec/names/plural") == Some(&wanted.plural)
            }
            _ => false,
        }
}
