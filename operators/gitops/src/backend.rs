//! Backend: writes tenants' resources as rows, and rows back as the status of the resources.

mod row_events;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{AccessRule, Declaration, Operator, OperatorName, Unit, Units};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::topology::ClusterType;
use switchboard_sql::DbTimestamp;

use crate::credential::operator::Credentials;
use crate::deployment::failed_deployments::FailedDeployments;
use crate::deployment::operator::Deployments;
use crate::deployment::unplaced::UnplacedDeployments;
use crate::environment::operator::Environments;
use crate::external_checks::CheckQueue;
use crate::ids::{EngineInstanceId, OperationId, Uid};
use crate::network::{self, ExternalChecker};
use crate::operation::open_operations::OpenOperations;
use crate::operation::upkeep::Upkeep;
use crate::related_rows::TenantResource;
use crate::request::UnitRequest;
use crate::resources::{CREDENTIALS, DEPLOYMENTS, ENVIRONMENTS, NAMESPACES, SECRETS, SYNC_RUNS};
use crate::store::Store;
use crate::sync_run::operator::SyncRuns;
use crate::tenant::TenantNamespace;
use crate::tenant::operator::Tenants;
use crate::tenant::settled_namespaces::SettledNamespaces;
use crate::{credential, environment, recheck};

/// Operator of GitOpsDeployments.
pub const DEPLOYMENTS_NAME: &str = "gitops-deployments";
/// Operator of GitOpsDeploymentSyncRuns.
pub const SYNC_RUNS_NAME: &str = "gitops-sync-runs";
/// Operator of GitOpsDeploymentManagedEnvironments.
pub const ENVIRONMENTS_NAME: &str = "gitops-environments";
/// Operator of GitOpsDeploymentRepositoryCredentials.
pub const CREDENTIALS_NAME: &str = "gitops-credentials";

/// Operator of all Operations.
pub const UPKEEP_NAME: &str = "gitops-upkeep";
/// Operator of namespaces.
pub const TENANTS_NAME: &str = "gitops-tenants";

/// Age at which an open Operation without an Operation resource gets one. Until then its creator may still create it.
pub const NOTIFY_AFTER: Duration = Duration::from_secs(60);

/// Settings of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendSettings {
    /// Whether each tenant has a project of its own. Otherwise tenants share the permissions of Argo CD, as in
    /// managed-gitops.
    pub isolated: bool,
    /// Whether other backends keep their tenants in the same database.
    pub shared_database: bool,
    /// Identity of the tenants' cluster. With a shared database, it identifies the backend's own tenants after their
    /// deletion.
    pub cluster: Option<Uid>,
    /// Whether Argo CD runs on the tenants' cluster. Only then can tenants deploy to their own namespaces.
    pub in_cluster: bool,
    /// Identity of the engine cluster ([`crate::setup::cluster_uid`]). Without it, every instance is taken to be on the
    /// engine cluster.
    pub engine: Option<Uid>,
    /// Age at which an open Operation without an Operation resource gets one.
    pub notify_after: Duration,
    /// Minimum interval between checks of working credentials.
    pub recheck: Duration,
}

impl Default for BackendSettings {
    fn default() -> Self {
        let recheck = Duration::from_millis(recheck::MIN_RECHECK_MS.unsigned_abs());
        BackendSettings {
            isolated: true,
            shared_database: false,
            cluster: None,
            in_cluster: true,
            engine: None,
            notify_after: NOTIFY_AFTER,
            recheck,
        }
    }
}

/// Backend role.
#[derive(Clone)]
pub struct Backend(pub(crate) Arc<BackendShared>);

pub(crate) struct BackendShared {
    store: Store,
    pub(crate) failing: FailedDeployments,
    pub(crate) unplaced: UnplacedDeployments,
    settings: BackendSettings,
    pub(crate) environments: Arc<CheckQueue<environment::ClusterCheck, environment::ClusterCheckResult>>,
    /// Checks of service accounts to remove.
    pub(crate) accounts: Arc<CheckQueue<environment::ClusterCheck, environment::ClusterCheckResult>>,
    pub(crate) credentials: Arc<CheckQueue<credential::CredentialCheck, credential::CredentialCheckResult>>,
    /// Open Operations with their instances, according to the last events.
    open: Mutex<OpenOperations<EngineInstanceId>>,
    settled: SettledNamespaces,
    /// Units of deployments that wait for an Operation and can no longer be found by rows.
    removals: Mutex<BTreeMap<OperationId, Unit>>,
    /// Time of the next cleanup of finished Operations; `None` for immediately.
    sweep: Mutex<Option<DbTimestamp>>,
}

impl Backend {
    /// Returns the backend of a database.
    pub fn new(store: Store, settings: BackendSettings) -> Backend {
        Backend(Arc::new(BackendShared {
            store,
            failing: FailedDeployments::default(),
            unplaced: UnplacedDeployments::default(),
            settings,
            environments: Arc::default(),
            accounts: Arc::default(),
            credentials: Arc::default(),
            open: Mutex::default(),
            settled: SettledNamespaces::default(),
            removals: Mutex::default(),
            sweep: Mutex::default(),
        }))
    }

    /// Returns the operators of the role. Tenants are on the configuration cluster, Argo CD is on the management
    /// cluster.
    pub fn operators(&self) -> Vec<Arc<dyn Operator>> {
        vec![
            Arc::new(Deployments(self.clone())),
            Arc::new(SyncRuns(self.clone())),
            Arc::new(Environments(self.clone())),
            Arc::new(Credentials(self.clone())),
            Arc::new(Tenants(self.clone())),
            Arc::new(Upkeep(self.clone())),
        ]
    }

    /// Returns the names of the operators.
    pub fn names() -> [OperatorName; 6] {
        [DEPLOYMENTS_NAME, SYNC_RUNS_NAME, ENVIRONMENTS_NAME, CREDENTIALS_NAME, TENANTS_NAME, UPKEEP_NAME]
            .map(OperatorName::new)
    }

    /// Runs the checks of clusters and git servers until the kernel stops.
    pub async fn run_external_checks<N: ExternalChecker>(&self, network: Arc<N>, handle: Handle) {
        let (environments, credentials) = (self.0.environments.clone(), self.0.credentials.clone());
        let accounts = self.0.accounts.clone();
        let of_clusters = || network::ClusterChecks(network.clone());
        let of_repositories = network::RepositoryChecks(network.clone());
        let (of_environments, of_credentials) = (network::UnitLocks::default(), network::UnitLocks::default());
        tokio::join!(
            network::serve(environments, ENVIRONMENTS_NAME, handle.clone(), of_clusters(), &of_environments),
            network::serve(accounts, ENVIRONMENTS_NAME, handle.clone(), of_clusters(), &of_environments),
            network::serve(credentials, CREDENTIALS_NAME, handle, of_repositories, &of_credentials),
        );
    }

    pub(crate) fn open_operations(&self) -> MutexGuard<'_, OpenOperations<EngineInstanceId>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn removals(&self) -> MutexGuard<'_, BTreeMap<OperationId, Unit>> {
        self.0.removals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn settled(&self) -> &SettledNamespaces {
        &self.0.settled
    }

    /// Returns the time of the next cleanup, to read and to set.
    pub(crate) fn sweep(&self) -> MutexGuard<'_, Option<DbTimestamp>> {
        self.0.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of deployments whose status has an error.
    pub fn failed_deployments(&self) -> u64 {
        self.0.failing.count()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn settings(&self) -> &BackendSettings {
        &self.0.settings
    }

    /// Returns the interval of checks of a resource's credentials.
    pub(crate) fn recheck_ms(&self, resource: &Uid) -> i64 {
        recheck::recheck_interval_ms(i64::try_from(self.settings().recheck.as_millis()).unwrap_or(i64::MAX), resource)
    }

    pub(crate) fn resource_ref<'a>(
        &'a self,
        request: &'a UnitRequest,
        tenant: Option<&'a TenantNamespace>,
    ) -> TenantResource<'a> {
        let BackendSettings { shared_database, cluster, .. } = self.settings();
        TenantResource {
            namespace: &request.namespace,
            name: &request.name,
            tenant,
            shared_database: *shared_database,
            cluster: cluster.as_ref(),
        }
    }
}

/// Returns the declaration of an operator that reads tenants' kinds and writes the status of its own kind.
pub(crate) fn declaration(units: &Resource, more: &[&Resource]) -> Declaration {
    let mut inputs: BTreeSet<AccessRule> = more.iter().copied().map(AccessRule::every).collect();
    inputs.extend([AccessRule::every(&NAMESPACES), AccessRule::every(units)]);
    Declaration {
        inputs,
        outputs: BTreeSet::from([AccessRule::every(units)]),
        service_account: None,
        units: Units::Each {
            cluster_type: ClusterType::Configuration,
            resource: units.clone(),
            selection: Selection::all(),
        },
    }
}

/// Kinds that each operator reads beside its own.
pub(crate) const READS: [(&Resource, &[&Resource]); 4] = [
    (&DEPLOYMENTS, &[&ENVIRONMENTS]),
    (&SYNC_RUNS, &[&DEPLOYMENTS]),
    (&ENVIRONMENTS, &[&SECRETS]),
    (&CREDENTIALS, &[&SECRETS]),
];

pub(crate) fn declared(units: &Resource) -> Declaration {
    let more = READS.iter().find(|(of, _)| *of == units).map_or(&[][..], |(_, more)| *more);
    declaration(units, more)
}
