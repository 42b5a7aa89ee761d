//! Agent: writes rows as objects of Argo CD, and the status of Argo CD back to rows.

mod application_cache;
mod applications;
mod argocd_objects;
mod desired_objects;
mod finished_moves;
mod operations;
mod orphans;
mod row_events;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_kernel::operator::Operator;
use switchboard_ledger::ids::{EngineClusterId, EngineInstanceId, Uid};
use switchboard_ledger::rows::EngineInstance;
use switchboard_ledger::{LedgerError, LedgerView};

use crate::open_operations::OpenOperations;
use crate::rows;
use crate::store::Store;
use application_cache::ApplicationCache;
use operations::ObjectNames;
use row_events::OpenOperation;

/// Operator of Operations.
pub const OPERATIONS_NAME: &str = "gitops-operations";
/// Operator of Applications.
pub const APPLICATIONS_NAME: &str = "gitops-applications";
/// Operator of Argo CD's Secrets.
pub const SECRETS_NAME: &str = "gitops-secrets";
/// Operator of Argo CD's projects.
pub const PROJECTS_NAME: &str = "gitops-projects";

/// Maximum number of Operations whose object names are cached.
const MAX_CACHED_NAMES: usize = 10_000;

/// Time before an Application without a row is released. After a restore, rows are recreated from the tenants'
/// resources, and the row of the Application may be among them.
pub const ORPHAN_GRACE: Duration = Duration::from_secs(10 * 60);

/// Agent role. It serves every Argo CD instance of its own cluster that the database knows. Other clusters have agents
/// of their own.
#[derive(Clone)]
pub struct Agent(Arc<AgentShared>);

struct AgentShared {
    store: Store,
    isolated: bool,
    orphan_grace: Duration,
    /// Identity of the agent's cluster.
    cluster: Uid,
    /// Rows of clusters that are known to be the agent's own. This never changes.
    local_clusters: Mutex<BTreeSet<EngineClusterId>>,
    /// Objects of open Operations, as they were last read.
    names: Mutex<BTreeMap<String, ObjectNames>>,
    application_cache: Mutex<ApplicationCache>,
    /// Open Operations, according to the last events.
    open: Mutex<OpenOperations<OpenOperation>>,
}

impl Agent {
    /// Returns the agent of a database for the cluster with this identity ([`crate::setup::cluster_uid`]). With
    /// `isolated`, tenants have projects of their own; the backend needs the same setting.
    pub fn new(store: Store, isolated: bool, cluster: Uid) -> Agent {
        Agent::with_orphan_grace(store, isolated, cluster, ORPHAN_GRACE)
    }

    /// Returns an agent with another grace period for Applications without a row.
    pub fn with_orphan_grace(store: Store, isolated: bool, cluster: Uid, orphan_grace: Duration) -> Agent {
        let (local_clusters, names, application_cache, open) =
            (Mutex::default(), Mutex::default(), Mutex::default(), Mutex::default());
        Agent(Arc::new(AgentShared {
            store,
            isolated,
            orphan_grace,
            cluster,
            local_clusters,
            names,
            application_cache,
            open,
        }))
    }

    /// Returns the operators of the role.
    pub fn operators(&self) -> Vec<Arc<dyn Operator>> {
        vec![
            Arc::new(operations::Operations(self.clone())),
            Arc::new(applications::Applications(self.clone())),
            Arc::new(argocd_objects::ArgoCdObjects::secrets(self.clone())),
            Arc::new(argocd_objects::ArgoCdObjects::projects(self.clone())),
        ]
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    /// Whether an Argo CD instance is on the agent's cluster.
    async fn is_local(&self, view: &mut LedgerView, instance: &EngineInstance) -> Result<bool, LedgerError> {
        let local_clusters = || self.0.local_clusters.lock().unwrap_or_else(PoisonError::into_inner);
        if local_clusters().contains(&instance.cluster) {
            return Ok(true);
        }
        let is_local = rows::is_on_cluster(view, instance, &self.0.cluster).await?;
        if is_local {
            local_clusters().insert(instance.cluster.clone());
        }
        Ok(is_local)
    }

    /// Returns the Argo CD instance of a row, if it is on the agent's cluster.
    async fn instance(
        &self,
        view: &mut LedgerView,
        id: &EngineInstanceId,
    ) -> Result<Option<EngineInstance>, LedgerError> {
        let Some(instance) = rows::instance(view, id).await? else { return Ok(None) };
        Ok(self.is_local(view, &instance).await?.then_some(instance))
    }

    fn is_isolated(&self) -> bool {
        self.0.isolated
    }

    fn open_operations(&self) -> MutexGuard<'_, OpenOperations<OpenOperation>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn orphan_grace(&self) -> Duration {
        self.0.orphan_grace
    }

    /// Returns the cache of Applications.
    fn application_cache(&self) -> MutexGuard<'_, ApplicationCache> {
        self.0.application_cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cached_names(&self, operation: &str) -> Option<ObjectNames> {
        self.0.names.lock().unwrap_or_else(PoisonError::into_inner).get(operation).cloned()
    }

    fn cache_names(&self, operation: &str, names: Option<ObjectNames>) {
        let mut all = self.0.names.lock().unwrap_or_else(PoisonError::into_inner);
        match names {
            Some(names) if all.len() < MAX_CACHED_NAMES => drop(all.insert(operation.to_string(), names)),
            _ => drop(all.remove(operation)),
        }
    }
}
