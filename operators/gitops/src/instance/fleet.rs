//! Fleet of Argo CD instances: adding, listing, cordoning and removing instances, and moving placements between them.
//!
//! ```text
//!  rows + objects ─▶ placement and moves decide ─▶ commit, or writes to the engine cluster ─▶ rows + objects …
//! ```
//!
//! The module keeps no state. [`Fleet::advance_move`] continues a move from its current step; concurrent callers do not
//! interfere.

use std::sync::Arc;

use jiff::Timestamp;
use switchboard_sql::{DbTimestamp, LedgerError};

pub use crate::argocd::engine_client::{EngineClient, EngineError};
pub(crate) use crate::instance::membership::entries;
pub use crate::instance::membership::{FleetInstance, InstanceSpec};
pub use crate::instance::ownership::NamespaceOwner;
pub use crate::moves::execution::MoveProgress;
pub use crate::placement::listing::PlacementInfo;
pub use crate::placement::names::PlacementNames;

use crate::error::ServiceError;
use crate::ids::Uid;
use crate::moves::{MoveError, STALL_MS};
use crate::placement::names::{first_few, list_suffix};
use crate::setup::SYSTEM_NAMESPACE;
use crate::store::Store;

/// Argo CD instances of one engine cluster.
#[derive(Clone)]
pub struct Fleet {
    pub(crate) store: Store,
    pub(crate) engine: EngineClient,
    pub(crate) isolated: bool,
    pub(crate) clock: FleetClock,
    pub(crate) stall_ms: i64,
}

/// Clock; tests replace it to make time pass faster.
pub type FleetClock = Arc<dyn Fn() -> DbTimestamp + Send + Sync>;

/// Error of a fleet operation.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The database failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The database failed, or other writers changed the rows in every attempt.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The engine cluster failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No instance in this namespace of the cluster.
    #[error(
        "could not find an Argo CD instance in namespace `{0}`\nhint: list the instances with `switchboard gitops fleet list`"
    )]
    NoInstance(String),
    /// The namespace does not exist.
    #[error(
        "could not find namespace `{0}`\nhint: create the namespace and install Argo CD in it, or use `fleet add --create-namespace`"
    )]
    NoNamespace(String),
    /// The namespace belongs to a tenant.
    #[error(
        "could not use namespace `{0}` for an Argo CD instance: it belongs to a tenant, who could read the credentials of other tenants there\nhint: pass a namespace of its own, or --force if no other tenant is placed there"
    )]
    TenantNamespace(String),
    /// The namespace is marked as another database's.
    #[error(
        "could not use namespace `{0}` for an Argo CD instance: it belongs to another database\nhint: pass another namespace, or --force if that database no longer exists"
    )]
    OtherDatabase(String),
    /// The instance has placements.
    #[error(
        "could not remove the Argo CD instance in `{namespace}`: it has {placements} placements{}\nhint: cordon the instance and move its placements with `switchboard gitops fleet move`; list them with `switchboard gitops fleet list --placements`",
        list_suffix(.first, *.placements)
    )]
    InUse {
        /// Namespace of the instance.
        namespace: String,
        /// Number of placements.
        placements: u64,
        /// First placements, as arguments of `fleet move`; empty for placements made by managed-gitops.
        first: Vec<String>,
    },
    /// Placements are being moved to or from the instance.
    #[error(
        "could not remove the Argo CD instance in `{namespace}`: {placements} placements are moving to or from it\nhint: wait for the moves, or cancel them with `switchboard gitops fleet move TENANT --back`"
    )]
    PlacementsMoving {
        /// Namespace of the instance.
        namespace: String,
        /// Number of placements.
        placements: usize,
    },
    /// Removals are in progress at the instance.
    #[error(
        "could not remove the Argo CD instance in `{namespace}`: {removals} removals of Applications or projects are in progress there\nhint: wait for the removals; if the Argo CD no longer exists, pass --force to abandon them and keep the deployed resources"
    )]
    Removing {
        /// Namespace of the instance.
        namespace: String,
        /// Number of removals.
        removals: usize,
    },
    /// No other instance can take over the credentials.
    #[error(
        "could not remove the Argo CD instance in `{namespace}`: it has {credentials} repository credentials, and there is no other instance for them\nhint: add another instance with `switchboard gitops fleet add`"
    )]
    LastInstance {
        /// Namespace of the instance.
        namespace: String,
        /// Number of credentials.
        credentials: usize,
    },
    /// The tenant has no such placement.
    #[error(
        "could not find a placement of tenant `{tenant}` for `{environment}`\nhint: create a deployment first: the first one creates the placement"
    )]
    NoPlacement {
        /// Namespace of the tenant.
        tenant: String,
        /// Name of the environment, or of the tenant's own namespace.
        environment: String,
    },
    /// Several placements match the name.
    #[error(
        "could not select one {what}: {} have the name `{name}`, with the uids {}\nhint: pass the uid of the tenant's namespace or of the environment's resource in place of the name; list them with `switchboard gitops fleet list --placements -o wide`",
        .uids.len(),
        first_few(.uids, .uids.len())
    )]
    Ambiguous {
        /// Tenant or environment.
        what: &'static str,
        /// Ambiguous name.
        name: String,
        /// Uids of the matches.
        uids: Vec<String>,
    },
    /// The target receives no new placements.
    #[error("could not move the placement to the Argo CD instance in `{namespace}`: it {why}\nhint: {hint}")]
    TargetRefused {
        /// Namespace of the instance.
        namespace: String,
        /// Reason, to follow the target.
        why: String,
        /// Hint for the user.
        hint: &'static str,
    },
    /// The placement cannot be moved.
    #[error(transparent)]
    Cannot(#[from] MoveError),
    /// There is no move to cancel.
    #[error(
        "could not cancel the move: the placement is not moving\nhint: list the moves with `switchboard gitops fleet list --placements`"
    )]
    NotMoving,
    /// The move is past the step where it could be cancelled.
    #[error(
        "could not cancel the move: the placement is on the other Argo CD instance already\nhint: move it back with `switchboard gitops fleet move`"
    )]
    TooLate,
    /// The row of the move was deleted with its tenant or environment.
    #[error("could not find the move: its tenant or its environment was deleted")]
    NoMove,
}

impl Fleet {
    /// Returns the instances of a database on this client's cluster. With `isolated`, tenants have projects of their
    /// own.
    pub fn new(store: Store, client: kube::Client, isolated: bool) -> Fleet {
        let clock = Arc::new(|| DbTimestamp::from_unix_us(Timestamp::now().as_microsecond()));
        Fleet { store, engine: EngineClient::new(client), isolated, clock, stall_ms: STALL_MS }
    }

    /// Replaces the clock.
    #[must_use]
    pub fn with_clock(self, clock: FleetClock) -> Fleet {
        Fleet { clock, ..self }
    }

    /// Replaces the timeout for a cluster that rejects what a move needs.
    #[must_use]
    pub fn with_stall_timeout(self, stall_ms: i64) -> Fleet {
        Fleet { stall_ms, ..self }
    }

    /// Returns the identity of the engine cluster.
    pub(crate) async fn cluster(&self) -> Result<Uid, FleetError> {
        let found = self.engine.get("v1", "Namespace", "", SYSTEM_NAMESPACE).await?;
        let uid = found.as_ref().and_then(|found| found["metadata"]["uid"].as_str());
        Ok(Uid::from(uid.unwrap_or(SYSTEM_NAMESPACE)))
    }

    pub(crate) fn now(&self) -> DbTimestamp {
        (self.clock)()
    }
}
