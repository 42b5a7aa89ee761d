//! The integrations manager under `run` and `up`: follows its source, and has every cluster of the data looked after.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use serde_json::{Value, json};
use switchboard_integrations::desired::{Builder, Desired};
use switchboard_integrations::memory::Memory;
use switchboard_integrations::model::{Cluster, INTEGRATION};
use switchboard_integrations::operator::{Changed, Integrations, Shelf, operator_name};
use switchboard_integrations::source::follow::Follow;
use switchboard_integrations::source::{Bundle, bundle, directory};
use switchboard_kernel::config::{IntegrationsConfig, IntegrationsSource};
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{Operator, OperatorName, Reaching};
use switchboard_kernel::place::{ClusterName, Topology};
use tokio::task::JoinHandle;

use super::connect::{Connect, Way};
use super::{chart, check_environment, from, told, variables};
use crate::failure::{self, Failure};
use crate::guests::Clusters;
use crate::limits::InForce;
use crate::talk::say;

/// The file in the state directory that says where something was wanted once.
const MEMORY: &str = "integrations.json";

/// The integrations manager, ready to follow its source.
pub struct Manager {
    source: Source,
    interval: Duration,
    builder: Builder,
    shelf: Arc<Shelf>,
    connect: Connect,
    /// Where something was wanted once, and the file that says so.
    memory: Memory,
    remembered_in: Option<PathBuf>,
    /// Clusters that have their operator.
    reached: BTreeMap<Arc<str>, Way>,
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
        let settings = told::settings(config, variables())?;
        let shelf = Shelf::new(told::guard(config), config.compat, config.take_over);
        Ok(Self {
            source: Source { of: config.source.clone(), authorization: config.authorization.clone(), last: None },
            interval: config.interval,
            builder: Builder::new(chart(config.chart.as_deref())?, settings),
            shelf: Arc::new(shelf.labelling(config.shard_labels)),
            connect: Connect::new(config, topology, clusters),
            memory: Memory::default(),
            remembered_in: None,
            reached: BTreeMap::new(),
            told: BTreeMap::new(),
        })
    }

    /// With what a state directory holds of where something was wanted.
    pub fn remembering(self, dir: &Path) -> Result<Self, Failure> {
        let file = dir.join(MEMORY);
        let failed = |why: String| {
            format!(
                "could not read {}: {why}\nhint: where nothing runs any more is not looked at without it; remove it to begin anew",
                file.display()
            )
        };
        let memory = match std::fs::read_to_string(&file) {
            Ok(text) => Memory::parse(&text).map_err(|error| failed(error.to_string()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Memory::default(),
            Err(error) => return Err(failed(error.to_string()).into()),
        };
        Ok(Self { memory, remembered_in: Some(file), ..self })
    }

    /// What it wants, for those who show it.
    pub fn shelf(&self) -> Arc<Shelf> {
        self.shelf.clone()
    }

    /// Follows the source until the kernel stops.
    pub fn follow(self, handle: Handle, in_force: InForce) -> JoinHandle<()> {
        tokio::spawn(async move {
            let mut follow = self.source.path().map(|path| Follow::start(&path));
            let mut manager = self;
            loop {
                manager.look(&handle, &in_force).await;
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
    async fn look(&mut self, handle: &Handle, in_force: &InForce) {
        match self.read().await {
            Ok(Some(desired)) => {
                self.remember(&desired);
                for changed in self.shelf.put(desired) {
                    self.tell(handle, in_force, changed).await;
                }
            }
            Ok(None) => {}
            Err(error) => say(failure::tell(&*error)),
        }
        self.look_at_ways().await;
    }

    /// Writes down where something is wanted, before anything is made there.
    fn remember(&mut self, desired: &Desired) {
        let Some(file) = self.remembered_in.as_ref().filter(|_| self.memory.note(desired)) else { return };
        let beside = file.with_extension("new");
        let written = std::fs::write(&beside, self.memory.text()).and_then(|()| std::fs::rename(&beside, file));
        if let Err(error) = written {
            say(format_args!("error: could not write {}: {error}", file.display()));
        }
    }

    /// Tokens that were exchanged, and clusters that are elsewhere now.
    async fn look_at_ways(&mut self) {
        let desired = self.shelf.desired();
        let mut said = Vec::new();
        for (name, way) in &self.reached {
            let Some(cluster) = of_data(&desired, name) else { continue };
            match self.connect.look_again(way, &cluster).await {
                Ok(()) => drop(self.told.remove(name)),
                Err(error) => said.push((name.clone(), failure::tell(&*error))),
            }
        }
        said.into_iter().for_each(|(cluster, told)| self.say_once(&cluster, told));
    }

    fn say_once(&mut self, cluster: &Arc<str>, told: String) {
        if self.told.get(cluster) != Some(&told) {
            say(&told);
            self.told.insert(cluster.clone(), told);
        }
    }

    /// What is wanted, unless it is what was wanted before and every cluster is reached.
    async fn read(&mut self) -> Result<Option<Arc<Desired>>, Failure> {
        let source = self.source.clone();
        let bundle = tokio::task::spawn_blocking(move || source.read()).await??;
        if matches!(self.source.of, IntegrationsSource::Server(_)) {
            self.source.last = Some(bundle.clone());
        }
        // A source without any integration is a mistake of who gave it out: what runs is not to go by it.
        if bundle.of_schema(INTEGRATION).next().is_none() && bundle.problems().is_empty() {
            return Err(
                format!("the source holds no file of {INTEGRATION}\nhint: nothing is changed until it does").into()
            );
        }
        let before = self.shelf.desired();
        let unreached = self.wanted(&before).iter().any(|cluster| !self.reached.contains_key(cluster));
        if before.sha == bundle.sha() && !unreached {
            return Ok(None);
        }
        let mut desired = self.builder.build(&bundle);
        self.memory.recall(&self.builder.settings().scope, &mut desired);
        if before.sha != desired.sha {
            let commit = desired.commit.as_ref().map(|commit| format!(" of commit {commit}")).unwrap_or_default();
            say(format_args!(
                "integrations: {} in {} wanted by bundle {:.12}{commit}",
                counted(desired.len(), "object"),
                counted(desired.targets.len(), "namespace"),
                desired.sha
            ));
            if let Err(error) = check_environment(self.builder.settings().scope.environment.as_deref(), &[&bundle]) {
                say(failure::tell(&*error));
            }
            let old = before.problems();
            desired
                .problems()
                .iter()
                .filter(|problem| !old.contains(problem))
                .for_each(|p| say(format_args!("error: {p}")));
        }
        Ok(Some(Arc::new(desired)))
    }

    /// The clusters that are reached for: something runs there, or did once. One that is merely named in the data is not, nor
    /// one on which everything is wrong.
    fn wanted(&self, desired: &Desired) -> BTreeSet<Arc<str>> {
        let left = desired.empty.iter().map(|one| &one.cluster.name).filter(|name| self.memory.knows(name));
        desired.targets.keys().map(|(cluster, _)| cluster).chain(left).cloned().collect()
    }

    async fn tell(&mut self, handle: &Handle, in_force: &InForce, changed: Changed) {
        let desired = self.shelf.desired();
        let name = OperatorName::new(&operator_name(&changed.cluster));
        if let Some(way) = self.reached.get(&changed.cluster) {
            let made = make_namespaces(way, &desired, &changed.cluster).await;
            let _ = handle.set_units(name, changed.units, changed.changed).await;
            if let Err(error) = made {
                self.say_once(&changed.cluster, failure::tell(&*error));
            }
            return;
        }
        if !self.wanted(&desired).contains(&changed.cluster) {
            return;
        }
        match self.operator(&changed.cluster).await {
            Ok((operator, way)) => {
                let cluster = (ClusterName::new(&changed.cluster), way.client.clone());
                if in_force.add(handle, operator, Some(cluster)).await.is_ok() {
                    self.reached.insert(changed.cluster, way);
                }
            }
            // The next look tries again; the other clusters go on.
            Err(error) => self.say_once(&changed.cluster, failure::tell(&*error)),
        }
    }

    /// The operator of a cluster, and the way it goes.
    async fn operator(&self, cluster: &str) -> Result<(Arc<dyn Operator>, Way), Failure> {
        let desired = self.shelf.desired();
        let of_data = of_data(&desired, cluster);
        let of_data = of_data.ok_or_else(|| format!("nothing of cluster {cluster} can be used"))?;
        let way = self.connect.reach(&of_data).await?;
        make_namespaces(&way, &desired, cluster).await?;
        let operator = Integrations::of(cluster, self.shelf.clone()).at_home();
        Ok((Arc::new(Reaching(operator)), way))
    }

    /// All operators for one look, with their clients; and what could not be reached.
    pub async fn once(
        &mut self,
    ) -> Result<(Vec<(Arc<dyn Operator>, ClusterName, kube::Client)>, Vec<String>), Failure> {
        let mut operators = Vec::new();
        let mut failed = Vec::new();
        if let Some(desired) = self.read().await? {
            let clusters = self.wanted(&desired);
            self.shelf.put(desired);
            for cluster in clusters {
                match self.operator(&cluster).await {
                    Ok((operator, way)) => operators.push((operator, ClusterName::new(&cluster), way.client)),
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

/// What the data says of a cluster, or did when something ran there.
fn of_data(desired: &Desired, cluster: &str) -> Option<Cluster> {
    let mut known = desired.targets.values().map(|target| &target.namespace).chain(&desired.empty);
    known.find(|namespace| *namespace.cluster.name == *cluster).map(|one| one.cluster.clone())
}

/// On a cluster of this process, the namespaces in which something is to run.
async fn make_namespaces(way: &Way, desired: &Desired, cluster: &str) -> Result<(), Failure> {
    if way.embedded {
        for (_, namespace) in desired.targets.keys().filter(|(name, _)| **name == *cluster) {
            make_namespace(&way.client, namespace).await?;
        }
    }
    Ok(())
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
