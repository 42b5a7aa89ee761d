//! Deployments whose unit finds no room on any Argo CD. They are kept in mind so that they look again when there may be some; whoever
//! starts looks at all deployments anyway.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use switchboard_gitops::fleet::moving::ARRIVING;
use switchboard_kernel::operator::Unit;
use switchboard_kernel::plan::{Plan, Standing};
use switchboard_ledger::rows::Application;
use switchboard_ledger::rows::fleet::{Move, Placement};
use switchboard_ledger::{Key, LedgerError, Row, Signal, View};

/// How soon one looks again that has just come to wait: room may have come before it was known to wait.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How its words begin.
const ROOM: &str = "room: ";

/// Units that wait for room.
#[derive(Default)]
pub(super) struct Roomless(Mutex<BTreeSet<Unit>>);

/// The plan of a deployment that finds no room.
pub(super) fn waits(why: &impl std::fmt::Display) -> Plan {
    Plan::nothing().waiting(format!("{ROOM}{why}"))
}

impl Roomless {
    /// Keeps in mind whether a unit waits.
    pub(super) fn note(&self, unit: Unit, plan: Plan) -> Plan {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(&plan.standing, Standing::Waiting(why) if why.starts_with(ROOM)) {
            all.remove(&unit);
            return plan;
        }
        if all.insert(unit) { plan.again_after(LOOK_AGAIN) } else { plan }
    }

    /// Those who wait.
    pub(super) fn all(&self) -> BTreeSet<Unit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether news may be of room, and somebody waits for it.
    pub(super) fn matters(&self, signal: &Signal) -> bool {
        let tables = [Placement::TABLE.name, Move::TABLE.name, Application::TABLE.name];
        matches!(signal, Signal::Changed { table, .. } if tables.contains(&table.as_str())) && !self.is_empty()
    }
}

/// Whether a row that changed leaves room: it is gone, or a unit has left the Argo CD it was on, or does not come to another one.
pub(super) async fn leaves_room(view: &mut View, table: &str, key: &str) -> Result<bool, LedgerError> {
    let parts: Key = key.split('/').map(str::to_string).collect();
    Ok(match table {
        _ if table == Placement::TABLE.name => view.get::<Placement>(&parts).await?.is_none(),
        _ if table == Application::TABLE.name => view.get::<Application>(&parts).await?.is_none(),
        _ if table == Move::TABLE.name => {
            view.get::<Move>(&parts).await?.is_none_or(|row| !ARRIVING.contains(&row.step))
        }
        _ => false,
    })
}
