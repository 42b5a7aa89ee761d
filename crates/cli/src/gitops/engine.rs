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
use crate::talk::say;

/// How often the Secrets that name clusters are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long a decision may take: it may fetch a repository.
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
    limits: Limits,
}

impl Embedded {
    /// By what a configuration says; none when it does not ask for it.
    pub async fn new(config: &Config, clusters: &Clusters, dir: &Path) -> Result<Option<Self>, Failure> {
        let Some(wanted) = config.operators.get(&OperatorName::new(NAME)).filter(|wanted| wanted.enabled) else {
            return Ok(None);
        };
        let here = config.topology.cluster(Place::Management).clone();
        let client = clusters.clients.get(&here).ok_or_else(|| format!("no cluster is called {here}"))?.clone();
        install(&client).await?;
        let mut git = Settings::in_folder(&dir.join(FOLDER));
        // Whoever may write an Application on this machine's own cluster may read this machine's repositories.
        if clusters.embedded.is_some() {
            git = git.with_files();
        }
        let limits = limits(&wanted.limits);
        let sources = Arc::new(Sources::new(git, POLL));
        Ok(Some(Self { here, client, sources, hosted: Arc::default(), limits }))
    }

    /// What the kernel hosts from the beginning.
    pub fn operator(&self) -> (Arc<dyn Operator>, Limits) {
        let engine = Engine::here(self.here.clone(), self.sources.clone(), self.hosted.clone());
        (Arc::new(Reaching(engine)), self.limits.clone())
    }

    /// The same for whoever asks only what it declares: nothing is installed, nothing is fetched.
    pub fn declaring(config: &Config, folder: &Path) -> Option<Arc<dyn Operator>> {
        config.operators.get(&OperatorName::new(NAME)).filter(|wanted| wanted.enabled)?;
        let here = config.topology.cluster(Place::Management).clone();
        let sources = Arc::new(Sources::new(Settings::in_folder(folder), POLL));
        Some(Arc::new(Reaching(Engine::here(here, sources, Arc::default()))))
    }

    /// Follows the Secrets that name clusters, until the kernel stops.
    pub fn follow(self, handle: Handle) -> JoinHandle<()> {
        tokio::spawn(async move {
            let mut seen = BTreeMap::new();
            let mut told = String::new();
            loop {
                match self.look(&handle, &mut seen).await {
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
    async fn look(&self, handle: &Handle, seen: &mut BTreeMap<(String, String), String>) -> Result<(), Failure> {
        let secrets: Value = self.client.request(Request::get(OF_CLUSTERS).body(Vec::new())?).await?;
        let mut there = BTreeSet::new();
        for secret in secrets["items"].as_array().into_iter().flatten() {
            let text = |field: &str| secret["metadata"][field].as_str().unwrap_or_default().to_string();
            let (key, version) = ((text("namespace"), text("name")), text("resourceVersion"));
            there.insert(key.clone());
            if seen.get(&key) == Some(&version) {
                continue;
            }
            let reached = match reach::client(secret).await {
                Ok(Some(client)) => {
                    // A cluster's client stays as it is: one with other credentials is another cluster to the kernel.
                    let cluster = named(&key, &version);
                    let engine = Engine::there(
                        self.here.clone(),
                        key.clone(),
                        cluster.clone(),
                        self.sources.clone(),
                        self.hosted.clone(),
                    );
                    let added =
                        handle.add(Arc::new(Reaching(engine)), self.limits.clone(), Some((cluster, client))).await;
                    if added.is_err() {
                        return Ok(());
                    }
                    Ok(())
                }
                Ok(None) => Ok(()),
                Err(error) => Err(failure::tell(&*error).trim_start_matches("error: ").to_string()),
            };
            // One that could not be reached is tried again.
            if reached.is_ok() {
                seen.insert(key.clone(), version);
            }
            self.hosted.note(key, reached);
        }
        for (key, version) in seen.extract_if(.., |key, _| !there.contains(key)) {
            let operator = OperatorName::new(&Engine::name_of(&key));
            if handle.remove(operator, Some(named(&key, &version))).await.is_err() {
                return Ok(());
            }
        }
        self.hosted.keep(&there);
        Ok(())
    }
}

/// What the kernel calls the cluster of a Secret, in a version of it.
fn named(secret: &(String, String), version: &str) -> ClusterName {
    ClusterName::new(&format!("{}#{version}", Engine::name_of(secret)))
}

/// What a configuration says; and when it says nothing, shorter rests than other operators have: a sync is several steps.
pub fn limits(said: &Limits) -> Limits {
    let own = Limits { debounce: DEBOUNCE, cool_down: COOL_DOWN, ..Limits::default() };
    let limits = if *said == Limits::default() { own } else { said.clone() };
    Limits { timeout: TIMEOUT.max(limits.timeout), ..limits }
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
