//! Round in which no writes are expected, with the decisions of all units.

use std::collections::BTreeMap;

use switchboard_kernel::core::UnitRun;
use switchboard_kernel::operator::{DecideError, UnitId};
use switchboard_kernel::plan::{Plan, UnitStatus};

/// Decisions of the units in one round.
#[derive(Default)]
pub struct Round {
    runs: BTreeMap<UnitId, (UnitRun, Plan)>,
    /// Whether a unit ran twice, failed, or requeues itself, so that the next round may differ.
    unsteady: bool,
}

impl Round {
    /// Records the plan of a run.
    pub fn record(&mut self, run: UnitRun, plan: &Result<Plan, DecideError>) {
        let settled = |plan: &&Plan| plan.requeue_after.is_none() && !matches!(plan.status, UnitStatus::Failing(_));
        match plan.as_ref().ok().filter(settled) {
            Some(plan) => self.unsteady |= self.runs.insert(run.unit.clone(), (run, plan.clone())).is_some(),
            None => self.unsteady = true,
        }
    }

    /// Whether each unit ran once and finished.
    pub fn is_steady(&self) -> bool {
        !self.unsteady
    }

    /// Returns the runs with their plans.
    pub fn runs(&mut self) -> impl Iterator<Item = (&UnitId, &mut UnitRun, &Plan)> {
        self.runs.iter_mut().map(|(unit, (run, plan))| (unit, run, &*plan))
    }
}
