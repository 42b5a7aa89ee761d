//! What becomes of the writes of a run: held back, paid for, remembered.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::Core;
use super::echo::{ECHO_PATIENCE_MS, Echo};
use super::run::MAX_REFUSALS;
use crate::applier::Carried;
use crate::decision::{Cause, Write, WriteResult};
use crate::moment::Moment;
use crate::operator::UnitId;
use crate::plan::Act;
use crate::resource::ObjectKey;
use crate::state::Finding;
use crate::view::{Picture, Reads, Refusal};

/// After how many runs in a row that came too late, on the same reads, a unit fails.
pub(super) const STALE_RUNS: u32 = 8;
/// How long a unit must have come too late before it is told that it was refused, and may give up what it wants. A watch that is
/// behind has caught up by then.
const STALE_PATIENCE_MS: u64 = ECHO_PATIENCE_MS;

/// How a unit comes too late.
pub(super) struct Lateness {
    reads: u64,
    runs: u32,
    since: Moment,
}

impl Core {
    /// For the unit's next run, and for that one alone. One that comes too late is not told before the watches had their time.
    pub(super) fn remember_refused(&mut self, now: Moment, unit: &UnitId, writes: &[Write]) {
        let early = self.stale.get(unit).is_some_and(|late| now.0 < late.since.0 + STALE_PATIENCE_MS);
        let writes = if early { &[] } else { writes };
        let refusal = |write: &Write| {
            let (WriteResult::Failed { message } | WriteResult::Refused { reason: message }) = &write.result else {
                return None;
            };
            let verb = write.mutation.verb().to_string();
            Some(Refusal { object: write.object.clone(), verb, message: message.clone() })
        };
        let refused: Vec<Refusal> = writes.iter().filter_map(refusal).take(MAX_REFUSALS).collect();
        match refused.is_empty() {
            true => drop(self.refused.remove(unit)),
            false => drop(self.refused.insert(unit.clone(), refused)),
        }
    }

    /// A write that came too late is tried again at once, for what made it so is about to come in. When nothing comes in, it
    /// is a failure like any other: with the server's words, and ever longer waits.
    pub(super) fn count_stale(&mut self, now: Moment, unit: &UnitId, reads: &Reads, writes: &mut [Write]) {
        let is_stale = |write: &Write| matches!(write.result, WriteResult::Stale { .. });
        if !writes.iter().any(is_stale) {
            self.stale.remove(unit);
            return;
        }
        let reads = contents_read(reads);
        let late = self.stale.entry(unit.clone()).or_insert(Lateness { reads, runs: 0, since: now });
        if late.reads != reads {
            *late = Lateness { reads, runs: 0, since: now };
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

    /// Only what changed something is paid for.
    pub(super) fn refund_unwritten(&mut self, unit: &UnitId, (granted, at): (usize, Moment), carried: &[Carried]) {
        let is_written = |one: &&Carried| matches!(one.write.result, WriteResult::Written { .. });
        let written = carried.iter().filter(is_written).count();
        self.scheduler.refund(&unit.operator, at, granted.saturating_sub(written));
    }

    pub(super) fn note_writes(
        &mut self,
        now: Moment,
        unit: &UnitId,
        (reads, causes): (&Reads, &[Cause]),
        carried: &[Carried],
    ) -> Vec<Finding> {
        let is_written = |one: &Carried| matches!(one.write.result, WriteResult::Written { .. });
        // Only writes are judged by it, and most runs write nothing.
        let inputs = carried.iter().any(is_written).then(|| self.arbiter.inputs(unit, reads, causes));
        let mut findings = Vec::new();
        let mut echoes = Vec::new();
        for Carried { write, before, after, .. } in carried {
            let left = match write.result {
                WriteResult::Written { revision } => Some(revision),
                // It was sent, and the server found nothing to change.
                WriteResult::Unchanged => before.as_ref().and_then(revision_of),
                _ => None,
            };
            if let (Some(revision), Act::Apply { .. }) = (left, &write.mutation.act) {
                self.arbiter.applied(unit, write, revision);
            }
            if let (WriteResult::Written { revision }, Some(inputs)) = (&write.result, inputs) {
                if let Some(hosted) = self.operators.get_mut(&unit.operator) {
                    hosted.account.writes += 1;
                }
                findings.extend(self.arbiter.written(now, unit, write, before.as_ref(), after.as_ref(), inputs));
                echoes.extend(self.echo_of(write, *revision, before.as_ref()));
            }
        }
        if !echoes.is_empty() {
            let object = echoes[0].0.clone();
            let until = self.echoes.expect(now, unit, echoes);
            self.scheduler.hold(unit, object, until);
        }
        self.worth_telling(now, findings)
    }

    /// What to wait for before the unit runs again; nothing when it was seen already, or is not watched.
    fn echo_of(&self, write: &Write, revision: u64, before: Option<&Value>) -> Option<(ObjectKey, Echo)> {
        let current = self.cache.snapshot().get(&write.object)?.map(|object| object.revision);
        let echo = match write.mutation.act {
            Act::Delete { .. } => Echo::Not(before.and_then(revision_of).or(current)?),
            _ => Echo::Revision(revision),
        };
        // Whoever takes the last finalizer away may see the object go before the answer to its write.
        let went = || {
            let mut of_it = self.recent.iter().map(|(_, change)| change).filter(|change| change.key == write.object);
            of_it.any(|change| change.after.is_none() && change.revision >= revision)
        };
        let heard = echo.is_heard(current) || current.is_none() && went();
        (!heard).then(|| (write.object.clone(), echo))
    }
}

/// A number that is the same as long as the same is read.
fn contents_read(reads: &Reads) -> u64 {
    let lists = reads.lists.iter().map(|(query, listed)| {
        (query, listed.iter().map(|one| (&one.namespace, &one.name, one.revision)).collect::<Vec<_>>())
    });
    let mut hasher = DefaultHasher::new();
    (&reads.gets, lists.collect::<Vec<_>>()).hash(&mut hasher);
    hasher.finish()
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
    held.iter_mut().filter(|w| w.result == WriteResult::Skipped).for_each(|write| write.result = WriteResult::Held);
    held
}

/// The writes, and those once more that objects go with. Most runs send nothing: their writes are moved, not copied.
pub(super) fn split(carried: Vec<Carried>) -> (Vec<Write>, Vec<Carried>) {
    let (mut writes, mut known) = (Vec::with_capacity(carried.len()), Vec::new());
    for one in carried {
        if one.before.is_none() && one.after.is_none() {
            writes.push(one.write);
        } else {
            writes.push(one.write.clone());
            known.push(one);
        }
    }
    (writes, known)
}
