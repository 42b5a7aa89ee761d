//! Last write of an object, or the one since which a field has its current value.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::decision::{Decision, DecisionId, Write, WriteResult};
use crate::explain::{FieldPath, ObjectTarget, field_managers, phrases};
use crate::plan::WriteOp;
use crate::redact::REDACTED;
use crate::resource::ObjectKey;

/// Function that returns an object as a decision read it; `None` if it is not recorded.
pub type ReadLookup<'a> = &'a dyn Fn(DecisionId, &ObjectKey) -> Option<Value>;

/// Maximum number of decisions whose recorded objects are read, which takes time.
const MAX_LOOKED_INTO: usize = 64;

/// Last write.
#[derive(Clone)]
pub(super) struct LastChange<'a> {
    pub decision: &'a Decision,
    pub write: &'a Write,
    /// New value of the field; null if it was removed or no field was requested.
    pub value: Value,
}

/// Returns the last write of an object, or the write since which the field has its current value.
pub(super) fn last_write<'a>(
    target: &ObjectTarget,
    field: Option<&FieldPath>,
    decisions: &[&'a Decision],
    read: ReadLookup<'_>,
) -> Option<LastChange<'a>> {
    let Some(field) = field else {
        let (decision, write) = writes(target, decisions).next()?;
        return Some(LastChange { decision, write, value: Value::Null });
    };
    let (mut found, mut looked_into): (Option<LastChange<'a>>, _) = (None, 0);
    for last in field_changes(target, field, decisions) {
        // Two redacted values cannot be compared.
        if found.as_ref().is_some_and(|later| later.value != last.value || is_redacted(&later.value)) {
            return found;
        }
        let look = last.value.is_null() && looked_into < MAX_LOOKED_INTO;
        looked_into += usize::from(look);
        let had = look && has_value(field, read(last.decision.id, &last.write.object).as_ref());
        // An object that did not exist before had no value, even if an earlier object of the name had the same.
        let created = last.decision.gets.iter().any(|(key, at)| *key == last.write.object && at.is_none());
        found = Some(last);
        if had || created {
            return found;
        }
    }
    // A field that was never set, as far as known, was not changed.
    found.filter(|last| !last.value.is_null())
}

/// Returns the writes of an object, newest first. The last write of a run is its newest.
fn writes<'a>(target: &ObjectTarget, decisions: &[&'a Decision]) -> impl Iterator<Item = (&'a Decision, &'a Write)> {
    let done = |write: &&Write| target.matches(&write.object) && matches!(write.result, WriteResult::Written { .. });
    decisions.iter().flat_map(move |d| phrases::writes(d).iter().rev().filter(done).map(move |write| (*d, write)))
}

/// Returns the writes that changed a field, newest first. An apply without a field that the same manager applied before
/// removes it, unless another manager owns it as well.
fn field_changes<'a>(
    target: &ObjectTarget,
    field: &FieldPath,
    decisions: &[&'a Decision],
) -> impl Iterator<Item = LastChange<'a>> {
    let mut oldest_first: Vec<_> = writes(target, decisions).collect();
    oldest_first.reverse();
    let (mut owners, mut found): (BTreeSet<FieldOwner>, Vec<LastChange<'a>>) = (BTreeSet::new(), Vec::new());
    for (decision, write) in oldest_first {
        let owner = FieldOwner::of(decision, write);
        let value = match field.set_by(&write.mutation) {
            Some(value) => value,
            None if is_apply(write) && owners.remove(&owner) && owners.is_empty() => Value::Null,
            None => continue,
        };
        let another = found.last().is_none_or(|before| before.value != value);
        if another {
            owners.clear();
        }
        // Applying the current value shares the field's ownership; any other write of the same value changes nothing.
        if !value.is_null() && (another || is_apply(write)) {
            owners.insert(owner);
        }
        found.push(LastChange { decision, write, value });
    }
    found.into_iter().rev()
}

/// Owner of a field: applies and other writes are owned separately, and so are subresources.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FieldOwner {
    manager: String,
    applies: bool,
    part: Option<String>,
}

impl FieldOwner {
    fn of(decision: &Decision, write: &Write) -> Self {
        let part = write.mutation.subresource.clone();
        Self { manager: field_managers::manager_of(decision, write), applies: is_apply(write), part }
    }
}

fn is_apply(write: &Write) -> bool {
    // A body that was too large to be recorded names no fields.
    matches!(&write.mutation.operation, WriteOp::Apply { body, .. } if !body.is_null())
}

fn has_value(field: &FieldPath, object: Option<&Value>) -> bool {
    object.and_then(|object| field.of(object)).is_some_and(|value| !value.is_null())
}

fn is_redacted(value: &Value) -> bool {
    value.to_string().contains(REDACTED)
}
