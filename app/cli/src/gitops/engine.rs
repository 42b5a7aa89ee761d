//! The embedded engine under `up` and `run`: hosted on the cluster that has Argo CD's objects, and on every cluster their Secrets name.

mod reach;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use serde_json::Value;
use switchboard_engine::crds::crds;
use switchboard_engine::operator::{Engine, Hosted, NAME};
use switchboard_engine::source::{POLL, Sources};
use switchboard_git::Settings;
use switchboard_kernel::config::Config;
use switchboard_kernel::host::Handle;
use switchboard_kernel::limits::Limits;
use switchboard_kernel::operator::{Operator, OperatorName, Reaching};
use switchboard_kernel::place::{ClusterName, Place};
use tokio::task::JoinHandle;

use crate::failure::{self, Failure};
use crate::guests::Clusters;
use crate::limits::InForce;
use crate::talk::say;

/// How often the Secrets that name clusters are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long a decision may take, when the configuration does not say: it may fetch a repository.
const TIMEOUT: Duration = Duration::from_secs(150);
/// How long an Application rests, when the configuration does not say.
const DEBOUNCE: Duration = Duration::from_millis(50);
const COOL_DOWN: Duration = Duration::from_millis(200);
/// The label of Secrets that name clusters, in a query.
const OF_CLUSTERS: &str = "/api/v1/secrets?labelSelector=argocd.argoproj.io%2Fsecret-type%3Dcluster";
/// The folder of fetched repositories, in the state directory.
const FOLDER: &str = "git";

/// The engine, ready to be hosted.
pub struct Embedded {
    here: ClusterName,
    client: kube::Client,
    sources: Arc<Sources>,
    hosted: Arc<Hosted>,
}

impl Embedded {
    /// By what a configuration says; none when it does not ask for it. Argo CD's kinds are made known, unless that is to be
    /// `pretended` as everything else. `own` says that Applications live on this user's own cluster.
    pub async fn new(
        config: &Config,
        clusters: &Clusters,
        dir: &Path,
        own: bool,
        pretended: bool,
    ) -> Result<Option<Self>, Failure> {
        if !is_wanted(config) {
            return Ok(None);
        }
        let here = config.topology.cluster(Place::Management).clone();
        let client = clusters.clients.get(&here).ok_or_else(|| format!("no cluster is called {here}"))?.clone();
        if !pretended {
            install(&client).await?;
        }
        let mut git = Settings::in_folder(&dir.join(FOLDER));
        // Whoever may write an Application on this machine's own cluster may read this machine's repositories.
        if own {
            git = git.with_files();
        }
        let sources = Arc::new(Sources::new(git, POLL));
        Ok(Some(Self { here, client, sources, hosted: Arc::default() }))
    }

    /// What the kernel hosts from the beginning.
    pub fn operator(&self) -> Arc<dyn Operator> {
        let engine = Engine::here(self.here.clone(), self.sources.clone(), self.hosted.clone());
        Arc::new(Reaching(engine))
    }

    /// The same for whoever asks only what it declares: nothing is installed, nothing is fetched.
    pub fn declaring(config: &Config, folder: &Path) -> Option<Arc<dyn Operator>> {
        if !is_wanted(config) {
            return None;
        }
        let here = config.topology.cluster(Place::Management).clone();
        let sources = Arc::new(Sources::new(Settings::in_folder(folder), POLL));
        Some(Arc::new(Reaching(Engine::here(here, sources, Arc::default()))))
    }

    /// The operators of all clusters that Secrets name, for one look. Of one that cannot be reached, [`Embedded::operator`] says
    /// so where an Application goes there.
    pub async fn once(&self) -> Result<Vec<(Arc<dyn Operator>, ClusterName, kube::Client)>, Failure> {
        let mut reached = Vec::new();
        for secret in self.secrets().await? {
            let (key, version) = named(&secret);
            match reach::client(&secret).await {
                Ok(Some(client)) => {
                    let (engine, there) = self.engine(&key, &version);
                    reached.push((engine, there, client));
                    self.hosted.note(key, Ok(()));
                }
                Ok(None) => self.hosted.note(key, Ok(())),
                Err(error) => self.hosted.note(key, Err(why(&error))),
            }
        }
        Ok(reached)
    }

    /// The operator for the cluster of a Secret, and what the kernel calls that cluster.
    fn engine(&self, key: &(String, String), version: &str) -> (Arc<dyn Operator>, ClusterName) {
        let there = cluster(key, version);
        let (here, sources, hosted) = (self.here.clone(), self.sources.clone(), self.hosted.clone());
        (Arc::new(Reaching(Engine::there(here, key.clone(), there.clone(), sources, hosted))), there)
    }

    /// The Secrets that name clusters.
    async fn secrets(&self) -> Result<Vec<Value>, Failure> {
        let mut secrets: Value = self.client.request(Request::get(OF_CLUSTERS).body(Vec::new())?).await?;
        Ok(secrets["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    /// Follows the Secrets that name clusters, until the kernel stops.
    pub fn follow(self, handle: Handle, in_force: InForce) -> JoinHandle<()> {
        tokio::spawn(async move {
            let mut seen = BTreeMap::new();
            let mut told = String::new();
            loop {
                match self.look(&handle, &in_force, &mut seen).await {
                    Ok(()) => told.clear(),
                    Err(error) => {
                        let now = failure::tell(&*error);
                        if now != told {
                            say(&now);
                            told = now;
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

    /// Takes in the clusters of Secrets that are new or have changed, and takes out those of Secrets that are gone.
    async fn look(
        &self,
        handle: &Handle,
        in_force: &InForce,
        seen: &mut BTreeMap<(String, String), String>,
    ) -> Result<(), Failure> {
        let mut there = BTreeSet::new();
        for secret in self.secrets().await? {
            let (key, version) = named(&secret);
            there.insert(key.clone());
            if seen.get(&key) == Some(&version) {
                continue;
            }
            let reached = match reach::client(&secret).await {
                Ok(Some(client)) => {
                    let (engine, cluster) = self.engine(&key, &version);
                    if in_force.add(handle, engine, Some((cluster, client))).await.is_err() {
                        return Ok(());
                    }
                    Ok(())
                }
                // It names the cluster that Applications live on by now, which has its operator.
                Ok(None) if seen.contains_key(&key) => {
                    match handle.remove(OperatorName::new(&Engine::name_of(&key))).await {
                        Ok(_) => Ok(()),
                        Err(_) => return Ok(()),
                    }
                }
                Ok(None) => Ok(()),
                Err(error) => Err(why(&error)),
            };
            // One that could not be reached is tried again.
            if reached.is_ok() {
                seen.insert(key.clone(), version);
            }
            self.hosted.note(key, reached);
        }
        for (key, _) in seen.extract_if(.., |key, _| !there.contains(key)) {
            if handle.remove(OperatorName::new(&Engine::name_of(&key))).await.is_err() {
                return Ok(());
            }
        }
        self.hosted.keep(&there);
        Ok(())
    }
}

/// What the kernel calls the cluster of a Secret, in a version of it: a cluster's client stays as it is, so one with other
/// credentials is another cluster to the kernel. The former goes when the operator is taken in with the next.
fn cluster(key: &(String, String), version: &str) -> ClusterName {
    ClusterName::new(&format!("{}#{version}", Engine::name_of(key)))
}

/// Which Secret it is, and in which version.
fn named(secret: &Value) -> ((String, String), String) {
    let text = |field: &str| secret["metadata"][field].as_str().unwrap_or_default().to_string();
    ((text("namespace"), text("name")), text("resourceVersion"))
}

/// Why a cluster cannot be reached.
fn why(error: &Failure) -> String {
    failure::tell(&**error).trim_start_matches("error: ").to_string()
}

/// Whether a configuration asks for it.
fn is_wanted(config: &Config) -> bool {
    config.operators.get(&OperatorName::new(NAME)).is_some_and(|wanted| wanted.enabled)
}

/// What it has when nobody says otherwise: shorter rests than other operators, since a sync is several steps.
pub fn limits() -> Limits {
    Limits { debounce: DEBOUNCE, cool_down: COOL_DOWN, timeout: TIMEOUT, ..Limits::default() }
}

/// Tells a cluster of Argo CD's kinds, unless it knows them: a real Argo CD's are as good.
pub async fn install(client: &kube::Client) -> Result<(), Failure> {
    for definition in crds() {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        // Where they are there, nobody needs the right to make them.
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        if client.request::<Value>(Request::get(format!("{path}/{name}")).body(Vec::new())?).await.is_ok() {
            continue;
        }
        let request = Request::post(path).header("Content-Type", "application/json");
        match client.request::<Value>(request.body(definition.to_string().into_bytes())?).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            made => drop(made?),
        }
    }
    Ok(())
}

/// The engine without its sources, which is enough to decide again from what was recorded.
pub fn remembered(name: &str) -> Option<Arc<dyn Operator>> {
    let sources = Arc::new(Sources::new(Settings::in_folder(Path::new("")), POLL));
    let here = ClusterName::new(switchboard_kernel::config::DEFAULT_CLUSTER);
    if name == NAME {
        return Some(Arc::new(Reaching(Engine::here(here, sources, Arc::default()))));
    }
    let (namespace, secret) = name.strip_prefix(NAME)?.strip_prefix('@')?.split_once('.')?;
    let (key, there) = ((namespace.to_string(), secret.to_string()), ClusterName::new(name));
    Some(Arc::new(Reaching(Engine::there(here, key, there, sources, Arc::default()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_known_again_by_its_name() {
        for name in ["engine", "engine@argocd.managed-env-1"] {
            assert_eq!(remembered(name).map(|one| one.name().to_string()).as_deref(), Some(name));
        }
        assert!(remembered("engines").is_none() && remembered("engine@x").is_none());
    }
}
