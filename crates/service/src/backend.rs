//! The backend: from tenants' resources to rows, and from rows to what tenants are told.

mod credentials;
mod deployments;
mod environments;
mod failing;
mod follow;
mod sync_runs;
mod tenants;
mod upkeep;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard_gitops::flow::tenant::Namespace;
use switchboard_gitops::flow::{credential, environment};
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{Declaration, Declared, Operator, OperatorName, Reaching, Units};
use switchboard_kernel::place::Place;
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_ledger::ids::Uid;

use self::failing::Failing;
use crate::asked::Asked;
use crate::desk::Desk;
use crate::network::{self, Network};
use crate::resources::{CREDENTIALS, DEPLOYMENTS, ENVIRONMENTS, NAMESPACES, OPERATIONS, SECRETS, SYNC_RUNS};
use crate::rows::Named;
use crate::store::Store;

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
    /// How long an Operation that nobody rings for is left alone.
    pub ring_after: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { isolated: true, shared: false, cluster: None, in_cluster: true, ring_after: RING_AFTER }
    }
}

/// The backend role.
#[derive(Clone)]
pub struct Backend(Arc<Inner>);

struct Inner {
    store: Store,
    failing: Failing,
    settings: Settings,
    environments: Arc<Desk<environment::Question, environment::Answer>>,
    /// Questions about service accounts that nobody wants any more.
    accounts: Arc<Desk<environment::Question, environment::Answer>>,
    credentials: Arc<Desk<credential::Question, credential::Answer>>,
    /// Whether the upkeep of Operations soon looks at open ones again.
    is_kept_up: AtomicBool,
    /// Whether an Operation changed since it last began to look.
    is_news: AtomicBool,
    /// What was seen of a namespace when it was settled, as a hash.
    settled: Mutex<BTreeMap<Box<str>, u64>>,
}

impl Backend {
    /// Over a database.
    pub fn new(store: Store, settings: Settings) -> Backend {
        Backend(Arc::new(Inner {
            store,
            failing: Failing::default(),
            settings,
            environments: Arc::default(),
            accounts: Arc::default(),
            credentials: Arc::default(),
            is_kept_up: AtomicBool::default(),
            is_news: AtomicBool::default(),
            settled: Mutex::default(),
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

    /// The upkeep begins to look: what changes from here on it may not see.
    fn begin_upkeep(&self) {
        self.0.is_news.store(false, Ordering::SeqCst);
    }

    /// The upkeep looks at open Operations again, or there are none. Says whether it must after all: either it is told here, or it
    /// is woken.
    fn end_upkeep(&self, looks_again: bool) -> bool {
        self.0.is_kept_up.store(looks_again, Ordering::SeqCst);
        let missed = !looks_again && self.0.is_news.load(Ordering::SeqCst);
        if missed {
            self.0.is_kept_up.store(true, Ordering::SeqCst);
        }
        missed
    }

    /// An Operation changed. Says whether the upkeep must be woken for it.
    fn wakes_upkeep(&self) -> bool {
        self.0.is_news.store(true, Ordering::SeqCst);
        !self.0.is_kept_up.load(Ordering::SeqCst)
    }

    fn is_settled(&self, namespace: &str, seen: u64) -> bool {
        self.0.settled.lock().unwrap_or_else(PoisonError::into_inner).get(namespace) == Some(&seen)
    }

    /// Remembered while the namespace is there.
    fn set_settled(&self, namespace: &str, seen: u64, is_there: bool) {
        let mut settled = self.0.settled.lock().unwrap_or_else(PoisonError::into_inner);
        match is_there {
            true => drop(settled.insert(namespace.into(), seen)),
            false => drop(settled.remove(namespace)),
        }
    }

    /// Nothing that was seen counts any more.
    fn unsettle(&self) {
        self.0.settled.lock().unwrap_or_else(PoisonError::into_inner).clear();
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

    fn named<'a>(&'a self, asked: &'a Asked, tenant: Option<&'a Namespace>) -> Named<'a> {
        let Settings { shared, cluster, .. } = self.settings();
        Named { namespace: &asked.namespace, name: &asked.name, tenant, shared: *shared, cluster: cluster.as_ref() }
    }
}

/// Reads tenants' kinds, writes the status of its own, and rings.
fn declaration(units: &Resource, more: &[&Resource]) -> Declaration {
    let mut inputs: BTreeSet<Declared> = more.iter().copied().map(Declared::every).collect();
    inputs.extend([Declared::every(&NAMESPACES), Declared::every(units)]);
    let rings = Declared::every(&OPERATIONS).at(Place::Management);
    inputs.insert(rings.clone());
    Declaration {
        inputs,
        outputs: BTreeSet::from([Declared::every(units), rings]),
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
