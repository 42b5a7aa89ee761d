//! Fleet of Argo CD instances, and the assignment of placements to them.
//!
//! ```text
//!  placement (tenant, environment) ──place──▶ the least loaded active instance with capacity
//!                                  ──move───▶ another instance, while deployed resources are unchanged
//! ```
//!
//! A placement is never split across instances: an Argo CD watches a whole environment, whether it deploys one
//! Application there or fifty.
//!
//! # Rules for deployment decisions
//! 1. [`place()`] returns the instance of a placement. Commit its changes in the transaction that inserts the Application: they prevent
//!    two backends from placing it twice, and prevent new Applications on an instance that the placement is leaving.
//! 2. Begin an Operation about an Application only with the changes of [`may_begin`], committed in the same transaction. If it returns
//!    `None`, the Operation waits. Only the move may change an Application for which [`is_owned_by_move`](crate::moves::is_owned_by_move) is true.
//! 3. Use the status of an Application only if [`is_assigned_instance`] is true.

pub mod assignment;
pub(crate) mod listing;
pub(crate) mod names;
pub mod selection;

use switchboard_sql::RowChange;

pub use crate::placement::assignment::{IncomingLoad, InstanceCandidate, NoCapacity, PlacementDecision, place};

use crate::ids::{ManagedEnvironmentId, UserId};
use crate::rows::fleet::Placement;
use crate::rows::{Application, EngineInstance};

/// Key of a placement: one tenant's Applications for one environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacementKey {
    /// Tenant.
    pub user: UserId,
    /// Environment.
    pub environment: ManagedEnvironmentId,
}

/// Returns the changes that allow an Operation about an Application to begin, or `None` if it must wait for a move.
///
/// A placement without a row was made by managed-gitops and is never moved.
pub fn may_begin(placement: Option<&Placement>) -> Option<Vec<RowChange>> {
    match placement {
        None => Some(vec![]),
        Some(placement) if placement.moving.is_none() => Some(vec![RowChange::require_unchanged(placement)]),
        Some(_) => None,
    }
}

/// Whether the instance in this namespace is assigned to the Application's row. Status reports of other instances are
/// ignored.
pub fn is_assigned_instance(row: &Application, instances: &[EngineInstance], namespace: &str) -> bool {
    instances.iter().any(|instance| instance.id == row.instance && instance.namespace == namespace)
}

#[cfg(test)]
mod tests;
