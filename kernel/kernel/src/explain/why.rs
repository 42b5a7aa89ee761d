//! `why`: who wrote an object last, from what, because of what, and what is awaited.

mod awaited;
mod last;
mod text;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decision::{Cause, Decision, DecisionId, Write, WriteResult};
use crate::journal::{Entry, Reach};
use crate::moment::Moment;
use crate::operator::UnitId;
use crate::redact::conceal_mutation;
use crate::resource::ObjectKey;
use crate::state::{Finding, State, Word};

use super::managers::{self, Manager};
use super::{FieldPath, Target, words};
use last::{Last, last_write};

pub use last::Read;

/// How far a cause is followed back.
pub const MAX_CHAIN: usize = 5;

/// Why an object, or a field of it, is as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// The object, in the journal's words when it knows it.
    pub object: String,
    /// The field asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The moment of the report.
    pub now: Moment,
    /// Since when the journal reaches back; absent when it is empty.
    pub since: Option<Moment>,
    /// How many entries of the journal are lost: it may not tell all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Whether it is there now; absent when nobody could say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub there: Option<bool>,
    /// Who wrote it after the operators here did, as the live object says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwritten: Option<Manager>,
    /// Which operator here wrote it last.
    pub written: Option<Written>,
    /// What caused that, the nearest first: decisions that wrote what the one before them read.
    pub chain: Vec<Link>,
    /// A later write that did not come to be.
    pub tried: Option<Tried>,
    /// What is awaited.
    pub awaited: Vec<Awaited>,
    /// Fights and loops over it, in words.
    pub findings: Vec<String>,
    /// Who owns it now, when the live object was given.
    pub managers: Vec<Manager>,
    /// An operator here that owns some of it though no write of it is known: the journal does not reach back that far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Manager>,
    /// Others of that kind and name, in other namespaces and on other clusters, when those were not given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
}

/// The decision that wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Written {
    /// Which decision.
    pub decision: DecisionId,
    /// Whose.
    #[serde(flatten)]
    pub unit: UnitId,
    /// When it was decided.
    pub at: Moment,
    /// What was done, as `apply configmaps/shop/web`.
    pub write: String,
    /// The revision it made.
    pub revision: u64,
    /// What the field was set to; null when it was taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Why it ran.
    pub causes: Vec<Cause>,
    /// What it read, in words.
    pub reads: Vec<String>,
}

/// A decision that wrote what caused another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// What it wrote.
    pub object: String,
    /// Which decision.
    pub decision: DecisionId,
    /// Whose.
    #[serde(flatten)]
    pub unit: UnitId,
    /// When.
    pub at: Moment,
    /// Why it ran.
    pub causes: Vec<Cause>,
}

/// A write that did not come to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tried {
    /// Which decision.
    pub decision: DecisionId,
    /// Whose.
    #[serde(flatten)]
    pub unit: UnitId,
    /// When.
    pub at: Moment,
    /// What came of it, in words.
    pub result: String,
}

/// Something that is awaited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Awaited {
    /// Who waits.
    #[serde(flatten)]
    pub by: UnitId,
    /// Its word.
    pub word: Word,
    /// What for, and from whom, in the unit's words.
    pub reason: String,
    /// Since when.
    pub since: Moment,
}

/// Explains an object, or one field of it. `entries` are newest first; `live` is the object as it is now, with its
/// `managedFields`, null when the kernel looked and got none, and absent when no kernel could be asked; `read` tells what is
/// kept of what decisions read.
pub fn why(
    target: &Target,
    field: Option<&FieldPath>,
    entries: &[Entry],
    reach: &Reach,
    state: &State,
    live: Option<&Value>,
    read: Read<'_>,
) -> Why {
    let decisions: Vec<&Decision> = entries.iter().filter_map(decided).collect();
    let (meant, looked_at) = meant(target, &decisions);
    let key = meant.first().copied();
    let several = meant.iter().any(|one| Some(&one.table.cluster) != key.map(|key| &key.table.cluster));
    let named = |key: &ObjectKey| if several { words::on_cluster(key) } else { key.to_string() };
    let others = meant.iter().skip(1).map(|key| named(key)).collect();
    // Of several objects of that name, one is explained, not all of them at once.
    let narrowed = key.or(looked_at).map(Target::of);
    let (asked, target) = (target, narrowed.as_ref().unwrap_or(target));
    let found = last_write(target, field, &decisions, read);
    let written = found.as_ref().map(|last| written(last, field, &decisions));
    let managers = live.map(|live| managers::managers(live, field)).unwrap_or_default();
    let hosted = |manager: &&Manager| state.operators.iter().any(|operator| operator.name == manager.name);
    let newer = written.as_ref().map(|w| w.at);
    Why {
        object: key.map_or_else(|| asked.to_string(), named),
        field: field.map(ToString::to_string),
        now: state.now,
        since: reach.since,
        lost: reach.lost.max(state.unrecorded),
        there: live.map(|live| !live.is_null()),
        overwritten: live.zip(found.as_ref()).and_then(|(live, last)| {
            managers::later(live, field, &managers::Own::of(last.decision, last.write, &decisions, state))
        }),
        chain: written.as_ref().map(|w| chain(&w.causes, &decisions)).unwrap_or_default(),
        tried: tried(target, &decisions).filter(|t| newer.is_none_or(|at| t.at > at)),
        awaited: awaited::awaited(target, found.as_ref().map(|last| last.decision), &decisions, state),
        findings: findings(target, entries, state),
        before: managers.iter().find(hosted).filter(|_| written.is_none()).cloned(),
        managers,
        others,
        written,
    }
}

/// The namespace of who names none, as kubectl has it.
const NAMESPACE: &str = "default";

/// The object that is explained to who names it so: among those that were written, or else read. Who looks at it as it is
/// now must look at the same.
pub fn explained(target: &Target, entries: &[Entry]) -> Option<ObjectKey> {
    let decisions: Vec<&Decision> = entries.iter().filter_map(decided).collect();
    let (written, read) = meant(target, &decisions);
    written.first().copied().or(read).cloned()
}

/// The objects that were written and may be meant: the one that is explained, then the others; and one that was read.
fn meant<'a>(target: &Target, decisions: &[&'a Decision]) -> (Vec<&'a ObjectKey>, Option<&'a ObjectKey>) {
    let mut keys: Vec<&ObjectKey> = Vec::new();
    for write in decisions.iter().flat_map(|decision| words::writes(decision)) {
        if target.is(&write.object) && !keys.contains(&&write.object) {
            keys.push(&write.object);
        }
    }
    // Newest first, as the decisions are; but who names no namespace means the usual one if it is there.
    let elsewhere = |key: &&ObjectKey| &*key.namespace != NAMESPACE;
    keys.sort_by_key(elsewhere);
    let gets = decisions.iter().flat_map(|decision| decision.gets.iter().map(|(key, _)| key));
    (keys, gets.filter(|key| target.is(key)).min_by_key(elsewhere))
}

/// Why a run was made; for one that only tried again, why the first of its row was.
fn first_causes(decision: &Decision, decisions: &[&Decision]) -> Vec<Cause> {
    let again = |cause: &Cause| matches!(cause, Cause::Retry { .. } | Cause::Unfinished);
    let mut causes = decision.causes.clone();
    let earlier = decisions.iter().filter(|one| one.unit == decision.unit && one.id < decision.id);
    for one in earlier {
        if !causes.iter().all(again) {
            break;
        }
        causes = one.causes.iter().filter(|cause| !again(cause)).chain(&decision.causes).cloned().collect();
    }
    causes
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn decided(entry: &Entry) -> Option<&Decision> {
    match entry {
        Entry::Decision(decision) => Some(decision),
        Entry::Finding(_) => None,
    }
}

fn written(last: &Last<'_>, field: Option<&FieldPath>, decisions: &[&Decision]) -> Written {
    let Last { decision, write, value } = last;
    let revision = match write.result {
        WriteResult::Written { revision } => revision,
        _ => 0,
    };
    let shown = |field: &FieldPath| match value {
        Value::Null => Some(Value::Null),
        _ => field.set_by(&conceal_mutation(&write.mutation)),
    };
    Written {
        decision: decision.id,
        unit: decision.unit.clone(),
        at: decision.started,
        write: write.mutation.to_string(),
        revision,
        value: field.and_then(shown),
        causes: first_causes(decision, decisions),
        reads: words::reads(decision),
    }
}

/// Follows causes back through the decisions that wrote them.
fn chain(causes: &[Cause], decisions: &[&Decision]) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut causes = causes.to_vec();
    while links.len() < MAX_CHAIN {
        let Some(link) = causes.iter().find_map(|cause| written_by(cause, decisions)) else { break };
        if links.iter().any(|known| known.decision == link.decision) {
            break;
        }
        causes.clone_from(&link.causes);
        links.push(link);
    }
    links
}

fn written_by(cause: &Cause, decisions: &[&Decision]) -> Option<Link> {
    let (Cause::Changed { object, revision } | Cause::Matched { object, revision, .. }) = cause else { return None };
    let wrote = |decision: &&&Decision| {
        let made = WriteResult::Written { revision: *revision };
        words::writes(decision).iter().any(|write| write.object == *object && write.result == made)
    };
    let decision = decisions.iter().find(wrote)?;
    Some(Link {
        object: object.to_string(),
        decision: decision.id,
        unit: decision.unit.clone(),
        at: decision.started,
        causes: decision.causes.clone(),
    })
}

/// The newest write that did not come to be, of a unit that has not come through with one since.
fn tried(target: &Target, decisions: &[&Decision]) -> Option<Tried> {
    let failed = |write: &&Write| !matches!(write.result, WriteResult::Written { .. } | WriteResult::Unchanged);
    let mut came_through: BTreeSet<&UnitId> = BTreeSet::new();
    decisions.iter().find_map(|decision| {
        let mut writes = words::writes(decision).iter().filter(|write| target.is(&write.object)).peekable();
        writes.peek()?;
        let Some(write) = writes.find(failed) else {
            came_through.insert(&decision.unit);
            return None;
        };
        (!came_through.contains(&decision.unit)).then(|| Tried {
            decision: decision.id,
            unit: decision.unit.clone(),
            at: decision.started,
            result: words::result(&write.result),
        })
    })
}

fn findings(target: &Target, entries: &[Entry], state: &State) -> Vec<String> {
    let noted = entries.iter().filter_map(|entry| match entry {
        Entry::Finding(finding) => Some(finding),
        Entry::Decision(_) => None,
    });
    let mut out = Vec::new();
    for finding in state.findings.iter().chain(noted) {
        let (object, line) = match finding {
            Finding::Fight { object, field, units: [a, b], flips, .. } => {
                (object, format!("{a} and {b} fight over {field}, {flips} times"))
            }
            Finding::Loop { object, field, unit, writes, .. } => {
                (object, format!("{unit} writes {field} again and again, {writes} times"))
            }
        };
        // The newest of a kind is enough.
        let said =
            |line: &str, known: &String| line.rsplit_once(", ").map(|l| l.0) == known.rsplit_once(", ").map(|l| l.0);
        if target.is(object) && !out.iter().any(|known| said(&line, known)) {
            out.push(line);
        }
    }
    out
}
