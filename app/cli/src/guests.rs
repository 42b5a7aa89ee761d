//! Operators that are programs of their own: asked what they read and write, and made ready to be hosted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use switchboard_gather::discovery::Discovery;
use switchboard_hosted::{Access, Guest, Program, discovery};
use switchboard_kernel::config::{Config, OperatorConfig, ProcessConfig};
use switchboard_kernel::host::Handle;
use switchboard_kernel::limits::Limits;
use switchboard_kernel::operator::{Operator, OperatorName, Reaching};
use switchboard_kernel::place::{ClusterName, Place};

use crate::contexts::Contexts;
use crate::failure::Failure;
use crate::limits::InForce;
use crate::run;
use crate::talk::say;

/// Their folder in the state directory.
const FOLDER: &str = "guests";
/// After how long is first looked again whether something is served that was not; doubled each time.
const LOOK_AGAIN_FIRST: Duration = Duration::from_secs(1);
/// And at most.
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(60);

/// The clusters of a configuration: clients to work with, and what they were made of.
#[derive(Clone, Default)]
pub struct Clusters {
    /// Clients.
    pub clients: BTreeMap<ClusterName, kube::Client>,
    /// How they are reached from outside this process; what a program with `live` is given is made of it.
    pub configs: BTreeMap<ClusterName, kube::Config>,
    /// The API server of this process, where further clusters can be made.
    pub embedded: Option<Contexts>,
}

/// A program that cannot be hosted.
#[derive(Debug, thiserror::Error)]
#[error("could not host {name}")]
struct NotHosted {
    name: OperatorName,
    source: Failure,
}

/// The programs that are hosted, to be told what has changed around them.
#[derive(Default)]
pub struct Guests(Mutex<BTreeMap<OperatorName, Arc<Guest>>>);

impl Guests {
    /// As the kernel hosts them.
    pub fn operators(&self) -> Vec<Arc<dyn Operator>> {
        self.held().values().map(|guest| -> Arc<dyn Operator> { Arc::new(Reaching(guest.clone())) }).collect()
    }

    /// Takes up changed limits: what a program may take is not the kernel's to enforce.
    pub fn set_limits(&self, changed: &[(OperatorName, Limits)]) {
        for (name, limits) in changed {
            if let Some(guest) = self.held().get(name) {
                guest.set_limits(limits);
            }
        }
    }

    /// Ends the runs that would outlive this process.
    pub fn end(&self) {
        self.held().values().for_each(|guest| guest.end());
    }

    /// Looks again and again whether something is served that was not, and lets the kernel know. Ends when nothing is missing.
    pub async fn look_again(&self, config: &Config, clusters: &Clusters, handle: &Handle, in_force: &InForce) {
        let mut wait = LOOK_AGAIN_FIRST;
        while self.held().values().any(|guest| !guest.absent().is_empty()) {
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LOOK_AGAIN_MAX);
            // A cluster that does not answer is told of by the watches.
            let Ok(served) = served(config, clusters).await else { continue };
            for operator in self.with_more(&served) {
                say(format_args!("{} is told of what is served by now", operator.name()));
                wait = LOOK_AGAIN_FIRST;
                if in_force.add(handle, operator, None).await.is_err() {
                    return;
                }
            }
        }
    }

    /// Those for which more is served than before.
    fn with_more(&self, served: &Discovery) -> Vec<Arc<dyn Operator>> {
        let mut changed: Vec<Arc<dyn Operator>> = Vec::new();
        for (name, guest) in self.held().iter_mut().filter(|(_, guest)| !guest.absent().is_empty()) {
            match guest.with_more(served) {
                Ok(Some(more)) => {
                    *guest = Arc::new(more);
                    changed.push(Arc::new(Reaching(guest.clone())));
                }
                Ok(None) => {}
                Err(error) => say(format_args!("warning: {name}: {error}")),
            }
        }
        changed
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<OperatorName, Arc<Guest>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The operators of a configuration that are programs, ready to be hosted.
pub async fn learn(config: &Config, clusters: &Clusters, dir: &Path) -> Result<Guests, Failure> {
    let mut hosted = BTreeMap::new();
    let wanted = config.operators.iter().filter(|(_, operator)| operator.enabled);
    let wanted: Vec<_> =
        wanted.filter_map(|(name, operator)| Some((name, operator, operator.process.as_ref()?))).collect();
    if wanted.is_empty() {
        return Ok(Guests::default());
    }
    let served = served(config, clusters).await?;
    for (name, operator, process) in wanted {
        let guest = one(name, operator, process, config, clusters, &served, &dir.join(FOLDER)).await;
        let guest = guest.map_err(|source| NotHosted { name: name.clone(), source })?;
        for of in guest.absent() {
            let version = of.api_version();
            say(format_args!(
                "warning: {name} declares {of} of {version}, which no cluster serves: it is absent until one does"
            ));
        }
        hosted.insert(name.clone(), Arc::new(guest));
    }
    Ok(Guests(Mutex::new(hosted)))
}

async fn one(
    name: &OperatorName,
    operator: &OperatorConfig,
    process: &ProcessConfig,
    config: &Config,
    clusters: &Clusters,
    served: &Discovery,
    work: &Path,
) -> Result<Guest, Failure> {
    let program = Program::of(&name.0, operator, process, work)?;
    let workload = config.topology.cluster(Place::UserWorkload);
    let access = match (process.live, clusters.clients.get(workload), clusters.configs.get(workload)) {
        (true, Some(client), Some(config)) => Some(Access::new(client.clone(), config.clone())),
        (true, ..) => return Err(format!("`live` needs cluster {workload} to be reached over the network").into()),
        (false, ..) => None,
    };
    let (account, egress, served) = (operator.service_account.clone(), process.egress.clone(), served.clone());
    // Programs are waited for, which the runtime's own threads must not do.
    let learned = tokio::task::spawn_blocking(move || {
        Guest::learn(program, account, &served, access.map(|access| (access, &egress[..])))
    });
    Ok(learned.await??)
}

/// What the clusters of all places serve.
async fn served(config: &Config, clusters: &Clusters) -> Result<Discovery, Failure> {
    let mut served = Discovery::default();
    let mut names: Vec<&ClusterName> = Place::ALL.iter().map(|place| config.topology.cluster(*place)).collect();
    names.sort();
    names.dedup();
    for name in names {
        if let Some(client) = clusters.clients.get(name) {
            served = served.and(&discovery(client).await?);
        }
    }
    Ok(served)
}

/// A program as it was when it was last hosted there: enough to decide again from what was recorded.
pub fn recalled(name: &str, dir: &Path) -> Option<Arc<dyn Operator>> {
    let guest = Guest::recall(name, &dir.join(FOLDER))?;
    Some(Arc::new(Reaching(guest)))
}

/// The clusters that a configuration names.
pub async fn clusters(config: &Config) -> Result<Clusters, Failure> {
    let mut clusters = Clusters::default();
    for (name, cluster) in &config.clusters {
        let (client, config) = run::client(name, cluster).await?;
        clusters.clients.insert(name.clone(), client);
        clusters.configs.insert(name.clone(), config);
    }
    Ok(clusters)
}
