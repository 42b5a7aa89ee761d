//! The backend: from tenants' resources to rows, and from rows to what tenants are told.

mod credentials;
mod deployments;
mod environments;
mod failing;
mod follow;
mod news;
mod roomless;
mod sync_runs;
mod tenants;
mod upkeep;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_gitops::flow::tenant::Namespace;
use switchboard_gitops::flow::{credential, environment, recheck};
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{Declaration, Declared, Operator, OperatorName, Reaching, Unit, Units};
use switchboard_kernel::place::Place;
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_ledger::Moment;
use switchboard_ledger::ids::{EngineInstanceId, OperationId, Uid};

use self::failing::Failing;
use self::roomless::Roomless;
use crate::asked::Asked;
use crate::desk::Desk;
use crate::network::{self, Network};
use crate::open::Open;
use crate::resources::{CREDENTIALS, DEPLOYMENTS, ENVIRONMENTS, NAMESPACES, SECRETS, SYNC_RUNS};
use crate::rows::Named;
use crate::store::Store;
use news::Settled;

/// The operator of GitOpsDeployments.
pub const DEPLOYMENTS_NAME: &str = "gitops-deployments";
/// The operator of GitOpsDeploymentSyncRuns.
pub const SYNC_RUNS_NAME: &str = "gitops-sync-runs";
/// The operator of GitOpsDeploymentManagedEnvironments.
pub const ENVIRONMENTS_NAME: &str = "gitops-environments";
/// The operator of GitOpsDeploymentRepositoryCredentials.
pub const CREDENTIALS_NAME: &str = "gitops-credentials";

/// The operator of all Operations.
pub const UPKEEP_NAME: &str = "gitops-upkeep";
/// The operator of namespaces.
pub const TENANTS_NAME: &str = "gitops-tenants";

/// How long an Operation that nobody rings for is left alone: somebody else may be about to.
pub const RING_AFTER: Duration = Duration::from_secs(60);

/// How a backend works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether each tenant has a project of its own. Without, as in the original, tenants share what Argo CD may do.
    pub isolated: bool,
    /// Whether other backends keep their tenants in the same database.
    pub shared: bool,
    /// What the tenants' cluster is known by: with it, one that shares its database knows its own tenants when they are gone.
    pub cluster: Option<Uid>,
    /// Whether Argo CD runs on the tenants' cluster: only then is a tenant's own namespace a place to deploy to.
    pub in_cluster: bool,
    /// What the cluster is known by that is rung on ([`crate::setup::known_as`]); any Argo CD is taken to be on it if nobody says.
    pub engine: Option<Uid>,
    /// How long an Operation that nobody rings for is left alone.
    pub ring_after: Duration,
    /// How soon at the earliest credentials that work are tried again.
    pub recheck: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let recheck = Duration::from_millis(recheck::EVERY_MS.unsigned_abs());
        Settings {
            isolated: true,
            shared: false,
            cluster: None,
            in_cluster: true,
            engine: None,
            ring_after: RING_AFTER,
            recheck,
        }
    }
}

/// The backend role.
#[derive(Clone)]
pub struct Backend(Arc<Inner>);

struct Inner {
    store: Store,
    failing: Failing,
    roomless: Roomless,
    settings: Settings,
    environments: Arc<Desk<environment::Question, environment::Answer>>,
    /// Questions about service accounts that nobody wants any more.
    accounts: Arc<Desk<environment::Question, environment::Answer>>,
    credentials: Arc<Desk<credential::Question, credential::Answer>>,
    /// Operations that are open, as far as the database told, each with its Argo CD.
    open: Mutex<Open<EngineInstanceId>>,
    settled: Settled,
    /// Deployments that go when an Operation is over, and have no rows to be found by.
    removals: Mutex<BTreeMap<OperationId, Unit>>,
    /// From when on Operations that are over are looked through; at once if nobody has.
    sweep: Mutex<Option<Moment>>,
}

impl Backend {
    /// Over a database.
    pub fn new(store: Store, settings: Settings) -> Backend {
        Backend(Arc::new(Inner {
            store,
            failing: Failing::default(),
            roomless: Roomless::default(),
            settings,
            environments: Arc::default(),
            accounts: Arc::default(),
            credentials: Arc::default(),
            open: Mutex::default(),
            settled: Settled::default(),
            removals: Mutex::default(),
            sweep: Mutex::default(),
        }))
    }

    /// Its operators: tenants are on the configuration cluster, Argo CD is on the management cluster.
    pub fn operators(&self) -> Vec<Arc<dyn Operator>> {
        vec![
            Arc::new(Reaching(deployments::Deployments(self.clone()))),
            Arc::new(Reaching(sync_runs::SyncRuns(self.clone()))),
            Arc::new(Reaching(environments::Environments(self.clone()))),
            Arc::new(Reaching(credentials::Credentials(self.clone()))),
            Arc::new(Reaching(tenants::Tenants(self.clone()))),
            Arc::new(Reaching(upkeep::Upkeep(self.clone()))),
        ]
    }

    /// The names of its operators.
    pub fn names() -> [OperatorName; 6] {
        [DEPLOYMENTS_NAME, SYNC_RUNS_NAME, ENVIRONMENTS_NAME, CREDENTIALS_NAME, TENANTS_NAME, UPKEEP_NAME]
            .map(OperatorName::new)
    }

    /// Answers what its units ask of clusters and git servers, until the kernel stops.
    pub async fn answer<N: Network>(&self, network: Arc<N>, handle: Handle) {
        let (environments, credentials) = (self.0.environments.clone(), self.0.credentials.clone());
        let accounts = self.0.accounts.clone();
        let of_clusters = || network::Clusters(network.clone());
        let of_repositories = network::Repositories(network.clone());
        let (of_environments, of_credentials) = (network::Turns::default(), network::Turns::default());
        tokio::join!(
            network::serve(environments, ENVIRONMENTS_NAME, handle.clone(), of_clusters(), &of_environments),
            network::serve(accounts, ENVIRONMENTS_NAME, handle.clone(), of_clusters(), &of_environments),
            network::serve(credentials, CREDENTIALS_NAME, handle, of_repositories, &of_credentials),
        );
    }

    fn open(&self) -> MutexGuard<'_, Open<EngineInstanceId>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn removals(&self) -> MutexGuard<'_, BTreeMap<OperationId, Unit>> {
        self.0.removals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settled(&self) -> &Settled {
        &self.0.settled
    }

    /// When Operations that are over are next looked through, and what it is from now on.
    fn sweep(&self) -> MutexGuard<'_, Option<Moment>> {
        self.0.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many deployments have an error, as their status says.
    pub fn failing(&self) -> u64 {
        self.0.failing.count()
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// How often credentials of a resource are tried.
    fn recheck_ms(&self, resource: &Uid) -> i64 {
        recheck::every_ms(i64::try_from(self.settings().recheck.as_millis()).unwrap_or(i64::MAX), resource)
    }

    fn named<'a>(&'a self, asked: &'a Asked, tenant: Option<&'a Namespace>) -> Named<'a> {
        let Settings { shared, cluster, .. } = self.settings();
        Named { namespace: &asked.namespace, name: &asked.name, tenant, shared: *shared, cluster: cluster.as_ref() }
    }
}

/// Reads tenants' kinds, and writes the status of its own.
fn declaration(units: &Resource, more: &[&Resource]) -> Declaration {
    let mut inputs: BTreeSet<Declared> = more.iter().copied().map(Declared::every).collect();
    inputs.extend([Declared::every(&NAMESPACES), Declared::every(units)]);
    Declaration {
        inputs,
        outputs: BTreeSet::from([Declared::every(units)]),
        service_account: None,
        units: Units::Each { place: Place::Configuration, resource: units.clone(), selection: Selection::all() },
    }
}

/// What each operator reads beside its own kind.
const READS: [(&Resource, &[&Resource]); 4] = [
    (&DEPLOYMENTS, &[&ENVIRONMENTS]),
    (&SYNC_RUNS, &[&DEPLOYMENTS]),
    (&ENVIRONMENTS, &[&SECRETS]),
    (&CREDENTIALS, &[&SECRETS]),
];

fn declared(units: &Resource) -> Declaration {
    let more = READS.iter().find(|(of, _)| *of == units).map_or(&[][..], |(_, more)| *more);
    declaration(units, more)
}
