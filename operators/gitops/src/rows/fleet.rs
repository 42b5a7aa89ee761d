//! Switchboard's own rows for the fleet: the limits of Argo CD instances, the placements, and the moves.
//!
//! A placement is a tenant and an environment on an Argo CD instance. The key is the tenant and the environment, so a
//! placement is never split.

use crate::ids::{EngineInstanceId, InstanceState, ManagedEnvironmentId, MoveId, MoveStep, UserId};
use switchboard_sql::DbTimestamp;

switchboard_sql::rows! {
    since 3;

    /// Limits of an Argo CD instance of the fleet. An instance without such a row keeps its placements and receives no
    /// new ones.
    Member = "switchboard_instance" {
        /// Argo CD instance.
        instance: EngineInstanceId = "instance_id" max 48 key true,
        /// Whether the instance receives new placements.
        state: InstanceState = "state" max 16,
        /// Maximum number of Applications.
        max_applications: i64 = "max_applications",
        /// Maximum number of placements; each costs the instance watches.
        max_environments: i64 = "max_environments",
        /// Time when the instance was added.
        created_on: DbTimestamp = "created_on",
    }

    /// Argo CD instance of a tenant's deployments to an environment.
    Placement = "switchboard_placement" {
        /// Tenant.
        user: UserId = "placement_user_id" max 48 key true,
        /// Environment.
        environment: ManagedEnvironmentId = "placement_environment_id" max 48 key true,
        /// Argo CD instance that has the placement.
        instance: EngineInstanceId = "instance_id" max 48,
        /// Number of times the placement was assigned to an instance. Status reports count only if they are of the
        /// current epoch.
        epoch: i64 = "epoch",
        /// Move in progress. During a move, no Operation for the placement starts.
        moving: Option<MoveId> = "move_id" max 48,
        /// Creation time of the row.
        created_on: DbTimestamp = "created_on",
    }

    /// Move of a placement between Argo CD instances.
    Move = "switchboard_move" {
        /// Id of the row.
        id: MoveId = "move_id" max 48 key true,
        /// Tenant of the placement.
        user: UserId = "move_user_id" max 48,
        /// Environment of the placement.
        environment: ManagedEnvironmentId = "move_environment_id" max 48,
        /// Instance that the placement leaves.
        source: EngineInstanceId = "source_id" max 48,
        /// Instance that receives the placement.
        target: EngineInstanceId = "target_id" max 48,
        /// Current step.
        step: MoveStep = "step" max 16,
        /// Reason why the move waits or was rolled back.
        human_readable_state: Option<String> = "human_readable_state" max 1024,
        /// Time of the request.
        created_on: DbTimestamp = "created_on",
        /// Time of the last change of `step`.
        last_step_update: DbTimestamp = "last_step_update",
    }
}
