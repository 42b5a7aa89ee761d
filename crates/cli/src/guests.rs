//! Operators that are programs of their own: asked what they read and write, and made ready to be hosted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use switchboard_gather::discovery::Discovery;
use switchboard_guest::{Access, Guest, Program, discovery};
use switchboard_kernel::config::{Config, OperatorConfig, ProcessConfig};
use switchboard_kernel::limits::Limits;
use switchboard_kernel::operator::{Operator, OperatorName, Reaching};
use switchboard_kernel::place::{ClusterName, Place};

use crate::failure::Failure;
use crate::run;
use crate::talk::say;

/// Their folder in the state directory.
const FOLDER: &str = "guests";

/// The clusters of a configuration: clients to work with, and what they were made of.
#[derive(Clone, Default)]
pub struct Clusters {
    /// Clients.
    pub clients: BTreeMap<ClusterName, kube::Client>,
    /// How they are reached from outside this process; what a program with `live` is given is made of it.
    pub configs: BTreeMap<ClusterName, kube::Config>,
    /// The API server of this process, where further clusters can be made.
    pub embedded: Option<switchboard_cluster::Cluster>,
}

/// A program that cannot be hosted.
#[derive(Debug, thiserror::Error)]
#[error("could not host {name}")]
struct NotHosted {
    name: OperatorName,
    source: Failure,
}

/// The operators of a configuration that are programs, ready to be hosted.
pub async fn learn(
    config: &Config,
    clusters: &Clusters,
    dir: &Path,
) -> Result<Vec<(Arc<dyn Operator>, Limits)>, Failure> {
    let mut hosted: Vec<(Arc<dyn Operator>, Limits)> = Vec::new();
    let wanted = config.operators.iter().filter(|(_, operator)| operator.enabled);
    let wanted: Vec<_> =
        wanted.filter_map(|(name, operator)| Some((name, operator, operator.process.as_ref()?))).collect();
    if wanted.is_empty() {
        return Ok(hosted);
    }
    let served = served(config, clusters).await?;
    for (name, operator, process) in wanted {
        let guest = one(name, operator, process, config, clusters, &served, &dir.join(FOLDER)).await;
        let guest = guest.map_err(|source| NotHosted { name: name.clone(), source })?;
        guest.warnings().iter().for_each(|warning| say(format_args!("warning: {warning}")));
        hosted.push((Arc::new(Reaching(guest)), operator.limits.clone()));
    }
    Ok(hosted)
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
