//! Report of `why`: last write of an object, its causes, and the units it waits for.

mod last_write;
mod text;
mod waiting_units;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decision::{Cause, Decision, DecisionId, Write, WriteResult};
use crate::journal::{JournalEntry, JournalRange};
use crate::operator::UnitId;
use crate::redact::redact_mutation;
use crate::resource::ObjectKey;
use crate::state::{Finding, Health, KernelState};
use crate::timestamp::Timestamp;

use super::field_managers::{self, FieldManager};
use super::{FieldPath, ObjectTarget, phrases};
use last_write::{LastChange, last_write};

pub use last_write::ReadLookup;

/// Maximum length of a chain of causes.
pub const MAX_CHAIN: usize = 5;

/// Explanation of the current state of an object or field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhyReport {
    /// Object, as named in the journal if it is found there.
    pub object: String,
    /// Requested field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Time of the report.
    pub now: Timestamp,
    /// Start of the journal; absent if it is empty.
    pub since: Option<Timestamp>,
    /// Number of lost journal entries, so that the report may be incomplete.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Whether the object exists now; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exists: Option<bool>,
    /// Manager that changed the live object after the last write of a Switchboard operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwritten: Option<FieldManager>,
    /// Last write of a Switchboard operator.
    pub last_write: Option<LastWrite>,
    /// Causes of the last write, nearest first: each decision wrote what the previous one had read.
    pub chain: Vec<CauseLink>,
    /// Later write that failed.
    pub failed_write: Option<FailedWrite>,
    /// Units that the object waits for.
    pub waiting_units: Vec<WaitingUnit>,
    /// Field conflicts and hot loops on the object, as text.
    pub findings: Vec<String>,
    /// Field managers of the live object, if it was given.
    pub managers: Vec<FieldManager>,
    /// Switchboard operator that wrote the object before the journal begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_manager: Option<FieldManager>,
    /// Switchboard operator that wrote the object since the journal begins, although the journal has no such write: it
    /// is recorded a moment after the write, or was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded_manager: Option<FieldManager>,
    /// Other objects of that kind and name, in other namespaces and on other clusters that were not given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
}

/// Last write of an object, with its decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastWrite {
    /// Number of the decision.
    pub decision: DecisionId,
    /// Unit that decided.
    #[serde(flatten)]
    pub unit: UnitId,
    /// Time of the decision.
    pub at: Timestamp,
    /// Write such as `apply configmaps/shop/web`.
    pub write: String,
    /// Revision after the write.
    pub revision: u64,
    /// New value of the field; null if the write removed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Causes of the run.
    pub causes: Vec<Cause>,
    /// Reads of the decision, as text.
    pub reads: Vec<String>,
}

/// Decision that wrote an object and so caused another decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CauseLink {
    /// Written object.
    pub object: String,
    /// Number of the decision.
    pub decision: DecisionId,
    /// Unit that decided.
    #[serde(flatten)]
    pub unit: UnitId,
    /// Time of the decision.
    pub at: Timestamp,
    /// Causes of the run.
    pub causes: Vec<Cause>,
}

/// Write that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedWrite {
    /// Number of the decision.
    pub decision: DecisionId,
    /// Unit that decided.
    #[serde(flatten)]
    pub unit: UnitId,
    /// Time of the decision.
    pub at: Timestamp,
    /// Result of the write, as text.
    pub result: String,
}

/// Unit that is not Ready and concerns the object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingUnit {
    /// Waiting unit.
    #[serde(flatten)]
    pub by: UnitId,
    /// Health of the unit.
    #[serde(rename = "state")]
    pub health: Health,
    /// Reason given by the unit.
    pub reason: String,
    /// Time since which the unit has this status.
    pub since: Timestamp,
}

/// Explains an object, or one field of it. `entries` are newest first. `live` is the object as it is now, with its
/// `managedFields`: null if it does not exist, absent if no kernel is running. `read` returns objects that decisions
/// have read, as far as recorded.
pub fn explain_object(
    target: &ObjectTarget,
    field: Option<&FieldPath>,
    entries: &[JournalEntry],
    reach: &JournalRange,
    state: &KernelState,
    live: Option<&Value>,
    read: ReadLookup<'_>,
) -> WhyReport {
    let decisions: Vec<&Decision> = entries.iter().filter_map(as_decision).collect();
    let (meant, looked_at) = matching_objects(target, &decisions);
    let key = meant.first().copied();
    let several = meant.iter().any(|one| Some(&one.table.cluster) != key.map(|key| &key.table.cluster));
    let named = |key: &ObjectKey| if several { phrases::on_cluster(key) } else { key.to_string() };
    let others = meant.iter().skip(1).map(|key| named(key)).collect();
    // Of several objects with this name, only one is explained.
    let narrowed = key.or(looked_at).map(ObjectTarget::of);
    let (asked, target) = (target, narrowed.as_ref().unwrap_or(target));
    let found = last_write(target, field, &decisions, read);
    let written = found.as_ref().map(|last| last_write_report(last, field, &decisions));
    let managers = live.map(|live| field_managers::managers(live, field)).unwrap_or_default();
    let hosted = |manager: &&FieldManager| state.operators.iter().any(|operator| operator.name == manager.name);
    let newer = written.as_ref().map(|w| w.at);
    let unexplained = managers.iter().find(hosted).filter(|_| written.is_none()).cloned();
    let is_before = |one: &FieldManager| one.wrote_before(reach.since.unwrap_or(state.started_at));
    WhyReport {
        object: key.map_or_else(|| asked.to_string(), named),
        field: field.map(ToString::to_string),
        now: state.now,
        since: reach.since,
        lost: reach.lost.max(state.unrecorded),
        exists: live.map(|live| !live.is_null()),
        overwritten: live.zip(found.as_ref()).and_then(|(live, last)| {
            field_managers::later_writer(
                live,
                field,
                &field_managers::OwnWrite::of(last.decision, last.write, &decisions, state),
            )
        }),
        chain: written.as_ref().map(|w| chain(&w.causes, &decisions)).unwrap_or_default(),
        failed_write: failed_write(target, &decisions).filter(|t| newer.is_none_or(|at| t.at > at)),
        waiting_units: waiting_units::waiting_units(
            target,
            found.as_ref().map(|last| last.decision),
            &decisions,
            state,
        ),
        findings: findings(target, entries, state),
        earlier_manager: unexplained.clone().filter(is_before),
        unrecorded_manager: unexplained.filter(|one| !is_before(one)),
        managers,
        others,
        last_write: written,
    }
}

/// Default namespace, as in kubectl.
const NAMESPACE: &str = "default";

/// Returns the object that a target is resolved to: a written one, or else one that was read. Use the same object to
/// fetch the live state.
pub fn resolve_target(target: &ObjectTarget, entries: &[JournalEntry]) -> Option<ObjectKey> {
    let decisions: Vec<&Decision> = entries.iter().filter_map(as_decision).collect();
    let (written, read) = matching_objects(target, &decisions);
    written.first().copied().or(read).cloned()
}

/// Returns the written objects that match, the explained one first, and one that was read.
fn matching_objects<'a>(
    target: &ObjectTarget,
    decisions: &[&'a Decision],
) -> (Vec<&'a ObjectKey>, Option<&'a ObjectKey>) {
    let mut keys: Vec<&ObjectKey> = Vec::new();
    for write in decisions.iter().flat_map(|decision| phrases::writes(decision)) {
        if target.matches(&write.object) && !keys.contains(&&write.object) {
            keys.push(&write.object);
        }
    }
    // Newest first, like the decisions; but without a namespace, the default one comes first.
    let elsewhere = |key: &&ObjectKey| &*key.namespace != NAMESPACE;
    keys.sort_by_key(elsewhere);
    let gets = decisions.iter().flat_map(|decision| decision.gets.iter().map(|(key, _)| key));
    (keys, gets.filter(|key| target.matches(key)).min_by_key(elsewhere))
}

/// Returns the causes of a run; for a retry, those of the first run.
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

fn as_decision(entry: &JournalEntry) -> Option<&Decision> {
    match entry {
        JournalEntry::Decision(decision) => Some(decision),
        JournalEntry::Finding(_) => None,
    }
}

fn last_write_report(last: &LastChange<'_>, field: Option<&FieldPath>, decisions: &[&Decision]) -> LastWrite {
    let LastChange { decision, write, value } = last;
    let revision = match write.result {
        WriteResult::Written { revision } => revision,
        _ => 0,
    };
    let shown = |field: &FieldPath| match value {
        Value::Null => Some(Value::Null),
        _ => field.set_by(&redact_mutation(&write.mutation)),
    };
    LastWrite {
        decision: decision.id,
        unit: decision.unit.clone(),
        at: decision.started,
        write: write.mutation.to_string(),
        revision,
        value: field.and_then(shown),
        causes: first_causes(decision, decisions),
        reads: phrases::reads(decision),
    }
}

/// Follows causes back through the decisions that wrote the objects.
fn chain(causes: &[Cause], decisions: &[&Decision]) -> Vec<CauseLink> {
    let mut links: Vec<CauseLink> = Vec::new();
    let mut causes = causes.to_vec();
    while links.len() < MAX_CHAIN {
        let Some(link) = causes.iter().find_map(|cause| causing_write(cause, decisions)) else { break };
        if links.iter().any(|known| known.decision == link.decision) {
            break;
        }
        causes.clone_from(&link.causes);
        links.push(link);
    }
    links
}

fn causing_write(cause: &Cause, decisions: &[&Decision]) -> Option<CauseLink> {
    let (Cause::Changed { object, revision } | Cause::Matched { object, revision, .. }) = cause else { return None };
    let wrote = |decision: &&&Decision| {
        let made = WriteResult::Written { revision: *revision };
        phrases::writes(decision).iter().any(|write| write.object == *object && write.result == made)
    };
    let decision = decisions.iter().find(wrote)?;
    Some(CauseLink {
        object: object.to_string(),
        decision: decision.id,
        unit: decision.unit.clone(),
        at: decision.started,
        causes: decision.causes.clone(),
    })
}

/// Returns the newest failed write of a unit that has not succeeded since.
fn failed_write(target: &ObjectTarget, decisions: &[&Decision]) -> Option<FailedWrite> {
    let failed = |write: &&Write| !matches!(write.result, WriteResult::Written { .. } | WriteResult::Unchanged);
    let mut came_through: BTreeSet<&UnitId> = BTreeSet::new();
    decisions.iter().find_map(|decision| {
        let mut writes = phrases::writes(decision).iter().filter(|write| target.matches(&write.object)).peekable();
        writes.peek()?;
        let Some(write) = writes.find(failed) else {
            came_through.insert(&decision.unit);
            return None;
        };
        (!came_through.contains(&decision.unit)).then(|| FailedWrite {
            decision: decision.id,
            unit: decision.unit.clone(),
            at: decision.started,
            result: phrases::result(&write.result),
        })
    })
}

fn findings(target: &ObjectTarget, entries: &[JournalEntry], state: &KernelState) -> Vec<String> {
    let noted = entries.iter().filter_map(|entry| match entry {
        JournalEntry::Finding(finding) => Some(finding),
        JournalEntry::Decision(_) => None,
    });
    let mut out = Vec::new();
    for finding in state.findings.iter().chain(noted) {
        let (object, line) = match finding {
            Finding::FieldConflict { object, field, units: [a, b], flips, .. } => {
                (object, format!("{a} and {b} both set {field} in turns, {flips} times"))
            }
            Finding::HotLoop { object, field, unit, writes, .. } => {
                (object, format!("{unit} keeps writing {field}, {writes} times"))
            }
        };
        // Only the newest finding of each kind is shown.
        let said =
            |line: &str, known: &String| line.rsplit_once(", ").map(|l| l.0) == known.rsplit_once(", ").map(|l| l.0);
        if target.matches(object) && !out.iter().any(|known| said(&line, known)) {
            out.push(line);
        }
    }
    out
}
