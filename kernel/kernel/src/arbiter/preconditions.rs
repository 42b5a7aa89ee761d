//! Generated names and preconditions, fixed before anything is sent, so that a retry repeats the same write.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use serde_json::Value;
use switchboard_object::patch::merge;

use super::ArbiterInput;
use super::changes::equal_ignoring_bookkeeping;
use super::order::WriteGroup;
use crate::decision::{Write, WriteResult};
use crate::object::Object;
use crate::plan::{PatchType, Preconditions, WriteOp};
use crate::resource::ObjectKey;
use crate::view::{Reader, Reads};

/// Letters of generated names, as in Kubernetes: no vowels and no similar characters.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LETTERS: usize = 5;
const MAX_PREFIX_BYTES: usize = 63 - SUFFIX_LETTERS;

/// Assigns a name to a write with `generateName`, derived from decision and index alone, so that executing the same
/// decision again cannot create a second object.
pub(super) fn assign_name(write: &mut Write, input: &ArbiterInput<'_>, index: usize) -> Result<(), String> {
    let wanted = &mut write.mutation;
    if wanted.resource.namespaced && wanted.namespace.is_empty() {
        return Err(format!("{wanted} has no namespace"));
    }
    if !wanted.resource.namespaced && !wanted.namespace.is_empty() {
        return Err(format!("{wanted} has a namespace, but {} are cluster-scoped", wanted.resource));
    }
    if !wanted.name.is_empty() {
        return Ok(());
    }
    let text = wanted.to_string();
    let WriteOp::Create(body) = &mut wanted.operation else { return Err(format!("{text} has no name")) };
    let prefix = body.pointer("/metadata/generateName").and_then(Value::as_str).unwrap_or_default().to_string();
    if prefix.is_empty() {
        return Err(format!("{text} has neither `name` nor `generateName`"));
    }
    let seed = format!("{}\n{}\n{index}", input.unit, input.decision);
    let name = format!("{}{}", &prefix[..prefix.floor_char_boundary(MAX_PREFIX_BYTES)], suffix(&seed));
    body["metadata"]["name"] = name.as_str().into();
    write.object.name = name.as_str().into();
    wanted.name = name;
    Ok(())
}

fn suffix(seed: &str) -> String {
    let hash = digest(&SHA256, seed.as_bytes());
    let letter = |byte: &u8| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]);
    hash.as_ref().iter().take(SUFFIX_LETTERS).map(letter).collect()
}

/// Resolves `AsRead` to an exact precondition, and finds writes that would change nothing. `applied` returns whether
/// this apply is what left the object at that revision.
pub(super) fn resolve(
    groups: &mut [WriteGroup],
    reads: &Reads,
    reader: &dyn Reader,
    applied: &dyn Fn(&Write, u64) -> bool,
) {
    let mut writes: BTreeMap<ObjectKey, usize> = BTreeMap::new();
    groups.iter().flatten().for_each(|write| *writes.entry(write.object.clone()).or_default() += 1);
    for (place, write) in groups.iter_mut().flat_map(|group| group.iter_mut().enumerate()) {
        let (delete, preconditions) =
            (matches!(write.mutation.operation, WriteOp::Delete { .. }), &write.mutation.preconditions);
        if delete && place == 0 && *preconditions == Preconditions::AsRead && was_absent(&write.object, reads) {
            write.result = WriteResult::Unchanged;
        }
        // Only for objects that were read: otherwise a change by another writer does not trigger the unit.
        let alone = writes.get(&write.object) == Some(&1);
        if matches!(write.mutation.operation, WriteOp::Apply { .. })
            && alone
            && revision_read(&write.object, reads).is_some_and(|revision| applied(write, revision))
        {
            write.result = WriteResult::Unchanged;
        }
        if matches!(write.mutation.operation, WriteOp::Create(_) | WriteOp::Apply { .. }) {
            continue;
        }
        let seen =
            revision_read(&write.object, reads).and_then(|revision| object_read(&write.object, revision, reader));
        if *preconditions == Preconditions::AsRead {
            write.mutation.preconditions =
                seen.as_ref().map_or(Preconditions::Unconditional, |(_, exact)| exact.clone());
        }
        // Only if no other write of the run changes the object first.
        if alone
            && let Some((object, _)) = seen
            && changes_nothing(&write.mutation.operation, &object)
        {
            write.result = WriteResult::Unchanged;
        }
    }
}

/// Whether the object was read and did not exist.
pub(super) fn was_absent(key: &ObjectKey, reads: &Reads) -> bool {
    reads.gets.get(key) == Some(&None)
}

/// Returns the revision an object was read at.
fn revision_read(key: &ObjectKey, reads: &Reads) -> Option<u64> {
    if let Some(revision) = reads.gets.get(key) {
        return *revision;
    }
    let lists = reads.lists.iter().filter(|(query, _)| query.table == key.table);
    let mut listed = lists.flat_map(|(_, listed)| listed);
    listed.find(|l| l.name == key.name && l.namespace == key.namespace).map(|l| l.revision)
}

fn object_read(key: &ObjectKey, revision: u64, reader: &dyn Reader) -> Option<(Value, Preconditions)> {
    let object: Object = reader.get(key)??;
    let value = object.value();
    let uid = value.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_string();
    Some((value, Preconditions::Exact { uid, revision }))
}

fn changes_nothing(operation: &WriteOp, object: &Value) -> bool {
    match operation {
        WriteOp::Update(body) => equal_ignoring_bookkeeping(body, object),
        WriteOp::Patch { patch_type: PatchType::Merge, body } => {
            merge::apply(object.clone(), body.clone()).is_ok_and(|patched| patched == *object)
        }
        _ => false,
    }
}
