//! A unit moves from one Argo CD to another, and nothing that was deployed notices.
//!
//! ```text
//!  freeze ─▶ prepare ─▶ copy ─▶ pause ─▶ release ─▶ flip ─▶ wake ─▶ clean ─▶ done
//!     └─────────┴─────────┴───────┴─────────┴─▶ return ─▶ returned
//! ```
//!
//! Nothing waits in here, and nothing is remembered but the step: [`next()`] looks at rows and objects and says what is to be done
//! now. Whoever carries a move is killed at any point and another goes on from what is there.
//!
//! Children stay because of two things: an Application that goes has no finalizer, so Argo CD forgets it and deletes nothing; and
//! the one at the target has the same name, by which Argo CD knows its children, so that it finds nothing to change.
//!
//! # Expected flow
//! [`begin`] once. Then, as long as the row's step is open: gather a [`Scene`], ask [`next()`], do what it says, gather again. A
//! commit that meets a conflict and an act that meets another version are no failures: gather again.
//!
//! # Guarantees
//! - An Application is deleted only without finalizers, asleep, and with its copy at the target. // test: guarantees_an_application_goes_only_when_its_copy_is_there
//! - Nothing but Applications, projects and Secrets of both instances is written.                // test: guarantees_nothing_but_the_instances_is_written
//! - A kill after any act or commit changes nothing of where it ends.                            // test: guarantees_a_kill_at_any_point_ends_the_same
//! - The rows name the target only after the source has let go of everything.                    // test: guarantees_two_never_deploy_at_once

mod asleep;
mod flip;
mod steps;

use serde_json::Value;
use switchboard_ledger::ids::{EngineInstanceId, MoveId, MoveStep};
use switchboard_ledger::rows::fleet::{Move, Placement};
use switchboard_ledger::rows::{Application, ClusterAccess, EngineInstance, Operation, RepositoryCredentials};
use switchboard_ledger::{Change, Moment};

use crate::flow::Target;

pub use asleep::{awake, forget, held_by, is_held, is_held_by};

/// How long Operations that have begun may take until the move gives up.
pub const FREEZE_MS: i64 = 12 * 60 * 1000;

/// How long a sync at the source may take until the move gives up.
pub const PAUSE_MS: i64 = 10 * 60 * 1000;

/// How long a cluster may refuse what a step needs until the move gives up.
pub const STALL_MS: i64 = 10 * 60 * 1000;

/// How long Applications sleep at the source before they go: their controller may still be about to do what it decided earlier.
pub const SETTLE_MS: i64 = 2000;

/// How long the target may take to compare until the move goes on without.
pub const WAKE_MS: i64 = 2 * 60 * 1000;

/// How long what is being deleted at the source may use what is there until the move ends without taking that away. It is longer than
/// a deletion is given.
pub const CLEAN_MS: i64 = 12 * 60 * 1000;

/// How often is looked at what has no events.
const LOOK_AGAIN_MS: u64 = 500;

/// Steps of a unit that is on its way, while its rows name the source: its room at the target is taken. One that goes back needs none.
pub const ARRIVING: [MoveStep; 6] =
    [MoveStep::Freeze, MoveStep::Prepare, MoveStep::Copy, MoveStep::Pause, MoveStep::Release, MoveStep::Flip];

/// Steps in which a move can do nothing but give up, if a cluster refuses what they need. From the flip on it only goes on.
pub const RETURNING: [MoveStep; 5] =
    [MoveStep::Freeze, MoveStep::Prepare, MoveStep::Copy, MoveStep::Pause, MoveStep::Release];

/// Everything that is known of a move.
pub struct Scene<'a> {
    /// When.
    pub now: Moment,
    /// The move.
    pub row: &'a Move,
    /// Where the unit is, by its row.
    pub placement: &'a Placement,
    /// Where it comes from; none if that was lost.
    pub source: Option<&'a EngineInstance>,
    /// Where it goes.
    pub target: &'a EngineInstance,
    /// Rows of its Applications.
    pub applications: &'a [Application],
    /// Open Operations about them, about syncs of them, and about copies whose rows are gone.
    pub operations: &'a [Operation],
    /// Who uses what through whom, of this unit.
    pub access: &'a [ClusterAccess],
    /// The tenant's repository credentials, if it has no other unit at the source.
    pub credentials: &'a [RepositoryCredentials],
    /// Application objects at the source that belong to the rows, or that this move holds.
    pub at_source: &'a [Value],
    /// The same at the target.
    pub at_target: &'a [Value],
    /// What the Applications need at the target: project and Secrets.
    pub needs: &'a [Value],
    /// As much of that as is there.
    pub has: &'a [Value],
    /// What is at the source and has no other use.
    pub leftovers: &'a [Value],
    /// How much of that is not among them yet, because an Application there still uses it: one that is being deleted needs its project
    /// and its cluster until what it deployed is gone.
    pub in_use: usize,
    /// What was prepared at the target and has no other use.
    pub prepared: &'a [Value],
}

/// What is to be done now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// These, in this order.
    Act(Vec<Act>),
    /// These, in one transaction.
    Commit(Vec<Change>),
    /// Nothing: look again in so many milliseconds. The words say what is waited for.
    Wait(u64, String),
    /// Nothing any more.
    Over,
}

/// A write to the cluster of the instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Creates an object; one that is there is left as it is.
    Create(Value),
    /// Replaces an object that still is of the version it says.
    Update(Value),
    /// Deletes this very object, as long as it is of this version; its children stay.
    Forget {
        /// Which.
        target: Target,
        /// Which of that name.
        uid: String,
        /// As it was looked at.
        version: String,
    },
}

/// Why a move does not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotMove {
    /// It is there.
    #[error("could not move the unit: it is on that Argo CD instance already")]
    There,
    /// Another move is under way.
    #[error("could not move the unit: move `{0}` is under way")]
    UnderWay(MoveId),
}

/// Begins a move: from then on no new Operation about the unit begins.
pub fn begin(
    placement: &Placement,
    target: &EngineInstanceId,
    id: MoveId,
    now: Moment,
) -> Result<(Move, Vec<Change>), CannotMove> {
    if let Some(moving) = &placement.moving {
        return Err(CannotMove::UnderWay(moving.clone()));
    }
    if placement.instance == *target {
        return Err(CannotMove::There);
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
    let changes = vec![Change::insert(&row), Change::update(placement, &frozen)];
    Ok((row, changes))
}

/// Whether there is something left to do.
pub fn is_open(row: &Move) -> bool {
    !matches!(row.step, MoveStep::Done | MoveStep::Returned)
}

/// What is to be done now.
pub fn next(scene: &Scene<'_>) -> Next {
    match scene.row.step {
        MoveStep::Freeze => steps::freeze(scene),
        MoveStep::Prepare => steps::prepare(scene),
        MoveStep::Copy => steps::copy(scene),
        MoveStep::Pause => steps::pause(scene),
        MoveStep::Release => steps::release(scene),
        MoveStep::Flip => flip::flip(scene),
        MoveStep::Wake => flip::wake(scene),
        MoveStep::Clean => flip::clean(scene),
        MoveStep::Return => steps::put_back(scene),
        MoveStep::Done | MoveStep::Returned => Next::Over,
    }
}

/// The change that makes a move stand at a step.
fn to(scene: &Scene<'_>, step: MoveStep, why: Option<String>) -> Change {
    let why = why.map(|why| why.chars().take(1000).collect());
    let after = Move { step, human_readable_state: why, last_step_update: scene.now, ..scene.row.clone() };
    Change::update(scene.row, &after)
}

fn advance(scene: &Scene<'_>, step: MoveStep) -> Next {
    Next::Commit(vec![to(scene, step, None)])
}

fn go_back(scene: &Scene<'_>, why: impl Into<String>) -> Next {
    Next::Commit(vec![to(scene, MoveStep::Return, Some(why.into()))])
}

fn wait(why: impl Into<String>) -> Next {
    Next::Wait(LOOK_AGAIN_MS, why.into())
}

/// How long the step has been under way.
fn in_step_ms(scene: &Scene<'_>) -> i64 {
    scene.now.since_ms(scene.row.last_step_update)
}

/// The namespace of the source; empty if it was lost, where nothing is found and nothing is written.
fn source_namespace<'a>(scene: &Scene<'a>) -> &'a str {
    scene.source.map_or("", |source| source.namespace.as_str())
}
