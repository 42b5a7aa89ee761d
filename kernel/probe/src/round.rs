//! A round in which nothing is to be written: who decided what.

use std::collections::BTreeMap;

use switchboard_kernel::core::Run;
use switchboard_kernel::operator::{Stop, UnitId};
use switchboard_kernel::plan::{Plan, Standing};

/// What the units decided in one round.
#[derive(Default)]
pub struct Round {
    runs: BTreeMap<UnitId, (Run, Plan)>,
    /// A unit ran twice, failed, or wants to come back by itself: the next round is not like this one.
    unsteady: bool,
}

impl Round {
    /// Takes in what a run came to.
    pub fn decided(&mut self, run: Run, plan: &Result<Plan, Stop>) {
        let settled = |plan: &&Plan| plan.again.is_none() && !matches!(plan.standing, Standing::Failing(_));
        match plan.as_ref().ok().filter(settled) {
            Some(plan) => self.unsteady |= self.runs.insert(run.unit.clone(), (run, plan.clone())).is_some(),
            None => self.unsteady = true,
        }
    }

    /// Whether each unit ran once and came to rest.
    pub fn is_steady(&self) -> bool {
        !self.unsteady
    }

    /// The runs, each with the plan it came to.
    pub fn runs(&mut self) -> impl Iterator<Item = (&UnitId, &mut Run, &Plan)> {
        self.runs.iter_mut().map(|(unit, (run, plan))| (unit, run, &*plan))
    }
}
