//! Which write was the last: of an object, or the one from which on a field has the value it was last set to.

use serde_json::Value;

use crate::decision::{Decision, DecisionId, Write, WriteResult};
use crate::explain::{FieldPath, Target, words};
use crate::redact::HIDDEN;
use crate::resource::ObjectKey;

/// An object as a decision read it; nothing when that is not kept.
pub type Read<'a> = &'a dyn Fn(DecisionId, &ObjectKey) -> Option<Value>;

/// How many decisions are looked into for what they had read: that is kept elsewhere, and takes time.
const MAX_LOOKED_INTO: usize = 64;

/// The last write.
#[derive(Clone)]
pub(super) struct Last<'a> {
    pub decision: &'a Decision,
    pub write: &'a Write,
    /// What it set the field to; null when it took it away, and when no field was asked for.
    pub value: Value,
}

/// The last write to an object; with a field, the one from which on the field has the value it was last set to.
pub(super) fn last_write<'a>(
    target: &Target,
    field: Option<&FieldPath>,
    decisions: &[&'a Decision],
    read: Read<'_>,
) -> Option<Last<'a>> {
    let Some(field) = field else {
        let (decision, write) = writes(target, decisions).next()?;
        return Some(Last { decision, write, value: Value::Null });
    };
    let (mut found, mut looked_into): (Option<Last<'a>>, _) = (None, 0);
    for last in settings(target, field, decisions) {
        // Of two masked values it cannot be told whether they are the same.
        if found.as_ref().is_some_and(|later| later.value != last.value || is_masked(&later.value)) {
            return found;
        }
        let look = last.value.is_null() && looked_into < MAX_LOOKED_INTO;
        looked_into += usize::from(look);
        let had = look && has(field, read(last.decision.id, &last.write.object).as_ref());
        found = Some(last);
        if had {
            return found;
        }
    }
    // A null that was never anything else, as far as is known, is no change.
    found.filter(|last| !last.value.is_null())
}

/// What was written to an object, newest first. The last write of a run is the newest of it.
fn writes<'a>(target: &Target, decisions: &[&'a Decision]) -> impl Iterator<Item = (&'a Decision, &'a Write)> {
    let done = |write: &&Write| target.is(&write.object) && matches!(write.result, WriteResult::Written { .. });
    decisions.iter().flat_map(move |d| words::writes(d).iter().rev().filter(done).map(move |write| (*d, write)))
}

/// The writes that set a field, newest first.
fn settings<'a>(target: &Target, field: &FieldPath, decisions: &[&'a Decision]) -> impl Iterator<Item = Last<'a>> {
    writes(target, decisions).filter_map(|(decision, write)| {
        Some(Last { decision, write, value: field.set_by(&write.mutation)? })
    })
}

fn has(field: &FieldPath, object: Option<&Value>) -> bool {
    object.and_then(|object| field.of(object)).is_some_and(|value| !value.is_null())
}

fn is_masked(value: &Value) -> bool {
    value.to_string().contains(HIDDEN)
}
