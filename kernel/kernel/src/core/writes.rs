//! Budget, results and history of a run's writes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use serde_json::Value;

use super::Core;
use super::pending_writes::{CACHE_TIMEOUT_MS, ExpectedRevision};
use super::run::MAX_REJECTED_WRITES;
use crate::applier::ExecutedWrite;
use crate::decision::{Cause, Write, WriteResult};
use crate::operator::UnitId;
use crate::plan::WriteOp;
use crate::resource::ObjectKey;
use crate::state::Finding;
use crate::timestamp::Timestamp;
use crate::view::{Reader, Reads, WriteRejection};

/// Number of stale runs in a row, with the same reads, after which a unit fails.
pub(super) const STALE_RUNS: u32 = 8;
/// Time for which a unit must have written to stale objects before it can read that its writes were rejected, and may
/// give them up. A lagging watch has caught up by then.
const STALE_TIMEOUT_MS: u64 = CACHE_TIMEOUT_MS;

/// Consecutive runs of a unit with stale writes.
pub(super) struct StaleRuns {
    reads: u64,
    runs: u32,
    since: Timestamp,
}

impl Core {
    /// Keeps the rejected writes for the unit's next run only. For a stale unit they are kept only after the watches
    /// had time to catch up.
    pub(super) fn remember_rejected(&mut self, now: Timestamp, unit: &UnitId, writes: &[Write]) {
        let early = self.stale.get(unit).is_some_and(|late| now.0 < late.since.0 + STALE_TIMEOUT_MS);
        let writes = if early { &[] } else { writes };
        let refusal = |write: &Write| {
            let (WriteResult::Failed { message } | WriteResult::Refused { reason: message }) = &write.result else {
                return None;
            };
            let verb = write.mutation.verb().to_string();
            Some(WriteRejection { object: write.object.clone(), verb, message: message.clone() })
        };
        let refused: Vec<WriteRejection> = writes.iter().filter_map(refusal).take(MAX_REJECTED_WRITES).collect();
        match refused.is_empty() {
            true => drop(self.rejected_writes.remove(unit)),
            false => drop(self.rejected_writes.insert(unit.clone(), refused)),
        }
    }

    /// Counts runs with stale writes. The unit retries at once, because the change that made them stale is about to be
    /// observed. If none is observed, the stale writes become failures with the server's message and a growing backoff.
    pub(super) fn count_stale(&mut self, now: Timestamp, unit: &UnitId, reads: &Reads, writes: &mut [Write]) {
        let is_stale = |write: &Write| matches!(write.result, WriteResult::Stale { .. });
        if !writes.iter().any(is_stale) {
            self.stale.remove(unit);
            return;
        }
        let reads = reads_digest(reads);
        let late = self.stale.entry(unit.clone()).or_insert(StaleRuns { reads, runs: 0, since: now });
        if late.reads != reads {
            *late = StaleRuns { reads, runs: 0, since: now };
        }
        late.runs = late.runs.saturating_add(1);
        if late.runs >= STALE_RUNS {
            for write in writes {
                if let WriteResult::Stale { message } = &mut write.result {
                    write.result = WriteResult::Failed { message: std::mem::take(message) };
                }
            }
        }
    }

    /// Refunds the budget for writes that changed nothing.
    pub(super) fn refund_unwritten(
        &mut self,
        unit: &UnitId,
        (granted, at): (usize, Timestamp),
        executed: &[ExecutedWrite],
    ) {
        // Rows cost nothing of the budget.
        let is_written = |one: &&ExecutedWrite| {
            matches!(one.write.result, WriteResult::Written { .. }) && !one.write.object.table.is_rows()
        };
        let written = executed.iter().filter(is_written).count();
        self.scheduler.refund(unit, at, granted.saturating_sub(written));
    }

    /// Passes the average duration of the writes to the scheduler, whose rate follows the API servers.
    pub(super) fn record_write_time(&mut self, now: Timestamp, executed: &[ExecutedWrite], write_us: u64) {
        // The time contains that of the commit, which shows nothing about the API servers.
        if executed.iter().any(|one| one.write.object.table.is_rows()) {
            return;
        }
        let sent = |one: &&ExecutedWrite| match one.write.result {
            WriteResult::Skipped => false,
            // Without an object, the arbiter found that there is nothing to send.
            WriteResult::Unchanged => one.before.is_some() || one.after.is_some(),
            _ => true,
        };
        if let Some(average) = write_us.checked_div(executed.iter().filter(sent).count() as u64) {
            self.scheduler.record_write_time(now, Duration::from_micros(average));
        }
    }

    pub(super) fn record_writes(
        &mut self,
        now: Timestamp,
        unit: &UnitId,
        (reads, causes, saw_rejection): (&Reads, &[Cause], bool),
        executed: &[ExecutedWrite],
    ) -> Vec<Finding> {
        let is_written = |one: &ExecutedWrite| matches!(one.write.result, WriteResult::Written { .. });
        // Needed only for runs with writes, which are few.
        let inputs = executed
            .iter()
            .any(is_written)
            .then(|| self.arbiter.inputs(unit, reads, causes).with_rejection(saw_rejection));
        let mut findings = Vec::new();
        let mut expected_revisions = Vec::new();
        for ExecutedWrite { write, before, after, .. } in executed {
            let left = match write.result {
                WriteResult::Written { revision } => Some(revision),
                // The server accepted the write and found nothing to change.
                WriteResult::Unchanged => before.as_ref().and_then(revision_of),
                _ => None,
            };
            if let (Some(revision), WriteOp::Apply { .. }) = (left, &write.mutation.operation) {
                self.arbiter.record_apply(unit, write, revision);
            }
            if let (WriteResult::Written { revision }, Some(inputs)) = (&write.result, inputs) {
                if let Some(hosted) = self.operators.get_mut(&unit.operator) {
                    hosted.counters.writes += 1;
                }
                findings.extend(self.arbiter.record_write(now, unit, write, before.as_ref(), after.as_ref(), inputs));
                expected_revisions.extend(self.expected_revision(write, *revision, before.as_ref()));
            }
        }
        if !expected_revisions.is_empty() {
            let object = expected_revisions[0].0.clone();
            let until = self.pending_writes.add(now, unit, expected_revisions);
            self.scheduler.hold(unit, object, until);
        }
        self.new_findings(now, findings)
    }

    /// Returns the revision to wait for before the unit runs again; `None` if it was observed already or the object is
    /// not watched.
    fn expected_revision(
        &self,
        write: &Write,
        revision: u64,
        before: Option<&Value>,
    ) -> Option<(ObjectKey, ExpectedRevision)> {
        if write.object.table.is_rows() {
            // A row to ensure may exist, and a row to delete that was not read may be missing: the log shows neither.
            let is_logged = match write.mutation.operation {
                WriteOp::Apply { .. } => false,
                WriteOp::Delete { .. } => before.is_some(),
                _ => true,
            };
            let is_new = is_logged && self.expects_row(&write.object, after_revision(write, revision));
            return is_new.then(|| (write.object.clone(), ExpectedRevision::AtLeast(revision)));
        }
        let current = self.cache.snapshot().get(&write.object)?.map(|object| object.revision);
        let expected = match write.mutation.operation {
            WriteOp::Delete { .. } => ExpectedRevision::NewerThan(before.and_then(revision_of).or(current)?),
            _ => ExpectedRevision::AtLeast(revision),
        };
        // If the write removed the last finalizer, the deletion may be observed before the response to the write.
        let went = || {
            let mut of_it = self.recent.iter().map(|(_, change)| change).filter(|change| change.key == write.object);
            of_it.any(|change| change.after.is_none() && change.revision >= revision)
        };
        let met = expected.is_met(current) || current.is_none() && went();
        (!met).then(|| (write.object.clone(), expected))
    }
}

/// Hashes the objects and lists that were read.
fn reads_digest(reads: &Reads) -> u64 {
    let lists = reads.lists.iter().map(|(query, listed)| {
        (query, listed.iter().map(|one| (&one.namespace, &one.name, one.revision)).collect::<Vec<_>>())
    });
    let mut hasher = DefaultHasher::new();
    (&reads.gets, lists.collect::<Vec<_>>()).hash(&mut hasher);
    hasher.finish()
}

/// Returns the revision of a written row; `None` for a deleted one.
fn after_revision(write: &Write, revision: u64) -> Option<u64> {
    (!matches!(write.mutation.operation, WriteOp::Delete { .. })).then_some(revision)
}

fn revision_of(object: &Value) -> Option<u64> {
    object.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok()
}

pub(super) fn hold_back(writes: &mut Vec<Write>, allowed: usize) -> Vec<Write> {
    let mut left = allowed;
    let cut = writes.iter().position(|write| {
        let costs = write.result == WriteResult::Skipped;
        let over = costs && left == 0;
        left -= usize::from(costs && !over);
        over
    });
    let mut held = cut.map(|cut| writes.split_off(cut)).unwrap_or_default();
    held.iter_mut()
        .filter(|w| w.result == WriteResult::Skipped)
        .for_each(|write| write.result = WriteResult::OverBudget);
    held
}

/// Returns all writes, and those with known objects separately. Most runs send nothing, so their writes are moved, not
/// copied.
pub(super) fn split(executed: Vec<ExecutedWrite>) -> (Vec<Write>, Vec<ExecutedWrite>) {
    let (mut writes, mut known) = (Vec::with_capacity(executed.len()), Vec::new());
    for one in executed {
        if one.before.is_none() && one.after.is_none() {
            writes.push(one.write);
        } else {
            writes.push(one.write.clone());
            known.push(one);
        }
    }
    (writes, known)
}
