//! Embedded engine under `up` and `run`: hosted on the cluster with the Argo CD objects, and on every cluster of a
//! cluster Secret.

mod cluster_secret;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use serde_json::Value;
use switchboard_engine::crds::crds;
use switchboard_engine::operator::{DestinationOperators, EngineOperator, NAME};
use switchboard_engine::source::{POLL, RepositorySources};
use switchboard_git::GitSettings;
use switchboard_kernel::config::Config;
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{Operator, OperatorName};
use switchboard_kernel::topology::{ClusterName, ClusterType};
use tokio::task::JoinHandle;

use crate::failure::{self, CommandError};
use crate::hosted::ClusterClients;
use crate::limits::CurrentConfig;
use crate::stderr::print_stderr;

/// Poll interval for cluster Secrets.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// List path of cluster Secrets.
const OF_CLUSTERS: &str = "/api/v1/secrets?labelSelector=argocd.argoproj.io%2Fsecret-type%3Dcluster";
/// Folder for fetched repositories in the state directory.
const FOLDER: &str = "git";

/// Embedded engine, ready to be hosted.
pub struct EmbeddedEngine {
    here: ClusterName,
    client: kube::Client,
    sources: Arc<RepositorySources>,
    hosted: Arc<DestinationOperators>,
}

impl EmbeddedEngine {
    /// Creates the engine if the configuration enables it. Installs the CRDs of Argo CD, unless `is_dry_run` asks for a
    /// dry run. `own` states that Applications are stored on the cluster of a local `up`.
    pub async fn new(
        config: &Config,
        clusters: &ClusterClients,
        dir: &Path,
        own: bool,
        is_dry_run: bool,
    ) -> Result<Option<Self>, CommandError> {
        if !is_wanted(config) {
            return Ok(None);
        }
        let here = config.topology.cluster(ClusterType::Management).clone();
        let client = clusters.clients.get(&here).ok_or_else(|| format!("no cluster is named {here}"))?.clone();
        if !is_dry_run {
            install(&client).await?;
        }
        let mut git = GitSettings::with_cache(&dir.join(FOLDER));
        // A user who may write Applications on a local cluster may also read the repositories of this machine.
        if own {
            git = git.with_local_files();
        }
        let sources = RepositorySources::new(git, POLL);
        let sources = Arc::new(if is_dry_run { sources.for_dry_run() } else { sources });
        Ok(Some(Self { here, client, sources, hosted: Arc::default() }))
    }

    /// Returns the operator that the kernel hosts from the start.
    pub fn operator(&self) -> Arc<dyn Operator> {
        Arc::new(EngineOperator::in_cluster(self.here.clone(), self.sources.clone(), self.hosted.clone()))
    }

    /// Returns the operator for its declaration only: installs and fetches nothing.
    pub fn declared_operator(config: &Config, folder: &Path) -> Option<Arc<dyn Operator>> {
        if !is_wanted(config) {
            return None;
        }
        let here = config.topology.cluster(ClusterType::Management).clone();
        let sources = Arc::new(RepositorySources::new(GitSettings::with_cache(folder), POLL));
        Some(Arc::new(EngineOperator::in_cluster(here, sources, Arc::default())))
    }

    /// Returns the operators of all clusters with a cluster Secret, for one pass. [`EmbeddedEngine::operator`] reports
    /// an unreachable cluster on the Applications that deploy to it.
    pub async fn cluster_operators(&self) -> Result<Vec<(Arc<dyn Operator>, ClusterName, kube::Client)>, CommandError> {
        let mut reached = Vec::new();
        for secret in self.secrets().await? {
            let (key, version) = key_and_version(&secret);
            match cluster_secret::client(&secret).await {
                Ok(Some(client)) => {
                    let (engine, there) = self.engine(&key, &version);
                    reached.push((engine, there, client));
                    self.hosted.record(key, Ok(()));
                }
                Ok(None) => self.hosted.record(key, Ok(())),
                Err(error) => self.hosted.record(key, Err(error_reason(&error))),
            }
        }
        Ok(reached)
    }

    /// Returns the operator for the cluster of a Secret, and the kernel's name of that cluster.
    fn engine(&self, key: &(String, String), version: &str) -> (Arc<dyn Operator>, ClusterName) {
        let there = cluster(key, version);
        let (here, sources, hosted) = (self.here.clone(), self.sources.clone(), self.hosted.clone());
        (Arc::new(EngineOperator::remote(here, key.clone(), there.clone(), sources, hosted)), there)
    }

    /// Lists the cluster Secrets.
    async fn secrets(&self) -> Result<Vec<Value>, CommandError> {
        let mut secrets: Value = self.client.request(Request::get(OF_CLUSTERS).body(Vec::new())?).await?;
        Ok(secrets["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    /// Follows the cluster Secrets until the kernel stops.
    pub fn follow(self, handle: Handle, in_force: CurrentConfig) -> JoinHandle<()> {
        tokio::spawn(async move {
            let mut versions = BTreeMap::new();
            let mut last_error = String::new();
            loop {
                match self.refresh(&handle, &in_force, &mut versions).await {
                    Ok(()) => last_error.clear(),
                    Err(error) => {
                        let now = failure::message(&*error);
                        if now != last_error {
                            print_stderr(&now);
                            last_error = now;
                        }
                    }
                }
                tokio::time::sleep(LOOK_EVERY).await;
                if handle.counts().await.is_err() {
                    return;
                }
            }
        })
    }

    /// Adds the clusters of new and changed Secrets, and removes those of deleted Secrets.
    async fn refresh(
        &self,
        handle: &Handle,
        in_force: &CurrentConfig,
        versions: &mut BTreeMap<(String, String), String>,
    ) -> Result<(), CommandError> {
        let mut there = BTreeSet::new();
        for secret in self.secrets().await? {
            let (key, version) = key_and_version(&secret);
            there.insert(key.clone());
            if versions.get(&key) == Some(&version) {
                continue;
            }
            let reached = match cluster_secret::client(&secret).await {
                Ok(Some(client)) => {
                    let (engine, cluster) = self.engine(&key, &version);
                    if in_force.add(handle, engine, Some((cluster, client))).await.is_err() {
                        return Ok(());
                    }
                    Ok(())
                }
                // The Secret now names the cluster with the Applications, which has its operator already.
                Ok(None) if versions.contains_key(&key) => {
                    match handle.remove(OperatorName::new(&EngineOperator::name_of(&key))).await {
                        Ok(_) => Ok(()),
                        Err(_) => return Ok(()),
                    }
                }
                Ok(None) => Ok(()),
                Err(error) => Err(error_reason(&error)),
            };
            // An unreachable cluster is retried on the next poll.
            if reached.is_ok() {
                versions.insert(key.clone(), version);
            }
            self.hosted.record(key, reached);
        }
        for (key, _) in versions.extract_if(.., |key, _| !there.contains(key)) {
            if handle.remove(OperatorName::new(&EngineOperator::name_of(&key))).await.is_err() {
                return Ok(());
            }
        }
        self.hosted.retain(&there);
        Ok(())
    }
}

/// Returns the kernel's name for the cluster of a Secret at a resourceVersion. The client of a cluster never changes,
/// so other credentials make another cluster; the old one is removed when the operator is added with the new one.
fn cluster(key: &(String, String), version: &str) -> ClusterName {
    ClusterName::new(&format!("{}#{version}", EngineOperator::name_of(key)))
}

/// Returns the key and the resourceVersion of a Secret.
fn key_and_version(secret: &Value) -> ((String, String), String) {
    let text = |field: &str| secret["metadata"][field].as_str().unwrap_or_default().to_string();
    ((text("namespace"), text("name")), text("resourceVersion"))
}

/// Formats the reason why a cluster is unreachable.
fn error_reason(error: &CommandError) -> String {
    failure::message(&**error).trim_start_matches("error: ").to_string()
}

/// Whether the configuration enables the engine.
fn is_wanted(config: &Config) -> bool {
    config.operators.get(&OperatorName::new(NAME)).is_some_and(|wanted| wanted.enabled)
}

/// Installs the CRDs of Argo CD where they are missing; those of a real Argo CD are kept.
pub async fn install(client: &kube::Client) -> Result<(), CommandError> {
    for definition in crds() {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        // If the CRD exists, the permission to create it is not needed.
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        if client.request::<Value>(Request::get(format!("{path}/{name}")).body(Vec::new())?).await.is_ok() {
            continue;
        }
        let request = Request::post(path).header("Content-Type", "application/json");
        match client.request::<Value>(request.body(definition.to_string().into_bytes())?).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            result => drop(result?),
        }
    }
    Ok(())
}
