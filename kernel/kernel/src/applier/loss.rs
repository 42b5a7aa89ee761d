//! After a lost answer: was it done?
//!
//! In doubt it was not: the unit then decides again from what is there, which is right either way.

use serde_json::Value;
use switchboard_object::equality;
use switchboard_object::patch::merge;

use super::{WriteRequest, Writer, revision_of};
use crate::decision::WriteResult;
use crate::plan::{Act, PatchForm};

/// What the API server keeps in the metadata of every object.
const KEPT_BY_THE_SERVER: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

/// After a lost answer and a refusal, the refusal may be the echo of our own success: looks whether it is.
pub(super) async fn after_loss(
    writer: &dyn Writer,
    request: &WriteRequest,
    before: Option<&Value>,
) -> Option<(WriteResult, Option<Value>)> {
    if request.dry_run {
        return None;
    }
    let now = writer.get(&request.write.object).await.ok()?;
    let Some(now) = now else {
        let deleted = matches!(request.write.mutation.act, Act::Delete { .. }) && before.is_some();
        return deleted.then_some((WriteResult::Written { revision: 0 }, None));
    };
    if matches!(request.write.mutation.act, Act::Delete { .. }) {
        return gone(before?, now);
    }
    let revision = revision_of(Some(&now))?;
    let ours = Some(revision) != revision_of(before) && changed_by(&request.manager, before, &now);
    let (act, subresource) = (&request.write.mutation.act, request.write.mutation.subresource.as_deref());
    let done = match act {
        Act::Create(body) => before.is_none() && holds(&now, body, subresource),
        Act::Update(body) | Act::Apply { body, .. } => holds(&now, body, subresource),
        Act::Patch { form: PatchForm::Merge, body } => {
            let again = merge::apply(now.clone(), body.clone());
            again.is_ok_and(|again| holds(&now, &again, None))
        }
        // What it makes of an object is only known to the server; its mark is who wrote last.
        Act::Patch { .. } => true,
        Act::Delete { .. } => false,
    };
    (ours && done).then_some((WriteResult::Written { revision }, Some(now)))
}

/// An object that we deleted is leaving, or another one has its name.
fn gone(before: &Value, now: Value) -> Option<(WriteResult, Option<Value>)> {
    if now.pointer("/metadata/uid") != before.pointer("/metadata/uid") {
        return Some((WriteResult::Written { revision: 0 }, None));
    }
    let leaving = now.pointer("/metadata/deletionTimestamp").is_some();
    let revision = revision_of(Some(&now)).unwrap_or_default();
    leaving.then_some((WriteResult::Written { revision }, Some(now)))
}

/// Whether everything that was sent is there, whatever the server added. Of a write to the status only that counts, and
/// of one to the object all but that.
fn holds(object: &Value, sent: &Value, subresource: Option<&str>) -> bool {
    if let Some(part) = subresource {
        return sent.get(part).is_none_or(|sent| object.get(part).is_some_and(|found| contains(found, sent)));
    }
    let Some(fields) = sent.as_object() else { return false };
    fields.iter().all(|(name, value)| match (name.as_str(), value) {
        ("status", _) => true,
        ("metadata", Value::Object(metadata)) => {
            let found = object.get("metadata").unwrap_or(&Value::Null);
            let mut sent = metadata.iter().filter(|(name, _)| !KEPT_BY_THE_SERVER.contains(&name.as_str()));
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

/// Whether it was that manager, and nobody else, who changed the object since.
fn changed_by(manager: &str, before: Option<&Value>, now: &Value) -> bool {
    let entries = |object: &Value| -> Vec<Value> {
        object.pointer("/metadata/managedFields").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (old, new) = (before.map(entries).unwrap_or_default(), entries(now));
    let is_ours = |entry: &&Value| entry["manager"] == manager;
    let mut acted = new.iter().filter(|entry| has_acted(entry, &old)).peekable();
    // Of an object that was cached it may not be known who had written it before.
    let told = before.is_none() || !old.is_empty();
    if told && acted.peek().is_some() {
        return acted.all(|entry| is_ours(&entry));
    }
    // The same fields by the same managers within the second, or nothing to compare with: then whoever wrote last.
    let last = new.iter().filter_map(|entry| entry["time"].as_str()).max();
    let mut latest = new.iter().filter(|entry| entry["time"].as_str() == last).peekable();
    latest.peek().is_some() && latest.all(|entry| is_ours(&entry))
}

/// Whether a manager wrote since. That it only has fewer fields is the doing of whoever took them; and times are told apart
/// by seconds, so that more fields at the same time are a write too.
fn has_acted(entry: &Value, old: &[Value]) -> bool {
    let same =
        |other: &&Value| ["manager", "operation", "subresource"].iter().all(|key| other.get(key) == entry.get(key));
    let before = old.iter().find(same);
    before.is_none_or(|before| before["time"] != entry["time"] || !within(&entry["fieldsV1"], &before["fieldsV1"]))
}

fn within(fields: &Value, all: &Value) -> bool {
    let Some(fields) = fields.as_object() else { return fields == all };
    fields.iter().all(|(name, inner)| all.get(name).is_some_and(|all| within(inner, all)))
}
