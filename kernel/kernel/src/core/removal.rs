//! Removal of operators while the kernel runs.

use super::Core;
use crate::decision::{Write, WriteResult};
use crate::operator::{OperatorName, UnitId, Units};
use crate::plan::UnitStatus;
use crate::scheduler::RunEnd;
use crate::timestamp::Timestamp;
use crate::view::Reader;

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
        self.forget_rows_of(unit);
    }

    /// Drops an active run whose operator was removed.
    pub(super) fn abandon(&mut self, now: Timestamp, unit: &UnitId) {
        self.running.remove(unit);
        self.scheduler.finish(now, unit, RunEnd::Gone);
        self.forget(unit);
        self.forget_recent();
    }

    /// Whether the object of a unit is deleted, or an external unit is removed.
    pub(super) fn is_unit_deleted(&self, unit: &UnitId) -> bool {
        let Some(hosted) = self.operators.get(&unit.operator) else { return true };
        let (cluster_type, resource) = match &hosted.declaration.units {
            Units::Whole => return false,
            Units::External(_) => {
                return !self.external_units.get(&unit.operator).is_some_and(|units| units.contains(&unit.unit));
            }
            Units::Each { cluster_type, resource, .. } => (cluster_type, resource),
        };
        let key = hosted.topology.object(*cluster_type, resource, unit.unit.namespace(), unit.unit.name());
        // If the kind is not readable at the moment, the object may exist.
        let Some(object) = self.cache.snapshot().get(&key) else { return false };
        !object.is_some_and(|object| self.unit_index.selects(&unit.operator, &object))
    }
}

/// Whether a unit without an object has nothing left to do. A unit that requeues itself or reports a status other than
/// Ready is kept, so that what it read triggers it.
pub(super) fn has_nothing_left(ended: &RunEnd, status: &UnitStatus, writes: &[Write]) -> bool {
    matches!((ended, status), (RunEnd::Done { requeue_after: None }, UnitStatus::Ready))
        && writes.iter().all(|write| write.result == WriteResult::Unchanged)
}
