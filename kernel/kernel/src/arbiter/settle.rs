//! Names, and what must still hold: settled before anything is sent, so that a retry repeats and never chooses anew.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use serde_json::Value;
use switchboard_object::patch::merge;

use super::Judging;
use super::changes::same_but_for_bookkeeping;
use super::order::Group;
use crate::decision::{Write, WriteResult};
use crate::object::Object;
use crate::plan::{Act, Expect, PatchForm};
use crate::resource::ObjectKey;
use crate::view::{Picture, Reads};

/// The letters of generated names: no vowels, nothing that looks like something else. As Kubernetes has them.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LETTERS: usize = 5;
const MAX_PREFIX_BYTES: usize = 63 - SUFFIX_LETTERS;

/// Gives a write its name when it leaves it to `generateName`: from decision and index alone, so that carrying the same
/// decision out again cannot create twice.
pub(super) fn name(write: &mut Write, judging: &Judging<'_>, index: usize) -> Result<(), String> {
    let wanted = &mut write.mutation;
    if wanted.resource.namespaced && wanted.namespace.is_empty() {
        return Err(format!("{wanted} names no namespace"));
    }
    if !wanted.resource.namespaced && !wanted.namespace.is_empty() {
        return Err(format!("{wanted} names a namespace, but {} live in none", wanted.resource));
    }
    if !wanted.name.is_empty() {
        return Ok(());
    }
    let text = wanted.to_string();
    let Act::Create(body) = &mut wanted.act else { return Err(format!("{text} names no object")) };
    let prefix = body.pointer("/metadata/generateName").and_then(Value::as_str).unwrap_or_default().to_string();
    if prefix.is_empty() {
        return Err(format!("{text} has neither `name` nor `generateName`"));
    }
    let seed = format!("{}\n{}\n{index}", judging.unit, judging.decision);
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

/// Makes `Seen` exact, and finds writes that would change nothing. `applied` says whether an apply is what left the object at
/// that revision behind.
pub(super) fn expectations(
    groups: &mut [Group],
    reads: &Reads,
    picture: &dyn Picture,
    applied: &dyn Fn(&Write, u64) -> bool,
) {
    let mut writes: BTreeMap<ObjectKey, usize> = BTreeMap::new();
    groups.iter().flatten().for_each(|write| *writes.entry(write.object.clone()).or_default() += 1);
    for (place, write) in groups.iter_mut().flat_map(|group| group.iter_mut().enumerate()) {
        let (delete, expect) = (matches!(write.mutation.act, Act::Delete { .. }), &write.mutation.expect);
        if delete && place == 0 && *expect == Expect::Seen && absent(&write.object, reads) {
            write.result = WriteResult::Unchanged;
        }
        // Only what was read: who does not look is not woken either when somebody else changes the object.
        let alone = writes.get(&write.object) == Some(&1);
        if matches!(write.mutation.act, Act::Apply { .. })
            && alone
            && read(&write.object, reads).is_some_and(|revision| applied(write, revision))
        {
            write.result = WriteResult::Unchanged;
        }
        if matches!(write.mutation.act, Act::Create(_) | Act::Apply { .. }) {
            continue;
        }
        let seen = read(&write.object, reads).and_then(|revision| found(&write.object, revision, picture));
        if *expect == Expect::Seen {
            write.mutation.expect = seen.as_ref().map_or(Expect::Anything, |(_, exact)| exact.clone());
        }
        // Only when nothing else of the run touches the object: an earlier write would make it another one.
        if alone
            && let Some((object, _)) = seen
            && idle(&write.mutation.act, &object)
        {
            write.result = WriteResult::Unchanged;
        }
    }
}

/// Whether an object was looked for and not there.
pub(super) fn absent(key: &ObjectKey, reads: &Reads) -> bool {
    reads.gets.get(key) == Some(&None)
}

/// The revision an object was read at.
fn read(key: &ObjectKey, reads: &Reads) -> Option<u64> {
    if let Some(revision) = reads.gets.get(key) {
        return *revision;
    }
    let lists = reads.lists.iter().filter(|(query, _)| query.table == key.table);
    let mut listed = lists.flat_map(|(_, listed)| listed);
    listed.find(|l| l.name == key.name && l.namespace == key.namespace).map(|l| l.revision)
}

fn found(key: &ObjectKey, revision: u64, picture: &dyn Picture) -> Option<(Value, Expect)> {
    let object: Object = picture.get(key)??;
    let value = object.value();
    let uid = value.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_string();
    Some((value, Expect::Exactly { uid, revision }))
}

fn idle(act: &Act, object: &Value) -> bool {
    match act {
        Act::Update(body) => same_but_for_bookkeeping(body, object),
        Act::Patch { form: PatchForm::Merge, body } => {
            merge::apply(object.clone(), body.clone()).is_ok_and(|patched| patched == *object)
        }
        _ => false,
    }
}
