//! The integrations manager under `run` and `up`: follows its source, and has every cluster of the data looked after.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use serde_json::{Value, json};
use switchboard_integrations::chart::Chart;
use switchboard_integrations::desired::{Builder, Desired};
use switchboard_integrations::model::Scope;
use switchboard_integrations::operator::{
    Changed, DEFAULT_ALWAYS, DEFAULT_SHARE_PERCENT, Guard, Integrations, Shelf, operator_name,
};
use switchboard_integrations::settings::Settings;
use switchboard_integrations::source::follow::Follow;
use switchboard_integrations::source::{Bundle, bundle, directory};
use switchboard_kernel::config::{IntegrationsConfig, IntegrationsSource};
use switchboard_kernel::host::Handle;
use switchboard_kernel::limits::Limits;
use switchboard_kernel::operator::{Operator, OperatorName, Reaching};
use switchboard_kernel::place::{ClusterName, Topology};
use tokio::task::JoinHandle;

use super::connect::Connect;
use super::{chart, from, meta, variables};
use crate::failure::{self, Failure};
use crate::guests::Clusters;
use crate::talk::say;

/// The integrations manager, ready to follow its source.
pub struct Manager {
    source: Source,
    interval: Duration,
    builder: Builder,
    shelf: Arc<Shelf>,
    connect: Connect,
    /// Clusters that have their operator.
    reached: BTreeSet<Arc<str>>,
    /// What was said of those that have none, so that it is said once.
    told: BTreeMap<Arc<str>, String>,
}

/// Where the data is read from.
#[derive(Clone)]
struct Source {
    of: IntegrationsSource,
    authorization: Option<PathBuf>,
    /// What a server gave out last: it is asked for more only when it has moved on.
    last: Option<Arc<Bundle>>,
}

impl Source {
    fn read(&self) -> Result<Arc<Bundle>, Failure> {
        Ok(match &self.of {
            IntegrationsSource::Path(path) if path.is_dir() => Arc::new(directory::read(path)?),
            IntegrationsSource::Path(path) => Arc::new(bundle::read(path)?),
            IntegrationsSource::Server(address) => {
                let sha = self.last.as_ref().map(|bundle| bundle.sha());
                match (from::newer(address, self.authorization.as_deref(), sha)?, &self.last) {
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

impl Manager {
    /// By what a configuration says.
    pub fn new(config: &IntegrationsConfig, topology: &Topology, clusters: Clusters) -> Result<Self, Failure> {
        let settings = Settings {
            scope: Scope {
                environment: config.environment.clone(),
                upstream: config.upstream.clone(),
                compat: config.compat,
            },
            image: config.image.clone(),
            image_tag_from_ref: config.image_tag_from_ref.clone(),
            variables: variables(),
            meta: meta(config.options.as_deref())?,
            ..Settings::default()
        };
        let chart: Chart = chart(config.chart.as_deref())?;
        let guard = Guard {
            share_percent: config.delete_share.map_or(DEFAULT_SHARE_PERCENT, u64::from),
            always: DEFAULT_ALWAYS,
            allowed: config.allow_deletes.into(),
        };
        Ok(Self {
            source: Source { of: config.source.clone(), authorization: config.authorization.clone(), last: None },
            interval: config.interval,
            builder: Builder::new(chart, settings),
            shelf: Arc::new(Shelf::new(guard, config.compat, config.take_over)),
            connect: Connect::new(config, topology, clusters),
            reached: BTreeSet::new(),
            told: BTreeMap::new(),
        })
    }

    /// What it wants, for those who show it.
    pub fn shelf(&self) -> Arc<Shelf> {
        self.shelf.clone()
    }

    /// Follows the source until the kernel stops.
    pub fn follow(self, handle: Handle) -> JoinHandle<()> {
        tokio::spawn(async move {
            let mut follow = self.source.path().map(|path| Follow::start(&path));
            let mut manager = self;
            loop {
                manager.look(&handle).await;
                let interval = manager.interval;
                match follow.take() {
                    // Waiting for the file system blocks, which the runtime's own threads must not do.
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

    /// Reads the source once. A source that cannot be read changes nothing.
    async fn look(&mut self, handle: &Handle) {
        match self.read().await {
            Ok(Some(desired)) => {
                for changed in self.shelf.put(desired) {
                    self.tell(handle, changed).await;
                }
            }
            Ok(None) => {}
            Err(error) => say(failure::tell(&*error)),
        }
    }

    /// What is wanted, unless it is what was wanted before and every cluster is reached.
    async fn read(&mut self) -> Result<Option<Arc<Desired>>, Failure> {
        let source = self.source.clone();
        let bundle = tokio::task::spawn_blocking(move || source.read()).await??;
        if matches!(self.source.of, IntegrationsSource::Server(_)) {
            self.source.last = Some(bundle.clone());
        }
        let before = self.shelf.desired();
        let unreached = before.targets.keys().any(|(cluster, _)| !self.reached.contains(cluster));
        if before.sha == bundle.sha() && !unreached {
            return Ok(None);
        }
        let desired = self.builder.build(&bundle);
        if before.sha != desired.sha {
            let commit = desired.commit.as_ref().map(|commit| format!(" of commit {commit}")).unwrap_or_default();
            say(format_args!(
                "integrations: {} in {} wanted by bundle {:.12}{commit}",
                counted(desired.len(), "object"),
                counted(desired.targets.len(), "namespace"),
                desired.sha
            ));
            let old = before.problems();
            desired
                .problems()
                .iter()
                .filter(|problem| !old.contains(problem))
                .for_each(|p| say(format_args!("error: {p}")));
        }
        Ok(Some(Arc::new(desired)))
    }

    async fn tell(&mut self, handle: &Handle, changed: Changed) {
        let name = OperatorName::new(&operator_name(&changed.cluster));
        if self.reached.contains(&changed.cluster) {
            let _ = handle.set_units(name, changed.units, changed.changed).await;
            return;
        }
        // A cluster on which everything is wrong is not reached for.
        if !self.shelf.desired().targets.keys().any(|(cluster, _)| *cluster == changed.cluster) {
            return;
        }
        match self.operator(&changed.cluster).await {
            Ok((operator, client)) => {
                let cluster = (ClusterName::new(&changed.cluster), client);
                if handle.add(operator, Limits::default(), Some(cluster)).await.is_ok() {
                    self.reached.insert(changed.cluster);
                }
            }
            // The next look tries again; the other clusters go on.
            Err(error) => {
                let told = failure::tell(&*error);
                if self.told.get(&changed.cluster) != Some(&told) {
                    say(&told);
                    self.told.insert(changed.cluster, told);
                }
            }
        }
    }

    /// The operator of a cluster, and the client it works with.
    async fn operator(&self, cluster: &str) -> Result<(Arc<dyn Operator>, kube::Client), Failure> {
        let desired = self.shelf.desired();
        let mut targets = desired.targets.values().map(|target| &target.namespace);
        let of_data = targets.find(|namespace| *namespace.cluster.name == *cluster).map(|one| one.cluster.clone());
        let of_data = of_data.ok_or_else(|| format!("nothing of cluster {cluster} can be used"))?;
        let (client, embedded) = self.connect.client(&of_data).await?;
        if embedded {
            for (_, namespace) in desired.targets.keys().filter(|(name, _)| **name == *cluster) {
                make_namespace(&client, namespace).await?;
            }
        }
        let operator = Integrations::of(cluster, self.shelf.clone()).at_home();
        Ok((Arc::new(Reaching(operator)), client))
    }

    /// All operators for one look, with their clients; and what could not be reached.
    pub async fn once(
        &mut self,
    ) -> Result<(Vec<(Arc<dyn Operator>, ClusterName, kube::Client)>, Vec<String>), Failure> {
        let mut operators = Vec::new();
        let mut failed = Vec::new();
        if let Some(desired) = self.read().await? {
            let clusters: BTreeSet<Arc<str>> = desired.targets.keys().map(|(cluster, _)| cluster.clone()).collect();
            self.shelf.put(desired);
            for cluster in clusters {
                match self.operator(&cluster).await {
                    Ok((operator, client)) => operators.push((operator, ClusterName::new(&cluster), client)),
                    Err(error) => failed.push(failure::tell(&*error)),
                }
            }
        }
        Ok((operators, failed))
    }
}

/// `1 namespace`, `2 namespaces`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// On the embedded cluster the namespaces of the data are made: nobody else would.
async fn make_namespace(client: &kube::Client, name: &str) -> Result<(), Failure> {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let request = Request::post("/api/v1/namespaces").header("Content-Type", "application/json");
    match client.request::<Value>(request.body(body.to_string().into_bytes())?).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        made => made.map(drop).map_err(Into::into),
    }
}
