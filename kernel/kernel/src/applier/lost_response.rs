//! After a lost response: checks whether the write was made.
//!
//! In doubt it counts as not made: the unit then decides again from the current objects, which is right in both cases.

use serde_json::Value;
use switchboard_object::equality;
use switchboard_object::patch::merge;

use super::{WriteRequest, Writer, revision_of};
use crate::decision::WriteResult;
use crate::plan::{PatchType, WriteOp};

/// Metadata fields that the API server sets on every object.
const SERVER_MANAGED_FIELDS: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

/// Checks whether a write took effect although its response was lost: a rejection of the retry may be caused by our own
/// success.
pub(super) async fn resolve(
    writer: &dyn Writer,
    request: &WriteRequest,
    before: Option<&Value>,
) -> Option<(WriteResult, Option<Value>)> {
    if request.dry_run {
        return None;
    }
    let now = writer.get(&request.write.object).await.ok()?;
    let Some(now) = now else {
        let deleted = matches!(request.write.mutation.operation, WriteOp::Delete { .. }) && before.is_some();
        return deleted.then_some((WriteResult::Written { revision: 0 }, None));
    };
    if matches!(request.write.mutation.operation, WriteOp::Delete { .. }) {
        return deleted_result(before?, now);
    }
    let revision = revision_of(Some(&now))?;
    let ours = Some(revision) != revision_of(before) && changed_by(&request.manager, before, &now);
    let (operation, subresource) = (&request.write.mutation.operation, request.write.mutation.subresource.as_deref());
    let done = match operation {
        WriteOp::Create(body) => before.is_none() && contains_sent(&now, body, subresource),
        WriteOp::Update(body) | WriteOp::Apply { body, .. } => contains_sent(&now, body, subresource),
        WriteOp::Patch { patch_type: PatchType::Merge, body } => {
            let again = merge::apply(now.clone(), body.clone());
            again.is_ok_and(|again| contains_sent(&now, &again, None))
        }
        // Only the server knows the result of such a patch; the last field manager tells.
        WriteOp::Patch { .. } => true,
        WriteOp::Delete { .. } => false,
    };
    (ours && done).then_some((WriteResult::Written { revision }, Some(now)))
}

/// Returns the result of a deletion: the object is terminating, or a new object has its name.
fn deleted_result(before: &Value, now: Value) -> Option<(WriteResult, Option<Value>)> {
    if now.pointer("/metadata/uid") != before.pointer("/metadata/uid") {
        return Some((WriteResult::Written { revision: 0 }, None));
    }
    let leaving = now.pointer("/metadata/deletionTimestamp").is_some();
    let revision = revision_of(Some(&now)).unwrap_or_default();
    leaving.then_some((WriteResult::Written { revision }, Some(now)))
}

/// Whether the object has all fields that were sent, whatever else the server added. For a status write only the status
/// counts, for any other write everything except the status.
fn contains_sent(object: &Value, sent: &Value, subresource: Option<&str>) -> bool {
    if let Some(part) = subresource {
        return sent.get(part).is_none_or(|sent| object.get(part).is_some_and(|found| contains(found, sent)));
    }
    let Some(fields) = sent.as_object() else { return false };
    fields.iter().all(|(name, value)| match (name.as_str(), value) {
        ("status", _) => true,
        ("metadata", Value::Object(metadata)) => {
            let found = object.get("metadata").unwrap_or(&Value::Null);
            let mut sent = metadata.iter().filter(|(name, _)| !SERVER_MANAGED_FIELDS.contains(&name.as_str()));
            sent.all(|(name, value)| value.is_null() || found.get(name).is_some_and(|found| contains(found, value)))
        }
        (_, value) => value.is_null() || object.get(name).is_some_and(|found| contains(found, value)),
    })
}

fn contains(object: &Value, sent: &Value) -> bool {
    match (object, sent) {
        (Value::Object(object), Value::Object(sent)) => {
            let there = |(name, value): (&String, &Value)| object.get(name).is_some_and(|found| contains(found, value));
            sent.iter().filter(|(_, value)| !value.is_null()).all(there)
        }
        (Value::Array(object), Value::Array(sent)) => {
            object.len() == sent.len() && object.iter().zip(sent).all(|(found, value)| contains(found, value))
        }
        (object, sent) => equality::equal(object, sent),
    }
}

/// Whether only `manager` has changed the object since.
fn changed_by(manager: &str, before: Option<&Value>, now: &Value) -> bool {
    let entries = |object: &Value| -> Vec<Value> {
        object.pointer("/metadata/managedFields").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (old, new) = (before.map(entries).unwrap_or_default(), entries(now));
    let is_ours = |entry: &&Value| entry["manager"] == manager;
    let mut acted = new.iter().filter(|entry| has_written_since(entry, &old)).peekable();
    // A cached object does not keep its earlier managers.
    let is_reliable = before.is_none() || !old.is_empty();
    if is_reliable && acted.peek().is_some() {
        return acted.all(|entry| is_ours(&entry));
    }
    // The entries show no newer writer, because it wrote within the same second or there is nothing to compare with.
    // Then the latest writer counts.
    let last = new.iter().filter_map(|entry| entry["time"].as_str()).max();
    let mut latest = new.iter().filter(|entry| entry["time"].as_str() == last).peekable();
    latest.peek().is_some() && latest.all(|entry| is_ours(&entry))
}

/// Whether a manager has written since. Having fewer fields than before is caused by another manager. Times have a
/// resolution of one second, so more fields at the same time count as a write too.
fn has_written_since(entry: &Value, old: &[Value]) -> bool {
    let same =
        |other: &&Value| ["manager", "operation", "subresource"].iter().all(|key| other.get(key) == entry.get(key));
    let before = old.iter().find(same);
    before.is_none_or(|before| before["time"] != entry["time"] || !is_subset(&entry["fieldsV1"], &before["fieldsV1"]))
}

fn is_subset(fields: &Value, all: &Value) -> bool {
    let Some(fields) = fields.as_object() else { return fields == all };
    fields.iter().all(|(name, inner)| all.get(name).is_some_and(|all| is_subset(inner, all)))
}
