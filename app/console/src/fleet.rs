//! Fleet from the GitOps Service's database: instances with their limits, placements and moves. The process that hosts
//! the service implements the access; the console never opens a database.

use futures::future::BoxFuture;
use serde::Serialize;
use switchboard_kernel::timestamp::Timestamp;

/// Access to the fleet.
pub trait FleetProvider: Send + Sync {
    /// Returns the current state of the fleet.
    fn status(&self) -> BoxFuture<'_, Result<FleetStatus, FleetRefusal>>;

    /// Starts a move of a placement to an instance, or returns the running move to it. An agent carries it out.
    fn begin<'a>(
        &'a self,
        placement: &'a PlacementName,
        to: &'a str,
    ) -> BoxFuture<'a, Result<PlacementMove, FleetRefusal>>;
}

/// State of the fleet.
#[derive(Clone, Debug, Default)]
pub struct FleetStatus {
    /// Argo CD instances, by namespace.
    pub instances: Vec<FleetInstanceSummary>,
    /// All placements.
    pub placements: Vec<FleetPlacement>,
    /// Running moves, and the last move of each placement.
    pub moves: Vec<PlacementMove>,
}

/// Argo CD instance of the fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetInstanceSummary {
    /// Namespace of the instance.
    pub namespace: String,
    /// State: `active`, `cordoned` or `unregistered`.
    pub state: String,
    /// Number of Applications.
    pub applications: u64,
    /// Maximum number of Applications.
    pub max_applications: Option<i64>,
    /// Number of placements.
    pub placements: u64,
    /// Maximum number of placements.
    pub max_placements: Option<i64>,
    /// Number of moves from or to the instance.
    pub moving: usize,
}

/// Names of a placement, as users know them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacementName {
    /// Namespace of the tenant.
    pub tenant: String,
    /// Environment; `None` is the tenant's own namespace.
    pub environment: Option<String>,
}

/// Placement of a tenant and an environment on an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetPlacement {
    /// Names of the placement.
    #[serde(flatten)]
    pub name: PlacementName,
    /// Namespace of the instance.
    pub instance: String,
    /// Whether a move is running.
    pub moving: bool,
}

/// Progress of a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MoveProgress {
    /// The move is running.
    #[default]
    Running,
    /// The move is being rolled back.
    RollingBack,
    /// The move has finished.
    Finished,
    /// The move was rolled back.
    RolledBack,
}

impl MoveProgress {
    /// Whether the move has not ended.
    pub fn is_open(self) -> bool {
        matches!(self, MoveProgress::Running | MoveProgress::RollingBack)
    }
}

/// Move of a placement to another instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacementMove {
    /// Names of the placement.
    #[serde(flatten)]
    pub name: PlacementName,
    /// Namespace of the source instance.
    pub from: String,
    /// Namespace of the target instance.
    pub to: String,
    /// Progress of the move.
    pub progress: MoveProgress,
    /// Current or last step.
    pub step: String,
    /// Time of the request.
    pub began: Timestamp,
    /// Start time of the step.
    pub since: Timestamp,
    /// Reason for a delay or a rollback.
    pub message: String,
}

/// Kind of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The placement or instance does not exist.
    Missing,
    /// The placement is on the instance already, or another move is running.
    Conflict,
    /// The database or a cluster failed.
    Failed,
}

/// Error of a fleet request, with a hint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FleetRefusal {
    /// Kind of the error.
    pub kind: RefusalKind,
    /// Error message.
    pub message: String,
    /// Hint for the user.
    pub hint: String,
}

impl FleetRefusal {
    /// Creates the error for a process without a GitOps Service.
    pub(crate) fn not_hosted() -> Self {
        Self {
            kind: RefusalKind::Missing,
            message: "no GitOps Service is running here".to_string(),
            hint: "add `gitops: {}` to switchboard.yaml, or run the command with --database".to_string(),
        }
    }
}

#[cfg(test)]
pub(crate) mod fake;
