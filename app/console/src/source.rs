//! Data sources of the console: the kernel, its journal, its cache, and the clusters.

mod kinds;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Request;
use serde_json::Value;
use switchboard_integrations::operator::DesiredStore;
use switchboard_kernel::cache::Snapshot;
use switchboard_kernel::host::{Handle, HostStopped};
use switchboard_kernel::resource::{ListQuery, ObjectKey, Resource, Selection, TableKey};
use switchboard_kernel::state::KernelState;
use switchboard_kernel::topology::ClusterName;
use switchboard_kernel::view::Reader as _;
use switchboard_object::selector::LabelSelector;
use tokio::sync::Mutex;

use crate::flags::CommandFlags;
use crate::fleet::FleetProvider;
use crate::problem::ConsoleProblem;
use crate::recent::{DecisionSummary, RecentDecisions};
use crate::redact::PageRedactor;
use crate::state_cache::StateCache;

/// Timeout for the response of a cluster.
const PATIENCE: Duration = Duration::from_secs(8);
/// Maximum age of the redactor, which holds the values of cached Secrets.
const REDACTOR_MAX_AGE: Duration = Duration::from_secs(2);
/// Maximum number of Secrets in the redactor.
const MAX_SECRETS: usize = 10_000;
/// Maximum number of objects read for a summary.
const MAX_OBJECTS: usize = 20_000;
/// Page size of list requests.
const PAGE: usize = 500;

const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

/// Data sources of the console.
pub struct ConsoleSource {
    pub(crate) handle: Handle,
    /// Cluster that reviews tokens.
    pub(crate) home: ClusterName,
    engines: ClusterName,
    desired_store: Option<Arc<DesiredStore>>,
    fleet: Option<Arc<dyn FleetProvider>>,
    flags: CommandFlags,
    pulse: StateCache,
    recent: RecentDecisions,
    kinds: kinds::KindCache,
    redactor: Mutex<Option<(Instant, Arc<PageRedactor>)>>,
}

impl ConsoleSource {
    /// Creates the sources for a kernel and the cluster of its users.
    pub fn new(handle: Handle, home: ClusterName) -> Self {
        Self {
            pulse: StateCache::new(handle.clone()),
            recent: RecentDecisions::new(handle.clone()),
            handle,
            engines: home.clone(),
            home,
            desired_store: None,
            fleet: None,
            flags: CommandFlags::default(),
            kinds: kinds::KindCache::default(),
            redactor: Mutex::default(),
        }
    }

    /// Adds the desired objects of the integrations manager.
    #[must_use]
    pub fn with_integrations(self, desired_store: Option<Arc<DesiredStore>>) -> Self {
        Self { desired_store, ..self }
    }

    /// Sets a separate cluster for the Argo CD instances.
    #[must_use]
    pub fn with_engines(self, engines: ClusterName) -> Self {
        Self { engines, ..self }
    }

    /// Returns the cluster of the Argo CD instances.
    pub(crate) fn engines(&self) -> &ClusterName {
        &self.engines
    }

    /// Adds the fleet of the hosted GitOps Service.
    #[must_use]
    pub fn with_fleet(self, fleet: Option<Arc<dyn FleetProvider>>) -> Self {
        Self { fleet, ..self }
    }

    /// Sets the flags of shown commands.
    #[must_use]
    pub fn with_flags(self, flags: CommandFlags) -> Self {
        Self { flags, ..self }
    }

    /// Returns the flags of shown commands.
    pub(crate) fn flags(&self) -> &CommandFlags {
        &self.flags
    }

    /// Returns the fleet; `None` without a hosted GitOps Service.
    pub(crate) fn fleet(&self) -> Option<&dyn FleetProvider> {
        self.fleet.as_deref()
    }

    /// Returns the desired objects of the integrations manager; `None` if it is not hosted.
    pub(crate) fn desired_store(&self) -> Option<&DesiredStore> {
        self.desired_store.as_deref()
    }

    pub(crate) async fn state(&self) -> Result<Arc<KernelState>, HostStopped> {
        self.pulse.state().await
    }

    /// Clears the cached state after an action.
    pub(crate) async fn invalidate_state(&self) {
        self.pulse.clear().await;
    }

    pub(crate) async fn summaries(&self) -> Result<Arc<VecDeque<DecisionSummary>>, HostStopped> {
        self.recent.summaries().await
    }

    pub(crate) async fn snapshot(&self) -> Result<Arc<Snapshot>, HostStopped> {
        self.handle.snapshot().await
    }

    pub(crate) async fn clusters(&self) -> Result<BTreeMap<ClusterName, kube::Client>, HostStopped> {
        self.handle.clusters().await
    }

    pub(crate) async fn client(&self, cluster: &str) -> Result<kube::Client, ConsoleProblem> {
        let clusters = self.clusters().await?;
        let known = || clusters.keys().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let found = clusters.get(&ClusterName::new(cluster)).cloned();
        found.ok_or_else(|| ConsoleProblem::NotFound(format!("no cluster {cluster}; clusters: {}", known())))
    }

    /// Returns a redactor with the values of all cached Secrets.
    pub(crate) async fn redactor(&self) -> Result<Arc<PageRedactor>, HostStopped> {
        let mut last = self.redactor.lock().await;
        if let Some((at, redactor)) = &*last
            && at.elapsed() < REDACTOR_MAX_AGE
        {
            return Ok(redactor.clone());
        }
        let picture = self.snapshot().await?;
        let mut secrets: Vec<Value> = Vec::new();
        for table in picture.tables().filter(|table| *table.resource == SECRETS) {
            secrets.extend(cached(&picture, table).unwrap_or_default().into_iter().take(MAX_SECRETS));
        }
        let redactor = Arc::new(PageRedactor::from_secrets(&secrets));
        *last = Some((Instant::now(), redactor.clone()));
        Ok(redactor)
    }

    /// Returns the kinds that a cluster serves.
    pub(crate) async fn kinds(&self, cluster: &str) -> Result<Arc<Vec<Resource>>, ConsoleProblem> {
        self.kinds.of(cluster, &self.client(cluster).await?).await
    }

    /// Finds a kind by its resource name: `configmaps`, `deployments.apps`.
    pub(crate) async fn kind(&self, cluster: &str, name: &str) -> Result<Resource, ConsoleProblem> {
        // Watched kinds are known without a request.
        let state = self.state().await?;
        let watched = state.tables.iter().map(|table| &table.table);
        let mut watched = watched.filter(|table| *table.cluster.0 == *cluster && table.resource.to_string() == name);
        if let Some(table) = watched.next() {
            return Ok((*table.resource).clone());
        }
        let kinds = self.kinds(cluster).await?;
        let found = kinds.iter().find(|kind| kind.to_string() == name).cloned();
        found.ok_or_else(|| ConsoleProblem::NotFound(format!("cluster {cluster} does not serve {name}")))
    }

    /// Reads a live object; `None` if it does not exist.
    pub(crate) async fn get(&self, key: &ObjectKey) -> Result<Option<Value>, ConsoleProblem> {
        let client = self.client(&key.table.cluster.0).await?;
        match ask(&client, &key.path(), "application/json").await {
            Ok(object) => Ok(Some(object)),
            Err(QueryError::Absent) => Ok(None),
            Err(QueryError::Failed(why)) => Err(ConsoleProblem::Cluster(format!("could not read {key}: {why}"))),
        }
    }

    /// Reads a path of a cluster.
    pub(crate) async fn read(&self, cluster: &str, path: &str) -> Result<Value, ConsoleProblem> {
        match ask(&self.client(cluster).await?, path, "application/json").await {
            Ok(answer) => Ok(answer),
            Err(QueryError::Absent) => {
                Err(ConsoleProblem::NotFound(format!("cluster {cluster} does not serve {path}")))
            }
            Err(QueryError::Failed(why)) => Err(ConsoleProblem::Cluster(why)),
        }
    }

    /// Reads a page of objects as the table that kubectl prints.
    pub(crate) async fn table(
        &self,
        cluster: &str,
        kind: &Resource,
        query: &str,
        namespace: &str,
    ) -> Result<Value, ConsoleProblem> {
        let client = self.client(cluster).await?;
        let path = format!("{}?{query}", kind.path(namespace));
        match ask(&client, &path, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json").await {
            Ok(table) => Ok(table),
            Err(QueryError::Absent) => {
                Err(ConsoleProblem::NotFound(format!("cluster {cluster} does not serve {kind}")))
            }
            Err(QueryError::Failed(why)) => Err(ConsoleProblem::Cluster(format!("could not list {kind}: {why}"))),
        }
    }

    /// Returns all objects of a kind, from the cache if the kind is watched; `None` if the cluster does not serve it.
    pub(crate) async fn all(
        &self,
        cluster: &ClusterName,
        kind: &Resource,
    ) -> Result<Option<Vec<Value>>, ConsoleProblem> {
        let table = TableKey { cluster: cluster.clone(), resource: Arc::new(kind.clone()) };
        let picture = self.snapshot().await?;
        if picture.count(&table) > 0
            && let Some(objects) = cached(&picture, &table)
        {
            return Ok(Some(objects));
        }
        let client = self.client(&cluster.0).await?;
        let (mut items, mut from) = (Vec::new(), String::new());
        loop {
            let path = format!("{}?limit={PAGE}{from}", kind.path(""));
            let mut page = match ask(&client, &path, "application/json").await {
                Ok(page) => page,
                Err(QueryError::Absent) => return Ok(None),
                Err(QueryError::Failed(why)) => {
                    return Err(ConsoleProblem::Cluster(format!("could not list {kind}: {why}")));
                }
            };
            if let Value::Array(more) = page["items"].take() {
                items.extend(more);
            }
            match page.pointer("/metadata/continue").and_then(Value::as_str) {
                Some(token) if !token.is_empty() && items.len() < MAX_OBJECTS => from = format!("&continue={token}"),
                _ => return Ok(Some(items)),
            }
        }
    }
}

/// Returns all cached objects of a kind; `None` if the kind cannot be read.
pub(crate) fn cached(picture: &Snapshot, table: &TableKey) -> Option<Vec<Value>> {
    let query = ListQuery { table: table.clone(), selection: Selection::all() };
    let everything = LabelSelector::parse("").ok()?;
    let objects = picture.list(&query, &everything)?;
    let kind = &table.resource.kind;
    Some(
        objects
            .iter()
            .map(|object| {
                let mut value = object.full_value();
                // Items of lists have no kind.
                if let Some(fields) = value.as_object_mut() {
                    fields.entry("kind").or_insert_with(|| kind.as_ref().into());
                }
                value
            })
            .collect(),
    )
}

/// Error of a request to a cluster.
enum QueryError {
    Absent,
    Failed(String),
}

async fn ask(client: &kube::Client, path: &str, accept: &str) -> Result<Value, QueryError> {
    let request = Request::get(path).header("Accept", accept).body(Vec::new());
    let request = request.map_err(|error| QueryError::Failed(error.to_string()))?;
    match tokio::time::timeout(PATIENCE, client.request::<Value>(request)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Err(QueryError::Absent),
        Ok(Err(kube::Error::Api(status))) => Err(QueryError::Failed(status.to_string())),
        Ok(Err(error)) => Err(QueryError::Failed(format!("could not reach the API server: {error}"))),
        Err(_) => Err(QueryError::Failed(format!("no answer within {PATIENCE:?}"))),
    }
}
