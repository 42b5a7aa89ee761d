//! Rows of ours alone: which Argo CD is given new units, where each unit is, and which is on its way.
//!
//! A unit is a tenant and an environment. It is never split: its key is the table's.

use crate::ids::{EngineInstanceId, InstanceState, ManagedEnvironmentId, MoveId, MoveStep, UserId};
use crate::row::rows;
use crate::value::Moment;

rows! {
    /// What an Argo CD of the fleet takes. One without such a row keeps what it has and is given nothing.
    Member = "switchboard_instance" {
        /// The Argo CD.
        instance: EngineInstanceId = "instance_id" max 48 key true,
        /// Whether it is given new units.
        state: InstanceState = "state" max 16,
        /// How many Applications it is given at most.
        max_applications: i64 = "max_applications",
        /// How many units it is given at most; each costs it watches.
        max_environments: i64 = "max_environments",
        /// When it was added.
        created_on: Moment = "created_on",
    }

    /// Where a unit is.
    Placement = "switchboard_placement" {
        /// The tenant.
        user: UserId = "placement_user_id" max 48 key true,
        /// The environment.
        environment: ManagedEnvironmentId = "placement_environment_id" max 48 key true,
        /// The Argo CD that has it.
        instance: EngineInstanceId = "instance_id" max 48,
        /// How often it has come to an Argo CD: what one says counts only while it is the one of now.
        epoch: i64 = "epoch",
        /// The move that is under way. As long as there is one, no Operation about the unit begins.
        moving: Option<MoveId> = "move_id" max 48,
        /// When the row was made.
        created_on: Moment = "created_on",
    }

    /// A move of a unit from one Argo CD to another.
    Move = "switchboard_move" {
        /// The row.
        id: MoveId = "move_id" max 48 key true,
        /// The unit's tenant.
        user: UserId = "move_user_id" max 48,
        /// The unit's environment.
        environment: ManagedEnvironmentId = "move_environment_id" max 48,
        /// From here.
        source: EngineInstanceId = "source_id" max 48,
        /// To here.
        target: EngineInstanceId = "target_id" max 48,
        /// How far it is.
        step: MoveStep = "step" max 16,
        /// Why it waits, or why it went back.
        human_readable_state: Option<String> = "human_readable_state" max 1024,
        /// When it was asked for.
        created_on: Moment = "created_on",
        /// When `step` last changed.
        last_step_update: Moment = "last_step_update",
    }
}
