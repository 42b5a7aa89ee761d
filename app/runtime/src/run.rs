//! Operators of a configuration in this process, until a signal arrives.

pub mod reload;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_console::{Console, ConsoleSource, RunningConsole};
use switchboard_gitops::config::GitopsConfig;
use switchboard_integrations::config::IntegrationsConfig;
use switchboard_kernel::config::{ClusterConfig, Config, OperatorConfig};
use switchboard_kernel::family::Families;
use switchboard_kernel::host::{Handle, Host, HostSettings};
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::Limits;
use switchboard_kernel::listener::{KernelListener, listen_with_metrics};
use switchboard_kernel::operator::{Operator, OperatorName};
use switchboard_kernel::topology::{ClusterName, ClusterType};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::cluster_access::ClusterAccess;
use crate::config_file;
use crate::failure::CommandError;
use crate::gitops::engine::EmbeddedEngine;
use crate::gitops::hosting::{self, GitopsService};
use crate::hosted::{self, ClusterClients, HostedPrograms};
use crate::integrations::hosting::IntegrationsManager;
use crate::limits::CurrentConfig;
use crate::service_account::with_service_account;
use crate::state_dir::{self, StateDir};
use crate::stderr::print_stderr;
use reload::WatchedConfig;

/// Options of [`run`].
pub struct RunOptions<'a> {
    /// Operators that the configuration may name.
    pub families: Families,
    /// Configuration file, which is followed while the process runs; the default configuration when absent.
    pub config: Option<&'a Path>,
    /// Adapts the configuration, also after a change of the file.
    pub adapt: &'a dyn Fn(Config) -> Result<Config, CommandError>,
    /// State directory.
    pub state: StateDir,
    /// Whether one operator runs alone, with a state directory of its own.
    pub is_alone: bool,
    /// Whether writes are sent as dry runs.
    pub dry_run: bool,
}

/// Runs the operators of a configuration until a signal arrives.
///
/// # Errors
/// Fails if the configuration is invalid, or if an operator or the kernel cannot start.
pub async fn run(options: RunOptions<'_>) -> Result<(), CommandError> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    // The default action of SIGHUP ends the process, so the handler is installed first. Without a configuration
    // file there is nothing to reload, and SIGHUP ends the process as usual.
    let hangup = options.config.map(|_| signal(SignalKind::hangup())).transpose()?;
    let (config, watched) = match options.config {
        Some(file) => {
            let (config, text) = config_file::read_with_text(options.families, file)?;
            ((options.adapt)(config)?, Some(WatchedConfig::new(options.families, file, text)))
        }
        None => ((options.adapt)(Config { families: options.families, ..Config::default() })?, None),
    };
    config.warnings().iter().for_each(|warning| print_stderr(format_args!("warning: {warning}")));
    let clusters = hosted::connect(&config).await?;
    let dir = options.state_dir(&config)?;
    let running = RunningKernel::start(&config, clusters, &dir, options.dry_run).await?;
    if options.is_alone {
        state_dir::print_state_dir_hint(&dir);
    }
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = reload_if_followed(watched, options.adapt, config, &running, hangup) => {}
    }
    stop(running, &mut interrupt, &mut terminate).await
}

impl RunOptions<'_> {
    /// Returns the state directory. An operator that runs alone has its own.
    fn state_dir(&self, config: &Config) -> Result<PathBuf, CommandError> {
        let hosted = config.operators.iter().find(|(_, operator)| operator.enabled && self.is_alone);
        let state = self.state.clone();
        hosted.map_or(state.clone(), |(name, _)| state.or_for_operator(&name.to_string())).path()
    }
}

/// Reloads the configuration file, if there is one, until the process stops.
pub(crate) async fn reload_if_followed(
    watched: Option<WatchedConfig<'_>>,
    adapt: &dyn Fn(Config) -> Result<Config, CommandError>,
    config: Config,
    running: &RunningKernel,
    hangup: Option<Signal>,
) {
    match (watched, hangup) {
        (Some(watched), Some(hangup)) => reload::reload(watched, adapt, config, running, hangup).await,
        _ => std::future::pending().await,
    }
}

/// The process stopped before its running work had finished.
#[derive(Debug, thiserror::Error)]
#[error("stopped before running units had finished")]
struct ForcedStop;

/// Finishes running work and stops; a second signal stops at once.
pub async fn stop(running: RunningKernel, interrupt: &mut Signal, terminate: &mut Signal) -> Result<(), CommandError> {
    print_stderr("stopping");
    let again = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let guests = running.programs.clone();
    let stopped = stop_or_force(again, running.stop()).await;
    // The results of running programs are no longer needed.
    guests.end();
    Ok(stopped?)
}

async fn stop_or_force(again: impl Future<Output = ()>, stopped: impl Future<Output = ()>) -> Result<(), ForcedStop> {
    tokio::select! {
        () = stopped => Ok(()),
        () = again => Err(ForcedStop),
    }
}

/// Running kernel in this process.
pub struct RunningKernel {
    /// Handle for requests and the shutdown.
    pub handle: Handle,
    host: JoinHandle<()>,
    /// Task that follows the source of integrations.
    integrations: Option<JoinHandle<()>>,
    /// Task that follows the clusters of the embedded engine.
    engine: Option<JoinHandle<()>>,
    /// Tasks that follow the database of the GitOps Service.
    gitops: Vec<JoinHandle<()>>,
    programs: Arc<HostedPrograms>,
    /// Configuration for operators that are added later.
    current_config: CurrentConfig,
    discovery: JoinHandle<()>,
    _listening: KernelListener,
    _console: Option<RunningConsole>,
}

impl RunningKernel {
    /// Starts the operators of a configuration.
    pub async fn start(
        config: &Config,
        clusters: ClusterClients,
        dir: &Path,
        dry_run: bool,
    ) -> Result<Self, CommandError> {
        let bounds = JournalLimits { max_bytes: config.journal.max_bytes, max_age: config.journal.max_age };
        let journal = Journal::open(&state_dir::create_state_dir(dir)?, bounds)?;
        state_dir::warn_of_damage(&journal);
        let guests = Arc::new(hosted::load(config, &clusters, dir).await?);
        let mut operators = configured_operators(config);
        let with_limits = |operator: Arc<dyn Operator>| {
            let limits = config.limits_of(operator.name());
            (operator, limits)
        };
        operators.extend(guests.operators().into_iter().map(with_limits));
        let own = hosting::is_embedded(ClusterType::Management, config, &clusters);
        let engine = EmbeddedEngine::new(config, &clusters, dir, own, dry_run).await?;
        operators.extend(engine.iter().map(|engine| with_limits(engine.operator())));
        let manager = config.section::<IntegrationsConfig>();
        let manager = manager
            .map(|section| IntegrationsManager::new(section, &config.topology, clusters.clone())?.with_memory(dir))
            .transpose()?;
        let service = match config.section::<GitopsConfig>() {
            // The service's database has no dry run.
            Some(_) if dry_run => {
                print_stderr("gitops is skipped: its database has no dry run");
                None
            }
            Some(section) => Some(GitopsService::new(config, section, &clusters, dir).await?),
            None => None,
        };
        operators.extend(service.iter().flat_map(GitopsService::operators).map(with_limits));
        let settings = HostSettings {
            clusters: clusters.clients.clone(),
            topology: config.topology.clone(),
            global: config.limits.clone(),
            journal,
            dry_run,
        };
        let console = if config.console.disabled { None } else { Some(Console::bind((&config.console).into()).await?) };
        let reviews = settings.clusters.get(&config.topology.configuration).cloned();
        let (host, handle) = Host::new(settings, operators);
        let listening =
            listen_with_metrics(&handle, config.listen, Some(dir), service.as_ref().map(GitopsService::metrics))
                .await?;
        if let Some(address) = listening.address() {
            print_stderr(format_args!("metrics at http://{address}/metrics"));
        }
        let names = config.operators.iter().filter(|(_, o)| o.enabled).map(|(n, _)| n.to_string());
        let names = names.chain(manager.iter().map(|_| "integrations".to_string()));
        let names: Vec<String> = names.chain(service.iter().flat_map(GitopsService::names)).collect();
        print_stderr(format_args!(
            "running {}",
            if names.is_empty() { "no operators".to_string() } else { names.join(", ") }
        ));
        if dry_run {
            print_stderr("dry run: nothing is written");
        }
        let host = tokio::spawn(host.run());
        let store = manager.as_ref().map(IntegrationsManager::store);
        let fleet = service.as_ref().map(GitopsService::fleet);
        let rest: Vec<_> = service.iter().filter_map(GitopsService::rest).collect();
        let console = console.zip(reviews).map(|(console, reviews)| {
            print_stderr(format_args!("console at {}", console.description()));
            let home = config.topology.configuration.clone();
            let engines = config.topology.cluster(ClusterType::Management).clone();
            let source = ConsoleSource::new(handle.clone(), home).with_engines(engines);
            let flags = state_dir::flags(dir);
            let flags = config
                .section::<GitopsConfig>()
                .into_iter()
                .fold(flags, |flags, section| hosting::flags(section, dir, flags));
            let source = source.with_integrations(store).with_fleet(fleet).with_flags(flags);
            console.serve(source, reviews, rest)
        });
        let in_force = CurrentConfig::new(config.clone());
        let integrations = manager.map(|manager| manager.follow(handle.clone(), in_force.clone()));
        let engine = engine.map(|engine| engine.follow(handle.clone(), in_force.clone()));
        let gitops = service.map(|service| service.follow(&handle, dir)).unwrap_or_default();
        let looking = {
            let (guests, config, handle, in_force) = (guests.clone(), config.clone(), handle.clone(), in_force.clone());
            tokio::spawn(async move { guests.rediscover(&config, &clusters, &handle, &in_force).await })
        };
        Ok(Self {
            handle,
            host,
            integrations,
            engine,
            gitops,
            programs: guests,
            current_config: in_force,
            discovery: looking,
            _listening: listening,
            _console: console,
        })
    }

    /// Finishes running work and stops.
    pub async fn stop(self) {
        self.discovery.abort();
        self.handle.stop().await;
        self.integrations.iter().chain(&self.engine).chain(&self.gitops).for_each(JoinHandle::abort);
        // A panic of the host is already printed.
        let _ = self.host.await;
    }
}

/// Returns the enabled operators of a configuration.
pub fn configured_operators(config: &Config) -> Vec<(Arc<dyn Operator>, Limits)> {
    let enabled_operators = config.operators.iter().filter(|(_, operator)| operator.enabled);
    let with_limits = |(name, enabled_operators): (&OperatorName, &OperatorConfig)| {
        let members = members(config, name, enabled_operators).into_iter();
        let own = |one: Arc<dyn Operator>| {
            let limits = config.limits_of(one.name());
            (with_service_account(one, enabled_operators.service_account.clone()), limits)
        };
        members.map(own).collect::<Vec<_>>()
    };
    enabled_operators.flat_map(with_limits).collect()
}

/// Returns the operators of a configuration entry. A related operator with an entry of its own is configured there.
fn members(config: &Config, name: &OperatorName, enabled_operators: &OperatorConfig) -> Vec<Arc<dyn Operator>> {
    let mut family = config.families.hosted(&name.0, &enabled_operators.settings);
    family.retain(|one| *one.name() == *name.0 || !config.operators.contains_key(&OperatorName::new(one.name())));
    family
}

/// A client for the cluster could not be built.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not reach the cluster {name}\nhint: check --kubeconfig, `clusters.{name}` in the configuration, or KUBECONFIG"
)]
struct ClusterClientError {
    name: ClusterName,
    source: CommandError,
}

/// Builds a client for a configured cluster, and returns its settings.
pub async fn client(name: &ClusterName, cluster: &ClusterConfig) -> Result<(kube::Client, kube::Config), CommandError> {
    Ok(connect(cluster).await.map_err(|source| ClusterClientError { name: name.clone(), source })?)
}

async fn connect(cluster: &ClusterConfig) -> Result<(kube::Client, kube::Config), CommandError> {
    let mut config = ClusterAccess(cluster.clone()).config().await?;
    // The applier decides which requests are safe to retry; the client does not know.
    config.default_retry = false;
    Ok((kube::Client::try_from(config.clone())?, config))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn second_signal_stops_at_once() {
        assert!(stop_or_force(std::future::ready(()), std::future::pending()).await.is_err());
        assert!(stop_or_force(std::future::pending(), std::future::ready(())).await.is_ok());
    }
}
