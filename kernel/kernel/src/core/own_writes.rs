//! Own writes of a unit that are observed.
//!
//! An own write is the next step of the unit's work, so no debounce applies. If it changed nothing that an operator can
//! see, for example only the field managers, the unit's last decision was made on equal content, and no run follows. If
//! the server has defaulted or mutated the object, the content differs and the unit runs.

use std::cell::LazyCell;

use super::Core;
use crate::cache::ObjectChange;
use crate::decision::{Cause, Write, WriteResult};
use crate::operator::UnitId;
use crate::timestamp::Timestamp;

/// Change that is compared with its unit's own writes.
pub(super) struct OwnWriteCheck<'a> {
    change: &'a ObjectChange,
    /// Whether no operator can see the change. Computed when needed, because it parses the object twice.
    unseen: LazyCell<bool, Box<dyn FnOnce() -> bool + 'a>>,
}

impl<'a> OwnWriteCheck<'a> {
    pub fn new(change: &'a ObjectChange) -> Self {
        let unseen = || {
            let states = change.before.as_ref().zip(change.after.as_ref());
            states.is_some_and(|(before, after)| before.equal_ignoring_revision(after))
        };
        Self { change, unseen: LazyCell::new(Box::new(unseen)) }
    }
}

impl Core {
    /// Triggers the units whose object or reads have changed.
    pub(super) fn trigger_readers(&mut self, now: Timestamp, change: &ObjectChange, first: bool) {
        let check = OwnWriteCheck::new(change);
        for unit in self.unit_index.units_of(change) {
            let cause = match first {
                true => Cause::Started,
                false => Cause::Changed { object: change.key.clone(), revision: change.revision },
            };
            self.trigger_by_change(now, &unit, cause, &check);
        }
        for (unit, cause) in self.triggers.triggered(change) {
            self.trigger_by_change(now, &unit, cause, &check);
        }
    }

    /// Triggers a unit that reads a changed object, except for an own write without a visible change.
    fn trigger_by_change(&mut self, now: Timestamp, unit: &UnitId, cause: Cause, check: &OwnWriteCheck<'_>) {
        let own = self.arbiter.is_own_change(unit, &check.change.key, check.change.revision);
        // While the unit runs, the change may be one of its writes whose response has not arrived. The end of the run
        // checks the change again, with the reads of the run.
        let undecided = self.running.contains_key(unit);
        if (own || undecided) && *check.unseen {
            return;
        }
        self.unit_statuses.ensure(now, unit);
        match own {
            true => self.scheduler.trigger_next_step(now, unit, cause),
            false => self.scheduler.trigger(now, unit, cause),
        }
    }

    /// Triggers a unit because of the changes during its run, now that its own writes are known.
    pub(super) fn trigger_by_missed(&mut self, now: Timestamp, unit: &UnitId, missed: Vec<(Cause, ObjectChange)>) {
        for (cause, change) in missed {
            self.trigger_by_change(now, unit, cause, &OwnWriteCheck::new(&change));
        }
    }

    /// Skips the debounce of a unit that wrote, if only these writes have triggered it meanwhile.
    pub(super) fn continue_after_writes(&mut self, now: Timestamp, unit: &UnitId, writes: &[Write]) {
        if !writes.iter().any(|write| matches!(write.result, WriteResult::Written { .. })) {
            return;
        }
        let arbiter = &self.arbiter;
        let is_own = |cause: &Cause| match cause {
            Cause::Changed { object, revision } | Cause::Matched { object, revision, .. } => {
                arbiter.is_own_change(unit, object, *revision)
            }
            _ => false,
        };
        self.scheduler.recognize_own_writes(now, unit, &is_own);
    }
}
