//! In a dry run nothing is made, so what rests on something made earlier in the run cannot be asked of the server.

use serde_json::Value;

use super::Carried;
use crate::decision::{Write, WriteResult};
use crate::plan::Act;
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
    Some(Carried { write, before: None, after })
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
