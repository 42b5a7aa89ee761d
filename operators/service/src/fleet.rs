//! The fleet at work: Argo CD instances are added, listed, cordoned and removed, and units move between them.
//!
//! ```text
//!  rows + objects ─▶ switchboard_gitops::fleet decides ─▶ commit, or writes to the engine cluster ─▶ rows + objects …
//! ```
//!
//! Nothing is remembered here. Whoever calls [`Fleet::advance`] carries a move on from where it stands; two who do so at once get in
//! nobody's way.

mod carry;
mod gather;
mod mark;
mod members;
mod names;
mod objects;
mod refill;
mod removal;
mod tracking;
mod units;

use std::sync::Arc;

use jiff::Timestamp;
use switchboard_gitops::fleet::moving::{self, CannotMove};
use switchboard_ledger::ids::Uid;
use switchboard_ledger::{LedgerError, Moment};

pub use carry::Advance;
pub use mark::Marked;
pub(crate) use members::entries;
pub use members::{Entry, Wanted};
pub use names::Names;
pub use objects::{Engine, EngineError};
pub use units::Placed;

use self::names::{few, named};
use crate::error::ServiceError;
use crate::setup::SYSTEM;
use crate::store::Store;

/// The instances of one engine cluster.
#[derive(Clone)]
pub struct Fleet {
    store: Store,
    engine: Engine,
    isolated: bool,
    clock: Clock,
    stall_ms: i64,
}

/// What time it is. Tests have hours that are shorter.
pub type Clock = Arc<dyn Fn() -> Moment + Send + Sync>;

/// Why something about the fleet is not done.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The database failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The database failed, or others were faster again and again.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// The cluster of the instances failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// There is none in that namespace of the cluster.
    #[error("could not find an Argo CD instance in namespace `{0}`\nhint: `switchboard gitops fleet list` names them")]
    NoInstance(String),
    /// The namespace has no name of an instance.
    #[error(
        "could not find namespace `{0}`\nhint: create it, and Argo CD in it, or let `fleet add --create-namespace` create it"
    )]
    NoNamespace(String),
    /// The namespace is a tenant's.
    #[error(
        "could not take namespace `{0}` for an Argo CD instance: it is a tenant's, who would read there what others deploy with\nhint: give a namespace of its own, or --force if nobody else's units come to it"
    )]
    IsTenant(String),
    /// The namespace says that it is another database's.
    #[error(
        "could not take namespace `{0}` for an Argo CD instance: it is one of another database, which deploys there\nhint: give another namespace, or --force if that database is gone"
    )]
    OfAnother(String),
    /// It still has units.
    #[error(
        "could not remove the Argo CD instance in `{namespace}`: it has {units} units{}\nhint: move them with `switchboard gitops fleet move`, and cordon it so that it gets no new ones; `switchboard gitops fleet list --units` shows all",
        named(.first, *.units)
    )]
    InUse {
        /// Which.
        namespace: String,
        /// How many.
        units: u64,
        /// The first of them, as they are given to a move; none of what the original placed.
        first: Vec<String>,
    },
    /// Units are on their way to it, or away from it.
    #[error(
        "could not remove the Argo CD instance in `{namespace}`: {units} units are on their way to it or away from it\nhint: wait until they are there; `switchboard gitops fleet move TENANT --back` calls one back"
    )]
    OnTheirWay {
        /// Which.
        namespace: String,
        /// How many.
        units: usize,
    },
    /// It still removes what was deployed.
    #[error(
        "could not remove the Argo CD instance in `{namespace}`: {removals} removals, of Applications or of projects, are under way there\nhint: wait until they are done; if that Argo CD is gone for good, --force gives them up, and what was deployed stays"
    )]
    Removing {
        /// Which.
        namespace: String,
        /// How many.
        removals: usize,
    },
    /// Nobody else could take what it has.
    #[error(
        "could not remove the Argo CD instance in `{namespace}`: it has {credentials} repository credentials, and there is no other to take them\nhint: add another one with `switchboard gitops fleet add`"
    )]
    LastOne {
        /// Which.
        namespace: String,
        /// How many.
        credentials: usize,
    },
    /// The tenant has nothing there.
    #[error(
        "could not find what tenant `{tenant}` deploys to `{environment}`\nhint: it is placed when its first deployment is created"
    )]
    NoUnit {
        /// The tenant's namespace.
        tenant: String,
        /// The environment's name, or the tenant's own namespace.
        environment: String,
    },
    /// Several have the name that was given.
    #[error(
        "could not tell which {what} is meant: {} are called `{name}`, by uid {}\nhint: give the uid in place of the name: that of the tenant's namespace, of the environment's resource; `switchboard gitops fleet list --units -o wide` shows where each is",
        .uids.len(),
        few(.uids, .uids.len())
    )]
    Several {
        /// Tenant or environment.
        what: &'static str,
        /// The name.
        name: String,
        /// Whose it is.
        uids: Vec<String>,
    },
    /// It is given nothing new.
    #[error("could not move the unit to the Argo CD instance in `{namespace}`: it {why}\nhint: {hint}")]
    NotTaken {
        /// Which.
        namespace: String,
        /// What is in the way.
        why: String,
        /// What helps.
        hint: &'static str,
    },
    /// The unit cannot move.
    #[error(transparent)]
    Cannot(#[from] CannotMove),
    /// It is called back, and stands still.
    #[error("could not call the unit back: it does not move\nhint: `switchboard gitops fleet list` shows how many do")]
    NotMoving,
    /// It is called back, and is there already.
    #[error(
        "could not call the unit back: it is on the other Argo CD instance already\nhint: `switchboard gitops fleet move` moves it to where it was"
    )]
    TooLate,
    /// The row of a move is gone, with its tenant or its environment.
    #[error("could not find the move: its tenant or its environment is gone")]
    NoMove,
}

impl Fleet {
    /// The instances that a database knows of the cluster this client reaches. With `isolated`, tenants have projects of their own.
    pub fn new(store: Store, client: kube::Client, isolated: bool) -> Fleet {
        let clock = Arc::new(|| Moment::from_unix_us(Timestamp::now().as_microsecond()));
        Fleet { store, engine: Engine::new(client), isolated, clock, stall_ms: moving::STALL_MS }
    }

    /// With a clock of its own.
    #[must_use]
    pub fn timed(self, clock: Clock) -> Fleet {
        Fleet { clock, ..self }
    }

    /// With another patience for a cluster that refuses what a move needs.
    #[must_use]
    pub fn stalling(self, stall_ms: i64) -> Fleet {
        Fleet { stall_ms, ..self }
    }

    /// What the cluster of its instances is known by.
    async fn cluster(&self) -> Result<Uid, FleetError> {
        let found = self.engine.get("v1", "Namespace", "", SYSTEM).await?;
        let uid = found.as_ref().and_then(|found| found["metadata"]["uid"].as_str());
        Ok(Uid::from(uid.unwrap_or(SYSTEM)))
    }

    fn now(&self) -> Moment {
        (self.clock)()
    }
}
