//! Operators that are let go while the kernel works.

use super::Core;
use crate::moment::Moment;
use crate::operator::{OperatorName, UnitId};
use crate::scheduler::Ended;

impl Core {
    /// Lets an operator go, with all that is known of its units. What a run that is under way writes already is written; what it
    /// answers from here on is dropped. Kinds that nobody else reads are watched no longer, after a grace. False when there is no
    /// such operator.
    pub fn remove(&mut self, operator: &OperatorName) -> bool {
        if self.operators.remove(operator).is_none() {
            return false;
        }
        self.scheduler.remove_operator(operator);
        self.rosters.remove(operator);
        self.given.remove(operator);
        for unit in self.standings.remove(operator) {
            self.forget(&unit);
        }
        true
    }

    /// A unit that there is no more.
    pub(super) fn forget(&mut self, unit: &UnitId) {
        self.wakes.forget(unit);
        self.standings.forget(unit);
        self.arbiter.forget(unit);
        self.echoes.forget(unit);
        self.refused.remove(unit);
        self.stale.remove(unit);
    }

    /// A run whose operator was let go meanwhile.
    pub(super) fn abandon(&mut self, now: Moment, unit: &UnitId) {
        self.running.remove(unit);
        self.scheduler.finish(now, unit, Ended::Gone);
        self.forget(unit);
        self.forget_recent();
    }
}
