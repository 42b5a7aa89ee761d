//! Which write was the last: of an object, or the one from which on a field has the value it was last set to.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::decision::{Decision, DecisionId, Write, WriteResult};
use crate::explain::{FieldPath, Target, managers, words};
use crate::plan::Act;
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

/// The writes that set a field, newest first. An apply that no longer names what the same manager had applied takes it away,
/// unless somebody else owns it as well.
fn settings<'a>(target: &Target, field: &FieldPath, decisions: &[&'a Decision]) -> impl Iterator<Item = Last<'a>> {
    let mut oldest_first: Vec<_> = writes(target, decisions).collect();
    oldest_first.reverse();
    let (mut owners, mut found): (BTreeSet<Owner>, Vec<Last<'a>>) = (BTreeSet::new(), Vec::new());
    for (decision, write) in oldest_first {
        let owner = Owner::of(decision, write);
        let value = match field.set_by(&write.mutation) {
            Some(value) => value,
            None if is_apply(write) && owners.remove(&owner) && owners.is_empty() => Value::Null,
            None => continue,
        };
        let another = found.last().is_none_or(|before| before.value != value);
        if another {
            owners.clear();
        }
        // Who applies what is there shares it; who writes it otherwise has changed nothing.
        if !value.is_null() && (another || is_apply(write)) {
            owners.insert(owner);
        }
        found.push(Last { decision, write, value });
    }
    found.into_iter().rev()
}

/// Who owns a field: what is applied and what is written otherwise are owned apart, and so are the parts of an object.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    manager: String,
    applies: bool,
    part: Option<String>,
}

impl Owner {
    fn of(decision: &Decision, write: &Write) -> Self {
        let part = write.mutation.subresource.clone();
        Self { manager: managers::under(decision, write), applies: is_apply(write), part }
    }
}

fn is_apply(write: &Write) -> bool {
    // What was too large to be kept names nothing.
    matches!(&write.mutation.act, Act::Apply { body, .. } if !body.is_null())
}

fn has(field: &FieldPath, object: Option<&Value>) -> bool {
    object.and_then(|object| field.of(object)).is_some_and(|value| !value.is_null())
}

fn is_masked(value: &Value) -> bool {
    value.to_string().contains(HIDDEN)
}
