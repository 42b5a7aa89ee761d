//! Writes that have not come back through the watch yet.

use std::collections::{BTreeMap, HashMap};

use crate::cache::Change;
use crate::moment::Moment;
use crate::operator::UnitId;
use crate::resource::ObjectKey;

/// How long a unit waits for its own writes to come back before it runs on an older view.
pub(super) const ECHO_PATIENCE_MS: u64 = 10_000;

/// For each object written, who waits to see it, and up to which revision.
#[derive(Default)]
pub(super) struct Echoes {
    awaited: HashMap<ObjectKey, Vec<(UnitId, Echo)>>,
    pending: BTreeMap<UnitId, Pending>,
}

struct Pending {
    objects: Vec<ObjectKey>,
    until: Moment,
}

/// What would be the echo of a write.
#[derive(Clone, Copy, Debug)]
pub(super) enum Echo {
    /// The object at this revision or a later one, or its absence after it.
    Revision(u64),
    /// The object gone, or at a later revision than this.
    Not(u64),
}

impl Echo {
    pub fn is_heard(self, revision: Option<u64>) -> bool {
        match (self, revision) {
            (Echo::Revision(wanted), Some(seen)) => seen >= wanted,
            // The object came after the picture, or it is gone again: only its change tells.
            (Echo::Revision(_), None) => false,
            (Echo::Not(old), Some(seen)) => seen > old,
            (Echo::Not(_), None) => true,
        }
    }
}

impl Echoes {
    /// A unit waits for these; gives the moment until which.
    pub fn expect(&mut self, now: Moment, unit: &UnitId, echoes: Vec<(ObjectKey, Echo)>) -> Moment {
        let until = Moment(now.0 + ECHO_PATIENCE_MS);
        let objects = echoes.iter().map(|(key, _)| key.clone()).collect();
        self.pending.insert(unit.clone(), Pending { objects, until });
        for (key, echo) in echoes {
            self.awaited.entry(key).or_default().push((unit.clone(), echo));
        }
        until
    }

    /// The units for which a change was the last echo they waited for.
    pub fn heard(&mut self, change: &Change) -> Vec<UnitId> {
        let Some(waiting) = self.awaited.get_mut(&change.key) else { return Vec::new() };
        let seen = change.after.as_ref().map(|object| object.revision);
        let heard = |echo: Echo| match (echo, seen) {
            (Echo::Revision(wanted), None) => change.revision >= wanted,
            (echo, seen) => echo.is_heard(seen),
        };
        let units: Vec<UnitId> =
            waiting.iter().filter(|(_, echo)| heard(*echo)).map(|(unit, _)| unit.clone()).collect();
        waiting.retain(|(_, echo)| !heard(*echo));
        if waiting.is_empty() {
            self.awaited.remove(&change.key);
        }
        units.into_iter().filter(|unit| self.settle(unit, &change.key)).collect()
    }

    /// One echo was heard. A run that wrote an object and its status waits for two of the same object.
    fn settle(&mut self, unit: &UnitId, key: &ObjectKey) -> bool {
        let Some(pending) = self.pending.get_mut(unit) else { return false };
        if let Some(at) = pending.objects.iter().position(|object| object == key) {
            pending.objects.swap_remove(at);
        }
        let done = pending.objects.is_empty();
        if done {
            self.pending.remove(unit);
        }
        done
    }

    /// The units that have waited long enough.
    pub fn overdue(&mut self, now: Moment) -> Vec<UnitId> {
        let late: Vec<UnitId> =
            self.pending.iter().filter(|(_, pending)| pending.until <= now).map(|(unit, _)| unit.clone()).collect();
        late.iter().for_each(|unit| self.forget(unit));
        late
    }

    /// Nothing more is awaited for a unit.
    pub fn forget(&mut self, unit: &UnitId) {
        let Some(pending) = self.pending.remove(unit) else { return };
        for key in pending.objects {
            if let Some(waiting) = self.awaited.get_mut(&key) {
                waiting.retain(|(other, _)| other != unit);
                if waiting.is_empty() {
                    self.awaited.remove(&key);
                }
            }
        }
    }

    pub fn next(&self) -> Option<Moment> {
        self.pending.values().map(|pending| pending.until).min()
    }
}
