//! Writes that the watch has not reported yet.

use std::collections::{BTreeMap, HashMap};

use crate::cache::ObjectChange;
use crate::operator::UnitId;
use crate::resource::ObjectKey;
use crate::timestamp::Timestamp;

/// Time for which a unit waits until its own writes are observed, before it runs on an older view.
pub(super) const CACHE_TIMEOUT_MS: u64 = 10_000;

/// Units that wait for their writes, by object, with the expected revisions.
#[derive(Default)]
pub(super) struct PendingWrites {
    by_object: HashMap<ObjectKey, Vec<(UnitId, ExpectedRevision)>>,
    by_unit: BTreeMap<UnitId, AwaitedWrites>,
}

struct AwaitedWrites {
    objects: Vec<ObjectKey>,
    until: Timestamp,
}

/// Revision at which a write counts as observed.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExpectedRevision {
    /// The object at this revision or later, or deleted after it.
    AtLeast(u64),
    /// The object deleted, or at a later revision than this.
    NewerThan(u64),
}

impl ExpectedRevision {
    pub fn is_met(self, revision: Option<u64>) -> bool {
        match (self, revision) {
            (ExpectedRevision::AtLeast(wanted), Some(seen)) => seen >= wanted,
            // The object was created after the snapshot, or is deleted again; only its change shows which.
            (ExpectedRevision::AtLeast(_), None) => false,
            (ExpectedRevision::NewerThan(old), Some(seen)) => seen > old,
            (ExpectedRevision::NewerThan(_), None) => true,
        }
    }
}

impl PendingWrites {
    /// Adds the writes a unit waits for, and returns the timeout.
    pub fn add(
        &mut self,
        now: Timestamp,
        unit: &UnitId,
        expected_revisions: Vec<(ObjectKey, ExpectedRevision)>,
    ) -> Timestamp {
        let until = Timestamp(now.0 + CACHE_TIMEOUT_MS);
        let objects = expected_revisions.iter().map(|(key, _)| key.clone()).collect();
        self.by_unit.insert(unit.clone(), AwaitedWrites { objects, until });
        for (key, expected) in expected_revisions {
            self.by_object.entry(key).or_default().push((unit.clone(), expected));
        }
        until
    }

    /// Records a change, and returns the units that wait for no other write.
    pub fn observe(&mut self, change: &ObjectChange) -> Vec<UnitId> {
        let Some(waiting) = self.by_object.get_mut(&change.key) else { return Vec::new() };
        let seen = change.after.as_ref().map(|object| object.revision);
        let met = |expected: ExpectedRevision| match (expected, seen) {
            (ExpectedRevision::AtLeast(wanted), None) => change.revision >= wanted,
            (expected, seen) => expected.is_met(seen),
        };
        let units: Vec<UnitId> =
            waiting.iter().filter(|(_, expected)| met(*expected)).map(|(unit, _)| unit.clone()).collect();
        waiting.retain(|(_, expected)| !met(*expected));
        if waiting.is_empty() {
            self.by_object.remove(&change.key);
        }
        units.into_iter().filter(|unit| self.mark_observed(unit, &change.key)).collect()
    }

    /// Records a change of a row, and returns the units that wait for no other write. Any later change of the row shows
    /// that the snapshot contains the commit.
    pub fn observe_row(&mut self, key: &ObjectKey) -> Vec<UnitId> {
        let waiting = self.by_object.remove(key).unwrap_or_default();
        waiting.into_iter().map(|(unit, _)| unit).filter(|unit| self.mark_observed(unit, key)).collect()
    }

    /// Marks one write as observed. A run that wrote an object and its status waits for two writes of that object.
    fn mark_observed(&mut self, unit: &UnitId, key: &ObjectKey) -> bool {
        let Some(pending) = self.by_unit.get_mut(unit) else { return false };
        if let Some(at) = pending.objects.iter().position(|object| object == key) {
            pending.objects.swap_remove(at);
        }
        let done = pending.objects.is_empty();
        if done {
            self.by_unit.remove(unit);
        }
        done
    }

    /// Removes and returns the units whose timeout has passed.
    pub fn overdue(&mut self, now: Timestamp) -> Vec<UnitId> {
        let late: Vec<UnitId> =
            self.by_unit.iter().filter(|(_, pending)| pending.until <= now).map(|(unit, _)| unit.clone()).collect();
        late.iter().for_each(|unit| self.forget(unit));
        late
    }

    /// Stops waiting for a unit's writes.
    pub fn forget(&mut self, unit: &UnitId) {
        let Some(pending) = self.by_unit.remove(unit) else { return };
        for key in pending.objects {
            if let Some(waiting) = self.by_object.get_mut(&key) {
                waiting.retain(|(other, _)| other != unit);
                if waiting.is_empty() {
                    self.by_object.remove(&key);
                }
            }
        }
    }

    pub fn next(&self) -> Option<Timestamp> {
        self.by_unit.values().map(|pending| pending.until).min()
    }
}
