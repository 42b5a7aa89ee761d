//! Results of dry-run writes that the server cannot compute, because nothing was created earlier in the run.

use serde_json::Value;

use super::{ExecutedWrite, SendResult, WriteRequest, is_same};
use crate::decision::{Write, WriteResult};
use crate::plan::{PatchType, WriteOp};
use crate::resource::ObjectKey;

/// Simulates a write that depends on an object created earlier in the same dry run: the object itself, its namespace or
/// its kind.
pub(super) fn simulate(write: &Write, executed: &[ExecutedWrite]) -> Option<ExecutedWrite> {
    let made = |one: &&ExecutedWrite| one.write.result == WriteResult::DryRun && one.before.is_none();
    let prerequisite = executed.iter().rev().filter(made).find(|one| is_prerequisite(one, &write.object))?;
    let after = match &write.mutation.operation {
        WriteOp::Create(body) | WriteOp::Update(body) | WriteOp::Apply { body, .. } => Some(body.clone()),
        WriteOp::Patch { .. } if prerequisite.write.object == write.object => prerequisite.after.clone(),
        WriteOp::Patch { .. } | WriteOp::Delete { .. } => None,
    };
    let write = Write { result: WriteResult::DryRun, ..write.clone() };
    Some(ExecutedWrite { write, before: None, after, unchecked: None })
}

/// Estimates the result of a write that the server did not allow to simulate.
pub(super) fn estimate(request: &WriteRequest, before: Option<&Value>, message: String) -> SendResult {
    let fail = |message| SendResult::from((WriteResult::Failed { message }, None));
    let mut after = before.cloned().unwrap_or(Value::Null);
    match &request.write.mutation.operation {
        WriteOp::Delete { .. } => after = Value::Null,
        WriteOp::Create(body) => after = body.clone(),
        // Fields of other managers stay, and so do those that the server sets.
        WriteOp::Update(body) | WriteOp::Apply { body, .. } => overlay(&mut after, body),
        WriteOp::Patch { patch_type: PatchType::Merge, body } => {
            match switchboard_object::patch::merge::apply(after, body.clone()) {
                Ok(merged) => after = merged,
                Err(_) => return fail(message),
            }
        }
        WriteOp::Patch { .. } => return fail(message),
    }
    let after = Some(after).filter(|after| !after.is_null());
    let same = before.is_some() && after.as_ref().is_some_and(|after| is_same(before, after));
    let result = if same { WriteResult::Unchanged } else { WriteResult::DryRun };
    SendResult { result, after, unchecked: Some(message) }
}

/// Merges the wanted value into the current one. Lists are replaced as a whole.
fn overlay(there: &mut Value, wanted: &Value) {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => {
            wanted.iter().for_each(|(key, value)| overlay(there.entry(key.clone()).or_insert(Value::Null), value));
        }
        (there, wanted) => *there = wanted.clone(),
    }
}

/// Returns the object after a simulated write to its `scale`: the server returns only the scale.
pub(super) fn scaled(before: &Value, operation: &WriteOp) -> Value {
    let mut after = before.clone();
    if let WriteOp::Update(body) | WriteOp::Apply { body, .. } | WriteOp::Patch { body, .. } = operation
        && let Some(replicas) = body.pointer("/spec/replicas")
    {
        after["spec"]["replicas"] = replicas.clone();
    }
    after
}

fn is_prerequisite(made: &ExecutedWrite, object: &ObjectKey) -> bool {
    let prerequisite = &made.write.object;
    if prerequisite == object {
        return true;
    }
    let (resource, wanted) = (&prerequisite.table.resource, &object.table.resource);
    let text = |pointer: &str| made.after.as_ref().and_then(|after| after.pointer(pointer)).and_then(Value::as_str);
    prerequisite.table.cluster == object.table.cluster
        && match (resource.group.as_ref(), resource.kind.as_ref()) {
            ("", "Namespace") => prerequisite.name == object.namespace,
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                text("/spec/group") == Some(&wanted.group) && text("/spec/names/plural") == Some(&wanted.plural)
            }
            _ => false,
        }
}
