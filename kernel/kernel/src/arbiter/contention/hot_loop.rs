//! Detection of a unit that keeps writing although nothing it reads from others changes.
//!
//! A write counts when it changes a field that the unit itself set last, with the same inputs, and within
//! [`LOOP_WINDOW`] plus the current slowdown. So these are no loops: an object built up field by field, a value that
//! another writer keeps changing, a heartbeat written because time has passed.
//!
//! A slow loop is recognized by repeated values: within [`FINDING_AGE`], a write also counts when it sets a field back
//! to a value that the unit itself had set before, with the same inputs. Writes caused by passing time set new values.
//!
//! A unit that makes external queries may find a reason there that the kernel cannot see. The arbiter accepts that if
//! another cause triggered the run. If only the unit's own writes trigger it, it would find a new reason each time and
//! never stop.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use serde_json::Value;

use super::{FINDING_AGE, RunInputs};
use crate::arbiter::changes::ChangedField;
use crate::arbiter::lru::LruMap;
use crate::decision::Write;
use crate::operator::UnitId;
use crate::plan::WriteOp;
use crate::resource::ObjectKey;
use crate::state::Finding;
use crate::timestamp::Timestamp;

/// Number of writes to one object with unchanged inputs that make a loop. The write before them may be the first one
/// that reads the object as the unit left it, so a loop is found with its fifth write at the latest.
pub const LOOP_WRITES: u32 = 4;
/// Number of consecutive writes that do not count because writes of the run before were rejected. An operator that
/// counts rejections, and gives up after a number of them, is no loop; one that counts without end is.
pub const MAX_WRITES_AFTER_REJECTION: u32 = 16;
/// Maximum time between two writes of a loop, in addition to the current slowdown. A unit that requeues itself after a
/// longer time writes because time has passed.
pub const LOOP_WINDOW: Duration = Duration::from_secs(5);
/// Maximum number of units whose writes are remembered; beyond it the one that wrote least recently is forgotten.
pub const MAX_UNITS: usize = 20_000;
/// Maximum number of objects remembered over all units.
pub const MAX_WRITTEN: usize = 50_000;
/// First delay of a unit that was found to loop.
pub const SLOW_FIRST: Duration = Duration::from_secs(1);
/// Maximum delay of a looping unit.
pub const SLOW_MAX: Duration = Duration::from_secs(60);

/// Maximum number of objects remembered for one unit.
const MAX_OBJECTS: usize = 256;
/// Maximum number of own revisions remembered for one object: as many as a stale view may lag behind.
const MAX_REVISIONS: usize = 8;
/// Maximum number of changed fields compared for one object.
const MAX_COMPARED: usize = 16;
/// Maximum number of values remembered for a field: a loop through more values looks like values that are always new.
const MAX_VALUES: usize = 4;
/// Maximum number of writes of one run that are distinguished.
const MAX_AT_ONCE: usize = 64;

#[derive(Debug, Default)]
pub struct HotLoops {
    units: LruMap<UnitId, LruMap<ObjectKey, ObjectHistory>>,
    written: usize,
}

/// Writes of a unit to one object.
#[derive(Debug, Default)]
struct ObjectHistory {
    revisions: VecDeque<u64>,
    /// Whether the unit deleted the object last.
    deleted: bool,
    /// Last applied fields, with the object's revision after that.
    applied: Option<(ApplyDigest, u64)>,
    run: WriteStreak,
}

/// Hash of everything an apply sends.
type ApplyDigest = [u8; 32];

/// Consecutive writes to one object with the same inputs.
#[derive(Debug, Default)]
struct WriteStreak {
    fingerprint: u64,
    /// Hashes of the last values set in each changed field, newest last.
    fields: BTreeMap<String, VecDeque<u64>>,
    writes: u32,
    /// Number of writes after a rejection, up to [`MAX_WRITES_AFTER_REJECTION`].
    after_rejection: u32,
    at: Timestamp,
    /// Writes of the current run: a run writes an object and its status once each.
    same_run_writes: BTreeSet<(Arc<str>, Option<String>)>,
}

impl HotLoops {
    /// Records that the unit made this revision, or that it deleted the object, at once or after its finalizers.
    pub fn record_revision(&mut self, unit: &UnitId, object: &ObjectKey, revision: Option<u64>, gone: bool) {
        let wrote = self.touch(unit, object);
        wrote.deleted = gone;
        wrote.revisions.extend(revision);
        if wrote.revisions.len() > MAX_REVISIONS {
            wrote.revisions.pop_front();
        }
    }

    /// Whether this revision, or the absence of the object, was made by the unit itself.
    pub fn is_own_revision(&self, unit: &UnitId, object: &ObjectKey, revision: Option<u64>) -> bool {
        let wrote = self.units.get(unit).and_then(|objects| objects.get(object));
        wrote.is_some_and(|wrote| revision.map_or(wrote.deleted, |revision| wrote.revisions.contains(&revision)))
    }

    pub fn record_apply(&mut self, unit: &UnitId, write: &Write, revision: u64) {
        if let Some(applied) = apply_digest(write) {
            self.touch(unit, &write.object).applied = Some((applied, revision));
        }
    }

    /// Whether the unit's last apply sent the same and left the object at this revision.
    pub fn has_applied(&self, unit: &UnitId, write: &Write, revision: u64) -> bool {
        let wrote = self.units.get(unit).and_then(|objects| objects.get(&write.object));
        let last = wrote.and_then(|wrote| wrote.applied.as_ref()).filter(|(_, left)| *left == revision);
        last.is_some_and(|(last, _)| apply_digest(write).as_ref() == Some(last))
    }

    pub fn record_write(
        &mut self,
        now: Timestamp,
        unit: &UnitId,
        write: &Write,
        changes: &[ChangedField],
        inputs: RunInputs<'_>,
    ) -> Option<Finding> {
        let generated = generated_key(write);
        let object = generated.as_ref().unwrap_or(&write.object);
        let part = (write.object.name.clone(), write.mutation.subresource.clone());
        let run = &mut self.touch(unit, object).run;
        let field = run.record(now, changes, generated.is_some(), part, inputs)?;
        let writes = run.writes;
        (writes >= LOOP_WRITES).then(|| Finding::HotLoop {
            object: write.object.clone(),
            field,
            unit: unit.clone(),
            writes,
            at: now,
        })
    }

    /// Returns the longest delay over the unit's objects with an active loop.
    pub fn slowdown(&self, unit: &UnitId, now: Timestamp) -> Option<Duration> {
        let runs = self.units.get(unit)?.values().map(|wrote| &wrote.run);
        runs.filter(|run| run.is_active(now)).map(WriteStreak::delay).max().filter(|slow| !slow.is_zero())
    }

    pub fn forget(&mut self, unit: &UnitId) {
        self.written -= self.units.remove(unit).map_or(0, |objects| objects.len());
    }

    #[cfg(test)]
    pub fn remembered(&self) -> (usize, usize) {
        let objects: usize = self.units.values().map(LruMap::len).sum();
        assert_eq!(objects, self.written);
        (self.units.len(), objects)
    }

    fn touch(&mut self, unit: &UnitId, object: &ObjectKey) -> &mut ObjectHistory {
        // The unit is not evicted: it is the youngest, and there is room for more than one unit.
        let objects = self.units.touch(unit, LruMap::default);
        let known = objects.len();
        objects.touch(object, ObjectHistory::default);
        objects.shrink(MAX_OBJECTS);
        self.written += objects.len() - known;
        while let Some(forgotten) = self.units.shrink(if self.written > MAX_WRITTEN { 1 } else { MAX_UNITS }) {
            self.written -= forgotten.len();
        }
        self.units.touch(unit, LruMap::default).touch(object, ObjectHistory::default)
    }
}

impl WriteStreak {
    fn is_active(&self, now: Timestamp) -> bool {
        now.since(self.at) <= LOOP_WINDOW.saturating_add(self.delay())
    }

    fn delay(&self) -> Duration {
        let Some(more) = self.writes.checked_sub(LOOP_WRITES) else { return Duration::ZERO };
        SLOW_FIRST.saturating_mul(1_u32.checked_shl(more).unwrap_or(u32::MAX)).min(SLOW_MAX)
    }

    /// Records a write, and returns the field it set again if the write counts.
    fn record(
        &mut self,
        now: Timestamp,
        changes: &[ChangedField],
        generated: bool,
        part: (Arc<str>, Option<String>),
        inputs: RunInputs<'_>,
    ) -> Option<String> {
        if self.fingerprint != inputs.fingerprint || now.since(self.at) > FINDING_AGE {
            *self = Self { fingerprint: inputs.fingerprint, ..Self::default() };
        }
        let soon = self.is_active(now);
        if self.at != now || self.same_run_writes.contains(&part) {
            self.same_run_writes.clear();
        }
        let same_run = !self.same_run_writes.is_empty();
        if self.same_run_writes.len() < MAX_AT_ONCE {
            self.same_run_writes.insert(part);
        }
        self.at = now;
        // Each object with a generated name is new, so its field has no earlier value.
        let own = |change: &&ChangedField| {
            self.fields.get(&change.field).is_some_and(|left| {
                let last = left.back() == Some(&change.before) || generated && change.field == ".";
                last && (soon || !generated && left.contains(&change.after))
            })
        };
        let rejected = inputs.saw_rejection && self.after_rejection < MAX_WRITES_AFTER_REJECTION;
        self.after_rejection += u32::from(rejected);
        // An external answer or a rejection may be the reason: such a write does not count, but does not reset the count
        // either.
        let has_reason = inputs.saw_external_change || rejected;
        let again = changes.iter().find(own).filter(|_| !has_reason).map(|change| change.field.clone());
        changes.iter().take(MAX_COMPARED).for_each(|change| self.remember_value(change));
        match again {
            _ if self.writes == 0 => self.writes = 1,
            Some(_) if !same_run => self.writes = self.writes.saturating_add(1),
            // Earlier writes have nothing to do with the current ones.
            None if !soon && !same_run => self.writes = 1,
            _ => {}
        }
        again
    }

    fn remember_value(&mut self, change: &ChangedField) {
        if self.fields.len() >= MAX_COMPARED && !self.fields.contains_key(&change.field) {
            return;
        }
        let left = self.fields.entry(change.field.clone()).or_insert_with(|| VecDeque::from([change.before]));
        left.push_back(change.after);
        if left.len() > MAX_VALUES {
            left.pop_front();
        }
    }
}

fn apply_digest(write: &Write) -> Option<ApplyDigest> {
    let WriteOp::Apply { body, force } = &write.mutation.operation else { return None };
    let (manager, part) = (&write.mutation.field_manager, &write.mutation.subresource);
    let mut sent = format!("{manager:?} {part:?} {force} ").into_bytes();
    serde_json::to_writer(&mut sent, body).ok()?;
    digest(&SHA256, &sent).as_ref().try_into().ok()
}

/// Returns one key for all objects of a `generateName`: the names differ, but creating one more repeats the same write.
fn generated_key(write: &Write) -> Option<ObjectKey> {
    let WriteOp::Create(body) = &write.mutation.operation else { return None };
    let prefix = body.pointer("/metadata/generateName").and_then(Value::as_str).filter(|prefix| !prefix.is_empty())?;
    Some(ObjectKey { name: format!("{prefix}*").into(), ..write.object.clone() })
}
