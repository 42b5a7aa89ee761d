//! Integrations manager under `run` and `up`: follows its source, and manages the workloads on every cluster of the
//! data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use serde_json::{Value, json};
use switchboard_integrations::config::{IntegrationsConfig, IntegrationsSource};
use switchboard_integrations::desired::{DesiredBuilder, DesiredObjects};
use switchboard_integrations::model::{INTEGRATION, IntegrationCluster};
use switchboard_integrations::namespace_history::NamespaceHistory;
use switchboard_integrations::operator::{DesiredStore, IntegrationsOperator, UnitChanges, operator_name};
use switchboard_integrations::source::watcher::PathWatcher;
use switchboard_integrations::source::{Bundle, bundle, directory};
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{Operator, OperatorName};
use switchboard_kernel::topology::{ClusterName, Topology};
use tokio::task::JoinHandle;

use super::cluster_connector::{ClusterConnection, ClusterConnector};
use super::{bundle_source, chart, check_environment, manager_config, variables};
use crate::count::counted;
use crate::failure::{self, CommandError};
use crate::hosted::ClusterClients;
use crate::limits::CurrentConfig;
use crate::stderr::print_stderr;

/// File in the state directory with the namespaces that had objects once.
const MEMORY: &str = "integrations.json";

/// Integrations manager, ready to follow its source.
pub struct IntegrationsManager {
    source: BundleSource,
    interval: Duration,
    builder: DesiredBuilder,
    store: Arc<DesiredStore>,
    connect: ClusterConnector,
    /// Namespaces that had objects once.
    memory: NamespaceHistory,
    memory_file: Option<PathBuf>,
    /// Connections of the clusters with a running operator.
    connections: BTreeMap<Arc<str>, ClusterConnection>,
    /// Last reported error by cluster, so that it is reported once.
    reported: BTreeMap<Arc<str>, String>,
}

/// Source of the data.
#[derive(Clone)]
struct BundleSource {
    of: IntegrationsSource,
    authorization: Option<PathBuf>,
    /// Last bundle of a server, which is fetched again only after a change.
    last: Option<Arc<Bundle>>,
}

impl BundleSource {
    fn read(&self) -> Result<Arc<Bundle>, CommandError> {
        Ok(match &self.of {
            IntegrationsSource::Path(path) if path.is_dir() => Arc::new(directory::read(path)?),
            IntegrationsSource::Path(path) => Arc::new(bundle::read(path)?),
            IntegrationsSource::Server(address) => {
                let sha = self.last.as_ref().map(|bundle| bundle.sha());
                match (bundle_source::newer(address, self.authorization.as_deref(), sha)?, &self.last) {
                    (None, Some(last)) => last.clone(),
                    (newer, _) => Arc::new(newer.ok_or("the server has no bundle")?),
                }
            }
        })
    }

    fn path(&self) -> Option<PathBuf> {
        match &self.of {
            IntegrationsSource::Path(path) => Some(path.clone()),
            IntegrationsSource::Server(_) => None,
        }
    }
}

impl IntegrationsManager {
    /// Creates the manager of a configuration.
    pub fn new(
        config: &IntegrationsConfig,
        topology: &Topology,
        clusters: ClusterClients,
    ) -> Result<Self, CommandError> {
        let settings = manager_config::settings(config, variables())?;
        let store = DesiredStore::new(manager_config::guard(config), config.compat, config.adopt);
        Ok(Self {
            source: BundleSource { of: config.source.clone(), authorization: config.authorization.clone(), last: None },
            interval: config.interval,
            builder: DesiredBuilder::new(chart(config.chart.as_deref())?, settings),
            store: Arc::new(store.with_shard_labels(config.shard_labels)),
            connect: ClusterConnector::new(config, topology, clusters),
            memory: NamespaceHistory::default(),
            memory_file: None,
            connections: BTreeMap::new(),
            reported: BTreeMap::new(),
        })
    }

    /// Loads the namespaces with former objects from a state directory.
    pub fn with_memory(self, dir: &Path) -> Result<Self, CommandError> {
        let file = dir.join(MEMORY);
        let failed = |why: String| {
            format!(
                "could not read {}: {why}\nhint: remove the file to start over; namespaces whose workloads were removed are then no longer cleaned up",
                file.display()
            )
        };
        let memory = match std::fs::read_to_string(&file) {
            Ok(text) => NamespaceHistory::parse(&text).map_err(|error| failed(error.to_string()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => NamespaceHistory::default(),
            Err(error) => return Err(failed(error.to_string()).into()),
        };
        Ok(Self { memory, memory_file: Some(file), ..self })
    }

    /// Returns the desired objects.
    pub fn store(&self) -> Arc<DesiredStore> {
        self.store.clone()
    }

    /// Follows the source until the kernel stops.
    pub fn follow(self, handle: Handle, in_force: CurrentConfig) -> JoinHandle<()> {
        tokio::spawn(async move {
            let mut follow = self.source.path().map(|path| PathWatcher::start(&path));
            let mut manager = self;
            loop {
                manager.refresh(&handle, &in_force).await;
                let interval = manager.interval;
                match follow.take() {
                    // Waiting for the file system blocks, which a thread of the runtime must not do.
                    Some(following) => {
                        let waited = tokio::task::spawn_blocking(move || {
                            following.wait(interval);
                            following
                        });
                        follow = waited.await.ok();
                    }
                    None => tokio::time::sleep(interval).await,
                }
                if handle.counts().await.is_err() {
                    return;
                }
            }
        })
    }

    /// Reads the source once. If it cannot be read, nothing changes.
    async fn refresh(&mut self, handle: &Handle, in_force: &CurrentConfig) {
        match self.read().await {
            Ok(Some(desired)) => {
                self.save_memory(&desired);
                for changed in self.store.replace(desired) {
                    self.apply_change(handle, in_force, changed).await;
                }
            }
            Ok(None) => {}
            Err(error) => print_stderr(failure::message(&*error)),
        }
        self.refresh_connections().await;
    }

    /// Stores the namespaces with objects before any object is created.
    fn save_memory(&mut self, desired: &DesiredObjects) {
        let Some(file) = self.memory_file.as_ref().filter(|_| self.memory.record(desired)) else { return };
        let beside = file.with_extension("new");
        let written = std::fs::write(&beside, self.memory.to_json()).and_then(|()| std::fs::rename(&beside, file));
        if let Err(error) = written {
            print_stderr(format_args!("error: could not write {}: {error}", file.display()));
        }
    }

    /// Applies replaced tokens and changed servers.
    async fn refresh_connections(&mut self) {
        let desired = self.store.desired();
        let mut messages = Vec::new();
        for (name, way) in &self.connections {
            let Some(cluster) = cluster_in_data(&desired, name) else { continue };
            match self.connect.refresh(way, &cluster).await {
                Ok(()) => drop(self.reported.remove(name)),
                Err(error) => messages.push((name.clone(), failure::message(&*error))),
            }
        }
        messages.into_iter().for_each(|(cluster, message)| self.report_once(&cluster, message));
    }

    fn report_once(&mut self, cluster: &Arc<str>, message: String) {
        if self.reported.get(cluster) != Some(&message) {
            print_stderr(&message);
            self.reported.insert(cluster.clone(), message);
        }
    }

    /// Returns the desired objects, unless they are unchanged and every cluster is connected.
    async fn read(&mut self) -> Result<Option<Arc<DesiredObjects>>, CommandError> {
        let source = self.source.clone();
        let bundle = tokio::task::spawn_blocking(move || source.read()).await??;
        if matches!(self.source.of, IntegrationsSource::Server(_)) {
            self.source.last = Some(bundle.clone());
        }
        // A source without any integration is a mistake of its publisher; running workloads must not follow it.
        if bundle.of_schema(INTEGRATION).next().is_none() && bundle.problems().is_empty() {
            return Err(
                format!("the source has no file of schema {INTEGRATION}\nhint: correct the source; until then nothing is changed").into()
            );
        }
        let before = self.store.desired();
        let unreached = self.required_clusters(&before).iter().any(|cluster| !self.connections.contains_key(cluster));
        if before.sha == bundle.sha() && !unreached {
            return Ok(None);
        }
        let mut desired = self.builder.build(&bundle);
        self.memory.add_removed_namespaces(&self.builder.settings().scope, &mut desired);
        if before.sha != desired.sha {
            let commit = desired.commit.as_ref().map(|commit| format!(" of commit {commit}")).unwrap_or_default();
            print_stderr(format_args!(
                "integrations: {} in {} desired by bundle {:.12}{commit}",
                counted(desired.len(), "object"),
                counted(desired.namespaces.len(), "namespace"),
                desired.sha
            ));
            if let Err(error) = check_environment(self.builder.settings().scope.environment.as_deref(), &[&bundle]) {
                print_stderr(failure::message(&*error));
            }
            let old = before.problems();
            desired
                .problems()
                .iter()
                .filter(|problem| !old.contains(problem))
                .for_each(|p| print_stderr(format_args!("error: {p}")));
        }
        Ok(Some(Arc::new(desired)))
    }

    /// Returns the clusters to connect to: those with desired or former objects. A cluster that is only named in the
    /// data, or whose data is all invalid, is not included.
    fn required_clusters(&self, desired: &DesiredObjects) -> BTreeSet<Arc<str>> {
        let left = desired.empty.iter().map(|one| &one.cluster.name).filter(|name| self.memory.includes_cluster(name));
        desired.namespaces.keys().map(|(cluster, _)| cluster).chain(left).cloned().collect()
    }

    async fn apply_change(&mut self, handle: &Handle, in_force: &CurrentConfig, changed: UnitChanges) {
        let desired = self.store.desired();
        let name = OperatorName::new(&operator_name(&changed.cluster));
        if let Some(way) = self.connections.get(&changed.cluster) {
            let created = make_namespaces(way, &desired, &changed.cluster).await;
            let _ = handle.set_units(name, changed.units, changed.changed).await;
            if let Err(error) = created {
                self.report_once(&changed.cluster, failure::message(&*error));
            }
            return;
        }
        if !self.required_clusters(&desired).contains(&changed.cluster) {
            return;
        }
        match self.operator(&changed.cluster).await {
            Ok((operator, way)) => {
                let cluster = (ClusterName::new(&changed.cluster), way.client.clone());
                if in_force.add(handle, operator, Some(cluster)).await.is_ok() {
                    self.connections.insert(changed.cluster, way);
                }
            }
            // The next pass retries; the other clusters continue.
            Err(error) => self.report_once(&changed.cluster, failure::message(&*error)),
        }
    }

    /// Returns the operator of a cluster and its connection.
    async fn operator(&self, cluster: &str) -> Result<(Arc<dyn Operator>, ClusterConnection), CommandError> {
        let desired = self.store.desired();
        let of_data = cluster_in_data(&desired, cluster);
        let of_data = of_data.ok_or_else(|| format!("the data of cluster {cluster} is invalid"))?;
        let way = self.connect.connect(&of_data).await?;
        make_namespaces(&way, &desired, cluster).await?;
        let operator = IntegrationsOperator::new(cluster, self.store.clone()).on_named_cluster();
        Ok((Arc::new(operator), way))
    }

    /// Returns all operators for one pass with their clients, and the errors of the other clusters.
    pub async fn load_operators(
        &mut self,
    ) -> Result<(Vec<(Arc<dyn Operator>, ClusterName, kube::Client)>, Vec<String>), CommandError> {
        let mut operators = Vec::new();
        let mut failed = Vec::new();
        if let Some(desired) = self.read().await? {
            let clusters = self.required_clusters(&desired);
            self.store.replace(desired);
            for cluster in clusters {
                match self.operator(&cluster).await {
                    Ok((operator, way)) => operators.push((operator, ClusterName::new(&cluster), way.client)),
                    Err(error) => failed.push(failure::message(&*error)),
                }
            }
        }
        Ok((operators, failed))
    }
}

/// Returns the cluster from the current data, or from the data of former objects.
fn cluster_in_data(desired: &DesiredObjects, cluster: &str) -> Option<IntegrationCluster> {
    let mut known = desired.namespaces.values().map(|target| &target.namespace).chain(&desired.empty);
    known.find(|namespace| *namespace.cluster.name == *cluster).map(|one| one.cluster.clone())
}

/// Creates the namespaces for desired objects on a cluster of this process.
async fn make_namespaces(way: &ClusterConnection, desired: &DesiredObjects, cluster: &str) -> Result<(), CommandError> {
    if way.embedded {
        for (_, namespace) in desired.namespaces.keys().filter(|(name, _)| **name == *cluster) {
            make_namespace(&way.client, namespace).await?;
        }
    }
    Ok(())
}

/// Creates a namespace. The embedded cluster has no other source of namespaces.
async fn make_namespace(client: &kube::Client, name: &str) -> Result<(), CommandError> {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let request = Request::post("/api/v1/namespaces").header("Content-Type", "application/json");
    match client.request::<Value>(request.body(body.to_string().into_bytes())?).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        created => created.map(drop).map_err(Into::into),
    }
}
