//! Squashes several writes of one run to one object into one, if the result is the same object.
//!
//! Two applies are an exception: executed one after the other, the second would remove the fields that only the first
//! one has; squashed, both are applied. So the parts of an operator that apply fields of one object need not know of
//! each other.
//!
//! A deletion replaces no earlier write: a finalizer may keep the object, and then the earlier write is visible. Only
//! an object that was read as absent, and is created and deleted within the run, is not created.

use serde_json::{Map, Value, json};
use switchboard_object::patch::{json as json_patch, merge};

use super::order::WriteGroup;
use crate::decision::Write;
use crate::plan::{PatchType, Preconditions, WriteOp};
use crate::resource::ObjectKey;

/// Groups writes by object and subresource, in the order of each group's first write, and squashes each group.
pub(super) fn squash(writes: Vec<Write>, absent: &dyn Fn(&ObjectKey) -> bool) -> Vec<WriteGroup> {
    let mut groups: Vec<WriteGroup> = Vec::new();
    for write in writes {
        let same = |group: &&mut WriteGroup| {
            group[0].object == write.object && group[0].mutation.subresource == write.mutation.subresource
        };
        match groups.iter_mut().find(same) {
            Some(group) => add(group, write, absent),
            None => groups.push(vec![write]),
        }
    }
    groups
}

fn add(group: &mut WriteGroup, second: Write, absent: &dyn Fn(&ObjectKey) -> bool) {
    let alone = group.len() == 1;
    if let Some(first) = group.last_mut()
        && let Some((operation, preconditions)) = combine(first, &second, alone && absent(&second.object))
    {
        first.mutation.operation = operation;
        first.mutation.preconditions = preconditions;
        first.mutation.field_manager = second.mutation.field_manager;
    } else {
        group.push(second);
    }
}

/// Returns one write with the effect of the first and then the second, or `None` if there is none.
fn combine(first: &Write, second: &Write, absent: bool) -> Option<(WriteOp, Preconditions)> {
    let (a, b) = (&first.mutation, &second.mutation);
    if let (WriteOp::Create(body), WriteOp::Delete { .. }) = (&a.operation, &b.operation) {
        let kept = body.pointer("/metadata/finalizers").and_then(Value::as_array).is_some_and(|f| !f.is_empty());
        // Deleting an object that does not exist sends nothing.
        return (absent && !kept).then(|| (b.operation.clone(), Preconditions::AsRead));
    }
    let made = matches!(a.operation, WriteOp::Create(_));
    let alike = a.field_manager == b.field_manager && a.field_validation == b.field_validation && a.user == b.user;
    if !alike || !(a.preconditions == b.preconditions || made && !is_exact(&b.preconditions)) {
        return None;
    }
    let operation = match (&a.operation, &b.operation) {
        (WriteOp::Create(body), WriteOp::Patch { patch_type: form, body: patch }) => {
            WriteOp::Create(apply_patch(body, *form, patch)?)
        }
        (WriteOp::Create(_), WriteOp::Update(body)) => WriteOp::Create(without_version(body)),
        (WriteOp::Update(_), WriteOp::Update(body)) => WriteOp::Update(body.clone()),
        (WriteOp::Update(body), WriteOp::Patch { patch_type: form, body: patch }) => {
            WriteOp::Update(apply_patch(body, *form, patch)?)
        }
        (WriteOp::Apply { body: one, force: f }, WriteOp::Apply { body: two, force: g }) if f == g => {
            WriteOp::Apply { body: overlay(one.clone(), two), force: *f }
        }
        (WriteOp::Patch { patch_type: f, body: one }, WriteOp::Patch { patch_type: g, body: two }) if f == g => {
            WriteOp::Patch { patch_type: *f, body: compose_patches(*f, one, two)? }
        }
        _ => return None,
    };
    Some((operation, a.preconditions.clone()))
}

fn is_exact(preconditions: &Preconditions) -> bool {
    matches!(preconditions, Preconditions::Exact { .. })
}

fn apply_patch(body: &Value, form: PatchType, patch: &Value) -> Option<Value> {
    match form {
        PatchType::Json => json_patch::apply(body.clone(), patch).ok(),
        PatchType::Merge => merge::apply(body.clone(), patch.clone()).ok(),
        // A strategic merge needs the list keys of the kind's schema.
        PatchType::Strategic => None,
    }
}

fn without_version(body: &Value) -> Value {
    let mut body = body.clone();
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        ["resourceVersion", "uid"].iter().for_each(|field| drop(metadata.remove(*field)));
    }
    body
}

/// Merges two sets of applied fields; the second takes precedence.
fn overlay(one: Value, two: &Value) -> Value {
    match (one, two) {
        (Value::Object(mut fields), Value::Object(over)) => {
            for (key, value) in over {
                let under = fields.remove(key).unwrap_or(Value::Null);
                fields.insert(key.clone(), overlay(under, value));
            }
            Value::Object(fields)
        }
        _ => two.clone(),
    }
}

fn compose_patches(form: PatchType, one: &Value, two: &Value) -> Option<Value> {
    match form {
        PatchType::Json => {
            let (one, two) = (one.as_array()?, two.as_array()?);
            (!touches_same_paths(one, two)).then(|| json!(one.iter().chain(two).collect::<Vec<_>>()))
        }
        PatchType::Merge => merge_patches(one.as_object()?, two.as_object()?).map(Value::Object),
        PatchType::Strategic => None,
    }
}

/// Combines two merge patches. There is no combined patch if the second changes a part of what the first replaces: a
/// merge patch cannot express "replace the whole map".
fn merge_patches(one: &Map<String, Value>, two: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut both = one.clone();
    for (key, value) in two {
        let joined = match (one.get(key), value) {
            (Some(Value::Object(under)), Value::Object(over)) => Value::Object(merge_patches(under, over)?),
            (Some(_), Value::Object(_)) => return None,
            _ => value.clone(),
        };
        both.insert(key.clone(), joined);
    }
    Some(both)
}

/// Whether the second JSON patch changes a part of what the first sets: the server may set defaults there in between.
fn touches_same_paths(one: &[Value], two: &[Value]) -> bool {
    let paths = |steps: &[Value]| -> Vec<String> {
        let path = |step: &Value, key: &str| step.get(key).and_then(Value::as_str).map(str::to_string);
        steps.iter().flat_map(|step| [path(step, "path"), path(step, "from")]).flatten().collect()
    };
    let set = paths(one);
    paths(two).iter().any(|path| {
        set.iter()
            .any(|set| path.strip_prefix(set.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    })
}
