//! Operators that are separate programs: their declarations, and their preparation for hosting.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use switchboard_gather::discovery::Discovery;
use switchboard_hosted::{HostedOperator, ProgramSpec, WorkloadAccess, discover};
use switchboard_kernel::config::{Config, OperatorConfig, ProcessConfig};
use switchboard_kernel::host::Handle;
use switchboard_kernel::limits::Limits;
use switchboard_kernel::operator::{Operator, OperatorName};
use switchboard_kernel::topology::{ClusterName, ClusterType};

use crate::contexts::Contexts;
use crate::failure::CommandError;
use crate::limits::CurrentConfig;
use crate::local_ca;
use crate::run;
use crate::state_dir::StateDir;
use crate::stderr::print_stderr;

/// Folder of the programs in the state directory.
const FOLDER: &str = "hosted";
/// First delay before discovery is repeated for missing types; doubled each time.
const LOOK_AGAIN_FIRST: Duration = Duration::from_secs(1);
/// Maximum delay before discovery is repeated.
const LOOK_AGAIN_MAX: Duration = Duration::from_secs(60);

/// Clients for the clusters of a configuration, and their settings.
#[derive(Clone, Default)]
pub struct ClusterClients {
    /// Clients by cluster.
    pub clients: BTreeMap<ClusterName, kube::Client>,
    /// Settings for access from outside this process; a program with `live` gets a kubeconfig made from them.
    pub configs: BTreeMap<ClusterName, kube::Config>,
    /// API server of this process, where logical clusters can be created.
    pub embedded: Option<Contexts>,
    /// Settings of a local `up`, whose logical clusters stand for clusters that only the integrations data names.
    pub local_up: Option<kube::Config>,
}

impl ClusterClients {
    /// Whether a cluster is the one of the `up` with this state directory.
    pub fn is_local(&self, name: &ClusterName, state: &StateDir) -> bool {
        let config = self.configs.get(name);
        config.zip(state.path().ok()).is_some_and(|(config, dir)| local_ca::is_local(&dir, config))
    }

    /// Uses the logical clusters of the `up` with this state directory, if the configuration is stored there.
    #[must_use]
    pub fn with_local_up(mut self, config: &Config, state: &StateDir) -> Self {
        let home = config.topology.cluster(ClusterType::Configuration);
        self.local_up = self.configs.get(home).filter(|_| self.is_local(home, state)).cloned();
        self
    }

    /// Returns a client for a logical cluster of the local `up`, if it serves one of that name.
    pub async fn logical_cluster(&self, name: &str) -> Option<kube::Client> {
        let mut config = self.local_up.clone()?;
        let root = config.cluster_url.to_string();
        config.cluster_url = format!("{}/clusters/{name}", root.trim_end_matches('/')).parse().ok()?;
        let client = kube::Client::try_from(config).ok()?;
        let request = http::Request::get("/api/v1/namespaces/default").body(Vec::new()).ok()?;
        client.request::<serde_json::Value>(request).await.is_ok().then_some(client)
    }
}

/// The program cannot be hosted.
#[derive(Debug, thiserror::Error)]
#[error("could not host {name}")]
struct HostingError {
    name: OperatorName,
    source: CommandError,
}

/// Hosted programs, which are updated when the cluster's types or the limits change.
#[derive(Default)]
pub struct HostedPrograms(Mutex<BTreeMap<OperatorName, Arc<HostedOperator>>>);

impl HostedPrograms {
    /// Returns the operators for the kernel.
    pub fn operators(&self) -> Vec<Arc<dyn Operator>> {
        self.programs().values().cloned().map(|program| program as Arc<dyn Operator>).collect()
    }

    /// Applies changed limits: the kernel cannot enforce the resource limits of a program.
    pub fn set_limits(&self, changed: &[(OperatorName, Limits)]) {
        for (name, limits) in changed {
            if let Some(guest) = self.programs().get(name) {
                guest.set_limits(limits);
            }
        }
    }

    /// Ends runs that would outlive this process.
    pub fn end(&self) {
        self.programs().values().for_each(|guest| guest.stop());
    }

    /// Repeats discovery until no declared type is missing, and adds the changed operators to the kernel.
    pub async fn rediscover(
        &self,
        config: &Config,
        clusters: &ClusterClients,
        handle: &Handle,
        in_force: &CurrentConfig,
    ) {
        let mut wait = LOOK_AGAIN_FIRST;
        while self.programs().values().any(|guest| !guest.unserved().is_empty()) {
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LOOK_AGAIN_MAX);
            // The watches report a cluster that does not answer.
            let Ok(served) = served(config, clusters).await else { continue };
            for operator in self.update_programs(&served) {
                print_stderr(format_args!("{}: a declared type is served now", operator.name()));
                wait = LOOK_AGAIN_FIRST;
                if in_force.add(handle, operator, None).await.is_err() {
                    return;
                }
            }
        }
    }

    /// Updates the programs that gained a type, and returns their operators.
    fn update_programs(&self, served: &Discovery) -> Vec<Arc<dyn Operator>> {
        let mut changed: Vec<Arc<dyn Operator>> = Vec::new();
        for (name, guest) in self.programs().iter_mut().filter(|(_, guest)| !guest.unserved().is_empty()) {
            match guest.with_discovery(served) {
                Ok(Some(more)) => {
                    *guest = Arc::new(more);
                    changed.push(guest.clone());
                }
                Ok(None) => {}
                Err(error) => print_stderr(format_args!("warning: {name}: {error}")),
            }
        }
        changed
    }

    fn programs(&self) -> MutexGuard<'_, BTreeMap<OperatorName, Arc<HostedOperator>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Loads the programs of a configuration.
pub async fn load(config: &Config, clusters: &ClusterClients, dir: &Path) -> Result<HostedPrograms, CommandError> {
    let mut hosted = BTreeMap::new();
    let enabled_operators = config.operators.iter().filter(|(_, operator)| operator.enabled);
    let enabled_operators: Vec<_> =
        enabled_operators.filter_map(|(name, operator)| Some((name, operator, operator.process.as_ref()?))).collect();
    if enabled_operators.is_empty() {
        return Ok(HostedPrograms::default());
    }
    let served = served(config, clusters).await?;
    for (name, operator, process) in enabled_operators {
        let guest = one(name, operator, process, config, clusters, &served, &dir.join(FOLDER)).await;
        let guest = guest.map_err(|source| HostingError { name: name.clone(), source })?;
        for of in guest.unserved() {
            let version = of.api_version();
            print_stderr(format_args!(
                "warning: {name} declares {of} of {version}, which no cluster serves; it has no objects until a cluster serves it"
            ));
        }
        hosted.insert(name.clone(), Arc::new(guest));
    }
    Ok(HostedPrograms(Mutex::new(hosted)))
}

async fn one(
    name: &OperatorName,
    operator: &OperatorConfig,
    process: &ProcessConfig,
    config: &Config,
    clusters: &ClusterClients,
    served: &Discovery,
    work: &Path,
) -> Result<HostedOperator, CommandError> {
    let program = ProgramSpec::of(&name.0, operator, process, work)?;
    let workload = config.topology.cluster(ClusterType::UserWorkload);
    let access = match (process.live, clusters.clients.get(workload), clusters.configs.get(workload)) {
        (true, Some(client), Some(config)) => Some(WorkloadAccess::new(client.clone(), config.clone())),
        (true, ..) => return Err(format!("`live` needs network access to cluster {workload}").into()),
        (false, ..) => None,
    };
    let (account, egress, served) = (operator.service_account.clone(), process.egress.clone(), served.clone());
    // The program blocks, which a thread of the runtime must not do.
    let learned = tokio::task::spawn_blocking(move || {
        HostedOperator::load(program, account, &served, access.map(|access| (access, &egress[..])))
    });
    Ok(learned.await??)
}

/// Returns the types that the clusters of all cluster types serve.
async fn served(config: &Config, clusters: &ClusterClients) -> Result<Discovery, CommandError> {
    let mut served = Discovery::default();
    let mut names: Vec<&ClusterName> = ClusterType::ALL.iter().map(|place| config.topology.cluster(*place)).collect();
    names.sort();
    names.dedup();
    for name in names {
        if let Some(client) = clusters.clients.get(name) {
            served = served.merged_with(&discover(client).await?);
        }
    }
    Ok(served)
}

/// Returns a program as it was last hosted, which can repeat recorded decisions.
pub fn replay_operator(name: &str, dir: &Path) -> Option<Arc<dyn Operator>> {
    let guest = HostedOperator::load_recorded(name, &dir.join(FOLDER))?;
    Some(Arc::new(guest))
}

/// Connects to the clusters of a configuration.
pub async fn connect(config: &Config) -> Result<ClusterClients, CommandError> {
    let mut clusters = ClusterClients::default();
    for (name, cluster) in &config.clusters {
        let (client, config) = run::client(name, cluster).await?;
        clusters.clients.insert(name.clone(), client);
        clusters.configs.insert(name.clone(), config);
    }
    Ok(clusters)
}
