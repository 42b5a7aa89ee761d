//! Deployments that no Argo CD instance has capacity for. They are tracked to be triggered when capacity becomes
//! available. After a restart all deployments are processed anyway.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use switchboard_kernel::operator::Unit;
use switchboard_kernel::plan::{Plan, UnitStatus};
use switchboard_sql::{ChangeEvent, LedgerError, LedgerView, Row, RowKey};

use crate::moves::RESERVING_STEPS;
use crate::rows::Application;
use crate::rows::fleet::{Move, Placement};

/// Delay of the first recheck: capacity may have become available before the deployment was tracked.
const FIRST_RECHECK_DELAY: Duration = Duration::from_secs(1);

/// Prefix of the waiting reason.
const NO_CAPACITY_PREFIX: &str = "room: ";

/// Units that wait for capacity.
#[derive(Default)]
pub(crate) struct UnplacedDeployments(Mutex<BTreeSet<Unit>>);

/// Returns the plan of a deployment without capacity.
pub(crate) fn waiting_plan(why: &impl std::fmt::Display) -> Plan {
    Plan::nothing().waiting(format!("{NO_CAPACITY_PREFIX}{why}"))
}

impl UnplacedDeployments {
    /// Tracks whether a unit waits.
    pub(crate) fn record(&self, unit: Unit, plan: Plan) -> Plan {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(&plan.status, UnitStatus::Waiting(why) if why.starts_with(NO_CAPACITY_PREFIX)) {
            all.remove(&unit);
            return plan;
        }
        if all.insert(unit) { plan.requeue_after(FIRST_RECHECK_DELAY) } else { plan }
    }

    /// Returns the waiting units.
    pub(crate) fn all(&self) -> BTreeSet<Unit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether an event may free capacity that a unit waits for.
    pub(crate) fn matters(&self, signal: &ChangeEvent) -> bool {
        let tables = [Placement::TABLE.name, Move::TABLE.name, Application::TABLE.name];
        matches!(signal, ChangeEvent::Row { table, .. } if tables.contains(&table.as_str())) && !self.is_empty()
    }
}

/// Whether a changed row frees capacity: the row is deleted, or a placement has left its instance or will not arrive at
/// its target.
pub(crate) async fn frees_capacity(view: &mut LedgerView, table: &str, key: &str) -> Result<bool, LedgerError> {
    let parts: RowKey = key.split('/').map(str::to_string).collect();
    Ok(match table {
        _ if table == Placement::TABLE.name => view.get::<Placement>(&parts).await?.is_none(),
        _ if table == Application::TABLE.name => view.get::<Application>(&parts).await?.is_none(),
        _ if table == Move::TABLE.name => {
            view.get::<Move>(&parts).await?.is_none_or(|row| !RESERVING_STEPS.contains(&row.step))
        }
        _ => false,
    })
}
