//! Detection of field conflicts and hot loops.
//!
//! In a field conflict, two units set one field in turns, and no other writer sets it in between: back to a value it
//! had, or to a new one for which only the other unit's write gave a reason.
//!
//! In a hot loop, a unit keeps changing what it has set itself, although nothing it reads from others changes.

mod field_conflict;
mod hot_loop;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::changes::{changes, hash, is_terminating};
use crate::decision::{Cause, Write, WriteResult};
use crate::operator::UnitId;
use crate::resource::ObjectKey;
use crate::state::Finding;
use crate::timestamp::Timestamp;
use crate::view::Reads;

pub use field_conflict::{CONFLICT_FLIPS, MAX_FIELDS, turn_wait};
pub use hot_loop::{LOOP_WINDOW, LOOP_WRITES, MAX_UNITS, MAX_WRITTEN, SLOW_FIRST, SLOW_MAX};

/// Time after which a finding that was not seen again is no longer active. Turns that are further apart are no
/// conflict.
pub const FINDING_AGE: Duration = Duration::from_secs(600);
/// Maximum number of findings; beyond it the oldest is removed.
pub const MAX_FINDINGS: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Contention {
    pub(super) field_conflicts: field_conflict::FieldConflicts,
    pub(super) hot_loops: hot_loop::HotLoops,
    findings: BTreeMap<FindingKey, Finding>,
}

/// Reads and causes of a run, to check whether another writer gave it a reason to write.
#[derive(Clone, Copy, Debug)]
pub struct RunInputs<'a> {
    pub(super) reads: &'a Reads,
    /// Causes of the run.
    pub(super) causes: &'a [Cause],
    /// Fingerprint of everything the unit reads from other writers.
    pub(super) fingerprint: u64,
    /// Whether the run made an external query because of an outside cause, and so may have found a reason to write
    /// there.
    pub(super) saw_external_change: bool,
    /// Whether writes of the unit's previous run were rejected, which may be the reason to write.
    pub(super) saw_rejection: bool,
}

impl RunInputs<'_> {
    /// States whether the run was given rejected writes of the previous run.
    pub fn with_rejection(self, saw_rejection: bool) -> Self {
        Self { saw_rejection, ..self }
    }
}

/// Fingerprint of everything a unit reads from writers other than itself and the given unit.
type OtherInputs<'a> = &'a dyn Fn(&UnitId) -> u64;

/// Key of a finding; one finding is kept for each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FindingKey {
    FieldConflict(ObjectKey, String),
    HotLoop(UnitId, ObjectKey),
}

impl Contention {
    pub fn record_write(
        &mut self,
        now: Timestamp,
        unit: &UnitId,
        write: &Write,
        (before, after): (Option<&Value>, Option<&Value>),
        inputs: RunInputs<'_>,
    ) -> Vec<Finding> {
        let WriteResult::Written { revision } = write.result else { return Vec::new() };
        self.hot_loops.record_revision(unit, &write.object, after.map(|_| revision), after.is_none_or(is_terminating));
        let changes = changes(before, after);
        if changes.is_empty() {
            return Vec::new();
        }
        let loops = &self.hot_loops;
        let others = |other: &UnitId| {
            let own = |key: &ObjectKey, at: Option<u64>| {
                loops.is_own_revision(unit, key, at) || loops.is_own_revision(other, key, at)
            };
            let looked = saw_external_change(&own, inputs.reads, inputs.causes);
            hash((fingerprint(&own, inputs.reads), looked.then(|| digests(inputs.reads).collect::<Vec<_>>())))
        };
        let mut found = self.field_conflicts.record_write(now, unit, &write.object, &changes, &others);
        found.extend(self.hot_loops.record_write(now, unit, write, &changes, inputs));
        for finding in &found {
            self.add_finding(finding.clone());
        }
        found
    }

    pub fn findings(&self, now: Timestamp) -> Vec<Finding> {
        self.findings.values().filter(|finding| now.since(seen_at(finding)) <= FINDING_AGE).cloned().collect()
    }

    pub fn slowdown(&self, unit: &UnitId, now: Timestamp) -> Option<Duration> {
        self.hot_loops.slowdown(unit, now)
    }

    /// Whether the unit itself made this revision of the object, or deleted it.
    pub fn is_own_revision(&self, unit: &UnitId, key: &ObjectKey, revision: Option<u64>) -> bool {
        self.hot_loops.is_own_revision(unit, key, revision)
    }

    pub fn record_apply(&mut self, unit: &UnitId, write: &Write, revision: u64) {
        self.hot_loops.record_apply(unit, write, revision);
    }

    pub fn has_applied(&self, unit: &UnitId, write: &Write, revision: u64) -> bool {
        self.hot_loops.has_applied(unit, write, revision)
    }

    pub fn forget(&mut self, unit: &UnitId) {
        self.hot_loops.forget(unit);
        self.findings.retain(|_, finding| match finding {
            Finding::FieldConflict { units, .. } => !units.contains(unit),
            Finding::HotLoop { unit: looping, .. } => looping != unit,
        });
    }

    fn add_finding(&mut self, finding: Finding) {
        let subject = match &finding {
            Finding::FieldConflict { object, field, .. } => FindingKey::FieldConflict(object.clone(), field.clone()),
            Finding::HotLoop { object, unit, .. } => FindingKey::HotLoop(unit.clone(), object.clone()),
        };
        self.findings.insert(subject, finding);
        if self.findings.len() > MAX_FINDINGS
            && let Some(oldest) =
                self.findings.iter().min_by_key(|(_, f)| seen_at(f)).map(|(subject, _)| subject.clone())
        {
            self.findings.remove(&oldest);
        }
    }
}

fn seen_at(finding: &Finding) -> Timestamp {
    match finding {
        Finding::FieldConflict { at, .. } | Finding::HotLoop { at, .. } => *at,
    }
}

/// Whether a run made an external query for a cause other than the unit's own writes (as given by `own`), retries and
/// requeues. Otherwise the query is part of what the unit repeats, as its plan is.
pub(super) fn saw_external_change(
    own: &dyn Fn(&ObjectKey, Option<u64>) -> bool,
    reads: &Reads,
    causes: &[Cause],
) -> bool {
    let had_it_look = |cause: &Cause| match cause {
        Cause::Changed { object, revision } | Cause::Matched { object, revision, .. } => {
            !own(object, Some(*revision)) && !own(object, None)
        }
        Cause::RequeueAfter | Cause::Retry { .. } | Cause::Unfinished => false,
        Cause::Started | Cause::KindCached { .. } | Cause::Resync | Cause::Requested | Cause::External => true,
    };
    digests(reads).next().is_some() && causes.iter().any(had_it_look)
}

/// Returns the digests of the external answers.
fn digests(reads: &Reads) -> impl Iterator<Item = u64> {
    reads.external_queries.iter().filter_map(|query| query.digest)
}

/// Hashes the reads, except revisions and absences that `own` attributes to the unit, and the external queries, except
/// those with a digest: [`saw_external_change`] covers these.
pub(super) fn fingerprint(own: &dyn Fn(&ObjectKey, Option<u64>) -> bool, reads: &Reads) -> u64 {
    let gets: Vec<_> = reads.gets.iter().filter(|(key, revision)| !own(key, **revision)).collect();
    let mut lists = Vec::new();
    for (query, listed) in &reads.lists {
        let key = |namespace: &std::sync::Arc<str>, name: &std::sync::Arc<str>| ObjectKey {
            table: query.table.clone(),
            namespace: namespace.clone(),
            name: name.clone(),
        };
        let others = listed.iter().filter(|l| !own(&key(&l.namespace, &l.name), Some(l.revision)));
        lists.push((query, others.map(|l| (&l.namespace, &l.name, l.revision)).collect::<Vec<_>>()));
    }
    let queries = reads.external_queries.iter().filter(|query| !query.deterministic && query.digest.is_none());
    let queries: Vec<_> = queries.map(|query| (&query.kind, &query.request, &query.answer)).collect();
    hash((gets, lists, queries))
}
