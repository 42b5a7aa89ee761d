//! The fleet: many Argo CD instances, and which of them serves whom.
//!
//! ```text
//!  unit (tenant, environment) ──place──▶ the least loaded active instance that has room
//!                             ──moving─▶ another one, while what was deployed stays as it is
//! ```
//!
//! A unit is never split over instances: an Argo CD watches a whole environment whether it deploys one Application there or fifty.
//!
//! # For whoever decides on deployments
//! 1. [`place()`] says which instance a unit is on. Its changes go into the transaction that inserts the Application: they are what
//!    keeps two backends from placing one unit twice, and a new Application from being added to an instance that the unit is leaving.
//! 2. An Operation about an Application begins only with [`may_begin`], whose change goes into the transaction that begins it; without
//!    it the Operation waits. An Application that [`moving::is_held`] is left as it is by everybody but the move.
//! 3. What an Application says counts only if [`counts`].

pub mod moving;
pub mod place;
pub mod setup;

use switchboard_ledger::Change;
use switchboard_ledger::ids::{ManagedEnvironmentId, UserId};
use switchboard_ledger::rows::fleet::Placement;
use switchboard_ledger::rows::{Application, EngineInstance};

pub use place::{Candidate, Coming, NoRoom, Placed, place};

/// What is placed as one: the Applications of one tenant for one environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    /// The tenant.
    pub user: UserId,
    /// The environment.
    pub environment: ManagedEnvironmentId,
}

/// Whether an Operation about an Application of this unit may begin; if so, the change that makes sure of it.
///
/// A unit that was never placed here is one of the original's: nobody moves it.
pub fn may_begin(placement: Option<&Placement>) -> Option<Vec<Change>> {
    match placement {
        None => Some(vec![]),
        Some(placement) if placement.moving.is_none() => Some(vec![Change::hold(placement)]),
        Some(_) => None,
    }
}

/// Whether what an Application of this namespace says is about its row: only the instance that has the row may say so.
pub fn counts(row: &Application, instances: &[EngineInstance], namespace: &str) -> bool {
    instances.iter().any(|instance| instance.id == row.instance && instance.namespace == namespace)
}

#[cfg(test)]
mod tests;
