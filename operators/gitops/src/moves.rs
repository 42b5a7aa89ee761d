//! Move of a placement from one Argo CD instance to another without any change to deployed resources.
//!
//! ```text
//!  freeze ─▶ prepare ─▶ copy ─▶ pause ─▶ release ─▶ cutover ─▶ resume ─▶ cleanup ─▶ done
//!     └─────────┴─────────┴───────┴─────────┴─▶ rollback ─▶ rolled back
//! ```
//!
//! The module never waits and stores only the step: [`next_action()`] derives the next action from rows and objects. If
//! the process that runs a move crashes at any point, another process continues from the observed state.
//!
//! Deployed resources are kept for two reasons: Applications are deleted without finalizers, so Argo CD deletes
//! nothing; and the copy at the target has the same name, by which Argo CD tracks resources, so it finds nothing to
//! change.
//!
//! # Expected flow
//! Call [`begin`] once. While the step of the row is open, collect a [`MoveState`], call [`next_action()`], and execute
//! the action. If a commit conflicts or an object has another version, collect the state again; neither is an error.
//!
//! # Guarantees
//! - An Application is deleted only without finalizers, while paused, and with its copy at the target. // test: guarantees_an_application_is_deleted_only_with_its_copy_at_the_target
//! - Only Applications, projects and Secrets of both instances are written.                            // test: guarantees_only_objects_of_the_instances_are_written
//! - A crash after any write or commit does not change the end state.                                  // test: guarantees_a_crash_at_any_point_has_the_same_end_state
//! - The rows name the target only after the source has released every Application.                    // test: guarantees_two_instances_never_deploy_at_once

mod cutover;
pub(crate) mod execution;
pub(crate) mod finished_moves;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod move_inputs;
mod skip_reconcile;
mod steps;

use serde_json::Value;
use switchboard_sql::{DbTimestamp, RowChange};

pub use skip_reconcile::{delete_write, is_owned_by_move, is_paused_by, owning_move, resume_object};

use crate::flow::WriteTarget;
use crate::ids::{EngineInstanceId, MoveId, MoveStep};
use crate::rows::fleet::{Move, Placement};
use crate::rows::{Application, ClusterAccess, EngineInstance, Operation, RepositoryCredentials};

/// Time for running Operations to finish before the move is rolled back.
pub const FREEZE_MS: i64 = 12 * 60 * 1000;

/// Time for a sync at the source to finish before the move is rolled back.
pub const PAUSE_MS: i64 = 10 * 60 * 1000;

/// Time during which a cluster may refuse the writes of a step before the move is rolled back.
pub const STALL_MS: i64 = 10 * 60 * 1000;

/// Time for which Applications are paused at the source before they are deleted, so that the controller finishes
/// earlier decisions.
pub const SETTLE_MS: i64 = 2000;

/// Time for the target to compare its Applications before the move continues without.
pub const RESUME_MS: i64 = 2 * 60 * 1000;

/// Time for deletions at the source to release its project and Secrets before the move finishes without cleaning those
/// up. It exceeds the time limit of a deletion.
pub const CLEANUP_MS: i64 = 12 * 60 * 1000;

/// Interval for polling state without events.
const POLL_MS: u64 = 500;

/// Steps in which the rows name the source but capacity at the target is reserved. A rollback needs none.
pub const RESERVING_STEPS: [MoveStep; 6] =
    [MoveStep::Freeze, MoveStep::Prepare, MoveStep::Copy, MoveStep::Pause, MoveStep::Release, MoveStep::Cutover];

/// Steps that roll back if a cluster refuses their writes. From the cutover on, a move only goes forward.
pub const ROLLBACK_STEPS: [MoveStep; 5] =
    [MoveStep::Freeze, MoveStep::Prepare, MoveStep::Copy, MoveStep::Pause, MoveStep::Release];

/// Observed state of a move.
pub struct MoveState<'a> {
    /// Current time.
    pub now: DbTimestamp,
    /// Row of the move.
    pub row: &'a Move,
    /// Row of the placement.
    pub placement: &'a Placement,
    /// Source instance; `None` if it no longer exists.
    pub source: Option<&'a EngineInstance>,
    /// Target instance.
    pub target: &'a EngineInstance,
    /// Rows of the placement's Applications.
    pub applications: &'a [Application],
    /// Open Operations about the Applications, their syncs, and copies whose rows are deleted.
    pub operations: &'a [Operation],
    /// Access rows of the placement.
    pub access: &'a [ClusterAccess],
    /// Repository credentials of the tenant, if the tenant has no other placement at the source.
    pub credentials: &'a [RepositoryCredentials],
    /// Application objects at the source that belong to the rows or are paused by this move.
    pub at_source: &'a [Value],
    /// Application objects at the target that belong to the rows or are paused by this move.
    pub at_target: &'a [Value],
    /// Objects that the Applications require at the target: project and Secrets.
    pub required: &'a [Value],
    /// Required objects that exist at the target.
    pub existing: &'a [Value],
    /// Objects at the source that are no longer used.
    pub leftovers: &'a [Value],
    /// Number of further objects at the source that are still used, because an Application that is being deleted needs
    /// its project and its cluster until its resources are deleted.
    pub in_use: usize,
    /// Objects that were prepared at the target and have no other use.
    pub prepared: &'a [Value],
}

/// Next action of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveAction {
    /// Execute these writes in order.
    Write(Vec<InstanceWrite>),
    /// Commit these changes in one transaction.
    Commit(Vec<RowChange>),
    /// Wait for this many milliseconds, for the given reason.
    Wait(u64, String),
    /// The move has finished.
    Finished,
}

/// Write to the cluster of the instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstanceWrite {
    /// Creates an object unless it exists.
    Create(Value),
    /// Replaces an object if it still has the given resourceVersion.
    Update(Value),
    /// Deletes this object if it still has this UID and resourceVersion. Its resources are kept.
    Delete {
        /// Object to delete.
        target: WriteTarget,
        /// UID of the object.
        uid: String,
        /// Observed resourceVersion.
        version: String,
    },
}

/// Error of starting a move.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// The placement is already on the target.
    #[error("could not move the placement: it is already on that Argo CD instance")]
    AlreadyThere,
    /// Another move is in progress.
    #[error("could not move the placement: move `{0}` is in progress")]
    InProgress(MoveId),
}

/// Begins a move. From the commit on, no new Operation about the placement begins.
pub fn begin(
    placement: &Placement,
    target: &EngineInstanceId,
    id: MoveId,
    now: DbTimestamp,
) -> Result<(Move, Vec<RowChange>), MoveError> {
    if let Some(moving) = &placement.moving {
        return Err(MoveError::InProgress(moving.clone()));
    }
    if placement.instance == *target {
        return Err(MoveError::AlreadyThere);
    }
    let row = Move {
        id: id.clone(),
        user: placement.user.clone(),
        environment: placement.environment.clone(),
        source: placement.instance.clone(),
        target: target.clone(),
        step: MoveStep::Freeze,
        human_readable_state: None,
        created_on: now,
        last_step_update: now,
    };
    let frozen = Placement { moving: Some(id), ..placement.clone() };
    let changes = vec![RowChange::insert(&row), RowChange::update(placement, &frozen)];
    Ok((row, changes))
}

/// Whether the move has further steps.
pub fn is_open(row: &Move) -> bool {
    !matches!(row.step, MoveStep::Done | MoveStep::RolledBack)
}

/// Returns the next action of a move.
pub fn next_action(state: &MoveState<'_>) -> MoveAction {
    match state.row.step {
        MoveStep::Freeze => steps::freeze(state),
        MoveStep::Prepare => steps::prepare(state),
        MoveStep::Copy => steps::copy(state),
        MoveStep::Pause => steps::pause(state),
        MoveStep::Release => steps::release(state),
        MoveStep::Cutover => cutover::cutover(state),
        MoveStep::Resume => cutover::resume(state),
        MoveStep::Cleanup => cutover::cleanup(state),
        MoveStep::Rollback => steps::rollback(state),
        MoveStep::Done | MoveStep::RolledBack => MoveAction::Finished,
    }
}

/// Returns the change that sets the step of a move.
fn step_change(state: &MoveState<'_>, step: MoveStep, why: Option<String>) -> RowChange {
    let why = why.map(|why| why.chars().take(1000).collect());
    let after = Move { step, human_readable_state: why, last_step_update: state.now, ..state.row.clone() };
    RowChange::update(state.row, &after)
}

fn advance(state: &MoveState<'_>, step: MoveStep) -> MoveAction {
    MoveAction::Commit(vec![step_change(state, step, None)])
}

fn roll_back(state: &MoveState<'_>, why: impl Into<String>) -> MoveAction {
    MoveAction::Commit(vec![step_change(state, MoveStep::Rollback, Some(why.into()))])
}

fn wait(why: impl Into<String>) -> MoveAction {
    MoveAction::Wait(POLL_MS, why.into())
}

/// Returns the time since the step began.
fn in_step_ms(state: &MoveState<'_>) -> i64 {
    state.now.since_ms(state.row.last_step_update)
}

/// Returns the namespace of the source, or an empty text if it no longer exists; nothing is found or written there.
fn source_namespace<'a>(state: &MoveState<'a>) -> &'a str {
    state.source.map_or("", |source| source.namespace.as_str())
}

#[cfg(test)]
mod tests;
