//! Agent: writes rows as objects of Argo CD, and the status of Argo CD back to rows.

pub(crate) mod row_events;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_kernel::operator::Operator;
use switchboard_sql::{LedgerError, LedgerView};

use crate::argocd::operator::ArgoCdObjects;
use crate::deployment::application_cache::ApplicationCache;
use crate::deployment::application_operator::Applications;
use crate::ids::{EngineClusterId, EngineInstanceId, Uid};
use crate::operation::open_operations::OpenOperations;
use crate::operation::operator::ObjectNames;
use crate::operation::operator::Operations;
use crate::related_rows;
use crate::rows::EngineInstance;
use crate::store::Store;
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
pub struct Agent(pub(crate) Arc<AgentShared>);

pub(crate) struct AgentShared {
    store: Store,
    isolated: bool,
    orphan_grace: Duration,
    /// Identity of the agent's cluster.
    pub(crate) cluster: Uid,
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
            Arc::new(Operations(self.clone())),
            Arc::new(Applications(self.clone())),
            Arc::new(ArgoCdObjects::secrets(self.clone())),
            Arc::new(ArgoCdObjects::projects(self.clone())),
        ]
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    /// Whether an Argo CD instance is on the agent's cluster.
    pub(crate) async fn is_local(&self, view: &mut LedgerView, instance: &EngineInstance) -> Result<bool, LedgerError> {
        let local_clusters = || self.0.local_clusters.lock().unwrap_or_else(PoisonError::into_inner);
        if local_clusters().contains(&instance.cluster) {
            return Ok(true);
        }
        let is_local = related_rows::is_on_cluster(view, instance, &self.0.cluster).await?;
        if is_local {
            local_clusters().insert(instance.cluster.clone());
        }
        Ok(is_local)
    }

    /// Returns the Argo CD instance of a row, if it is on the agent's cluster.
    pub(crate) async fn instance(
        &self,
        view: &mut LedgerView,
        id: &EngineInstanceId,
    ) -> Result<Option<EngineInstance>, LedgerError> {
        let Some(instance) = related_rows::instance(view, id).await? else { return Ok(None) };
        Ok(self.is_local(view, &instance).await?.then_some(instance))
    }

    pub(crate) fn is_isolated(&self) -> bool {
        self.0.isolated
    }

    pub(crate) fn open_operations(&self) -> MutexGuard<'_, OpenOperations<OpenOperation>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn orphan_grace(&self) -> Duration {
        self.0.orphan_grace
    }

    /// Returns the cache of Applications.
    pub(crate) fn application_cache(&self) -> MutexGuard<'_, ApplicationCache> {
        self.0.application_cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn cached_names(&self, operation: &str) -> Option<ObjectNames> {
        self.0.names.lock().unwrap_or_else(PoisonError::into_inner).get(operation).cloned()
    }

    pub(crate) fn cache_names(&self, operation: &str, names: Option<ObjectNames>) {
        let mut all = self.0.names.lock().unwrap_or_else(PoisonError::into_inner);
        match names {
            Some(names) if all.len() < MAX_CACHED_NAMES => drop(all.insert(operation.to_string(), names)),
            _ => drop(all.remove(operation)),
        }
    }
}
