//! Removal of operators while the kernel runs.

use super::Core;
use crate::operator::{OperatorName, UnitId};
use crate::scheduler::RunEnd;
use crate::timestamp::Timestamp;

impl Core {
    /// Removes an operator and all state of its units. Writes of an active run that were already sent are finished;
    /// later results are dropped. Kinds without other readers are unwatched after a grace period. Returns whether the
    /// operator existed.
    pub fn remove(&mut self, operator: &OperatorName) -> bool {
        if self.operators.remove(operator).is_none() {
            return false;
        }
        self.scheduler.remove_operator(operator);
        self.unit_index.remove(operator);
        self.external_units.remove(operator);
        for unit in self.unit_statuses.remove(operator) {
            self.forget(&unit);
        }
        true
    }

    /// Removes all state of a unit that no longer exists.
    pub(super) fn forget(&mut self, unit: &UnitId) {
        self.triggers.forget(unit);
        self.unit_statuses.forget(unit);
        self.arbiter.forget(unit);
        self.pending_writes.forget(unit);
        self.rejected_writes.remove(unit);
        self.stale.remove(unit);
    }

    /// Drops an active run whose operator was removed.
    pub(super) fn abandon(&mut self, now: Timestamp, unit: &UnitId) {
        self.running.remove(unit);
        self.scheduler.finish(now, unit, RunEnd::Gone);
        self.forget(unit);
        self.forget_recent();
    }
}
