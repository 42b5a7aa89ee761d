//! `switchboard run`: hosts operators over clusters, until a signal.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use switchboard_console::{Console, Serving, Source};
use switchboard_kernel::config::{ClusterConfig, Config, OperatorConfig};
use switchboard_kernel::host::{Handle, Host, Settings};
use switchboard_kernel::journal::{Bounds, Journal};
use switchboard_kernel::limits::Limits;
use switchboard_kernel::listener::{Listening, listen_with};
use switchboard_kernel::operator::{Operator, OperatorName};
use switchboard_kernel::place::{ClusterName, Place};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use crate::failure::{self, Failure};
use crate::gitops::engine::Embedded;
use crate::gitops::hosting::{self, Service};
use crate::guests::{self, Clusters, Guests};
use crate::integrations::hosting::Manager;
use crate::kernel::{self, StateDir};
use crate::limits::{self, InForce};
use crate::operators;
use crate::reach::Reach;
use crate::talk::say;

/// How often the configuration is looked at; SIGHUP has it looked at once.
const RELOAD_EVERY: Duration = Duration::from_secs(2);

/// Hosts the operators of a configuration.
#[derive(Args)]
pub struct Run {
    /// What to host, where, and within which limits
    #[arg(long, value_name = "FILE", default_value = "switchboard.yaml")]
    config: PathBuf,
    /// Ask the clusters to pretend; nothing is written
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    state: StateDir,
}

impl Run {
    /// Runs until a signal comes.
    pub async fn run(self) -> Result<(), Failure> {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        // Until somebody listens for it, this signal ends the process.
        let hangup = signal(SignalKind::hangup())?;
        let (config, text) = kernel::read_with_text(&self.config)?;
        let config = self.reached(config)?;
        let followed = Followed::new(&self.config, text);
        config.warnings().iter().for_each(|warning| say(format_args!("warning: {warning}")));
        let clusters = guests::clusters(&config).await?;
        let running = Running::start(&config, clusters, &self.state.path()?, self.dry_run).await?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = reload(followed, |new| self.reached(new), config, &running, hangup) => {}
        }
        stop(running, &mut interrupt, &mut terminate).await
    }

    /// What the command line says counts over the file.
    fn reached(&self, mut config: Config) -> Result<Config, Failure> {
        self.reach.fill(&mut config);
        Ok(config)
    }
}

/// Stopped before what was under way had come to an end.
#[derive(Debug, thiserror::Error)]
#[error("stopped at once: what was under way was not waited for")]
struct Hurried;

/// Finishes what is under way and stops; a second signal stops at once.
pub async fn stop(running: Running, interrupt: &mut Signal, terminate: &mut Signal) -> Result<(), Failure> {
    say("stopping");
    let again = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let guests = running.guests.clone();
    let stopped = unless(again, running.stop()).await;
    // Nobody waits for what comes of them.
    guests.end();
    Ok(stopped?)
}

async fn unless(again: impl Future<Output = ()>, stopped: impl Future<Output = ()>) -> Result<(), Hurried> {
    tokio::select! {
        () = stopped => Ok(()),
        () = again => Err(Hurried),
    }
}

/// A kernel at work in this process.
pub struct Running {
    /// Asks and stops it.
    pub handle: Handle,
    host: JoinHandle<()>,
    /// Follows the source of integrations.
    integrations: Option<JoinHandle<()>>,
    /// Follows the clusters that the embedded engine deploys to.
    engine: Option<JoinHandle<()>>,
    /// Follow the GitOps Service's database.
    gitops: Vec<JoinHandle<()>>,
    guests: Arc<Guests>,
    /// What later operators are hosted by.
    in_force: InForce,
    looking: JoinHandle<()>,
    _listening: Listening,
    _console: Option<Serving>,
}

impl Running {
    /// Starts the operators of a configuration.
    pub async fn start(config: &Config, clusters: Clusters, dir: &Path, dry_run: bool) -> Result<Self, Failure> {
        let bounds = Bounds { max_bytes: config.journal.max_bytes, max_age: config.journal.max_age };
        let journal = Journal::open(&kernel::make(dir)?, bounds)?;
        kernel::warn_of_damage(&journal);
        let guests = Arc::new(guests::learn(config, &clusters, dir).await?);
        let mut operators = hosted(config);
        let with_limits = |operator: Arc<dyn Operator>| {
            let limits = limits::of(config, operator.name());
            (operator, limits)
        };
        operators.extend(guests.operators().into_iter().map(with_limits));
        let own = hosting::is_own(Place::Management, config, &clusters);
        let engine = Embedded::new(config, &clusters, dir, own, dry_run).await?;
        operators.extend(engine.iter().map(|engine| with_limits(engine.operator())));
        let manager = config.integrations.as_ref();
        let manager = manager
            .map(|section| Manager::new(section, &config.topology, clusters.clone())?.remembering(dir))
            .transpose()?;
        let service = match &config.gitops {
            // Its database cannot pretend.
            Some(_) if dry_run => {
                say("gitops is left out: only clusters can be asked to pretend");
                None
            }
            Some(section) => Some(Service::new(config, section, &clusters, dir).await?),
            None => None,
        };
        operators.extend(service.iter().flat_map(Service::operators).map(with_limits));
        let settings = Settings {
            clusters: clusters.clients.clone(),
            topology: config.topology.clone(),
            global: config.limits.clone(),
            journal,
            dry_run,
        };
        let console = if config.console.off { None } else { Some(Console::bind((&config.console).into()).await?) };
        let reviews = settings.clusters.get(&config.topology.configuration).cloned();
        let (host, handle) = Host::new(settings, operators);
        let listening = listen_with(&handle, config.listen, Some(dir), service.as_ref().map(Service::metrics)).await?;
        if let Some(address) = listening.address() {
            say(format_args!("metrics at http://{address}/metrics"));
        }
        let names = config.operators.iter().filter(|(_, o)| o.enabled).map(|(n, _)| n.to_string());
        let names = names.chain(manager.iter().map(|_| "integrations".to_string()));
        let names: Vec<String> = names.chain(service.iter().flat_map(Service::names)).collect();
        say(format_args!("hosting {}", if names.is_empty() { "no operator".to_string() } else { names.join(", ") }));
        if dry_run {
            say("nothing is written: the clusters are asked to pretend");
        }
        let host = tokio::spawn(host.run());
        let shelf = manager.as_ref().map(Manager::shelf);
        let fleet = service.as_ref().map(Service::units);
        let rest: Vec<_> = service.iter().filter_map(Service::rest).collect();
        let console = console.zip(reviews).map(|(console, reviews)| {
            say(format_args!("console at {}", console.told()));
            let home = config.topology.configuration.clone();
            let engines = config.topology.cluster(Place::Management).clone();
            let source = Source::new(handle.clone(), home).with_engines(engines);
            let flags = kernel::flags(dir);
            let flags = config.gitops.iter().fold(flags, |flags, section| hosting::flags(section, dir, flags));
            let source = source.with_integrations(shelf).with_fleet(fleet).with_flags(flags);
            console.serve(source, reviews, rest)
        });
        let in_force = InForce::new(config.clone());
        let integrations = manager.map(|manager| manager.follow(handle.clone(), in_force.clone()));
        let engine = engine.map(|engine| engine.follow(handle.clone(), in_force.clone()));
        let gitops = service.map(|service| service.follow(&handle, dir)).unwrap_or_default();
        let looking = {
            let (guests, config, handle, in_force) = (guests.clone(), config.clone(), handle.clone(), in_force.clone());
            tokio::spawn(async move { guests.look_again(&config, &clusters, &handle, &in_force).await })
        };
        Ok(Self {
            handle,
            host,
            integrations,
            engine,
            gitops,
            guests,
            in_force,
            looking,
            _listening: listening,
            _console: console,
        })
    }

    /// Finishes what is under way and stops.
    pub async fn stop(self) {
        self.looking.abort();
        self.handle.stop().await;
        self.integrations.iter().chain(&self.engine).chain(&self.gitops).for_each(JoinHandle::abort);
        // A host that panicked has said so.
        let _ = self.host.await;
    }
}

/// The operators that a configuration wants hosted.
pub fn hosted(config: &Config) -> Vec<(Arc<dyn Operator>, Limits)> {
    let wanted = config.operators.iter().filter(|(_, operator)| operator.enabled);
    let with_limits = |(name, wanted): (&OperatorName, &OperatorConfig)| {
        let members = members(config, name, wanted).into_iter();
        let own = |one| (operators::writing_as(one, wanted.service_account.clone()), wanted.limits());
        members.map(own).collect::<Vec<_>>()
    };
    wanted.flat_map(with_limits).collect()
}

/// What one entry of a configuration stands for. One of a family that the configuration names by itself is hosted as it
/// says there.
fn members(config: &Config, name: &OperatorName, wanted: &OperatorConfig) -> Vec<Arc<dyn Operator>> {
    let mut family = operators::family(&name.0, &wanted.settings);
    family.retain(|one| *one.name() == *name.0 || !config.operators.contains_key(&OperatorName::new(one.name())));
    family
}

/// No client for a cluster.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not reach the cluster {name}\nhint: check --kubeconfig, `clusters.{name}` in the configuration, or KUBECONFIG"
)]
struct ClientError {
    name: ClusterName,
    source: Failure,
}

/// A client for a cluster that a configuration names, and what it is made of.
pub async fn client(name: &ClusterName, cluster: &ClusterConfig) -> Result<(kube::Client, kube::Config), Failure> {
    Ok(connect(cluster).await.map_err(|source| ClientError { name: name.clone(), source })?)
}

async fn connect(cluster: &ClusterConfig) -> Result<(kube::Client, kube::Config), Failure> {
    let reach = Reach { kubeconfig: cluster.kubeconfig.clone(), context: cluster.context.clone() };
    let mut config = reach.config().await?;
    // The applier knows what may be sent twice; the client does not.
    config.default_retry = false;
    Ok((kube::Client::try_from(config.clone())?, config))
}

/// A configuration's file, and what stood in it when it was last read.
pub struct Followed<'a> {
    file: &'a Path,
    seen: Option<String>,
}

impl<'a> Followed<'a> {
    /// A file of which this was read. What is written to it from then on is a change, however long the process takes to start.
    pub fn new(file: &'a Path, text: String) -> Self {
        Self { file, seen: Some(text) }
    }

    /// The configuration that stands there now; nothing when it is the one that was read last.
    fn changed(&mut self) -> Option<Result<Config, Failure>> {
        let read = kernel::read_text(self.file);
        let text = read.as_ref().ok().cloned();
        if text == self.seen {
            return None;
        }
        self.seen = text;
        Some(read.and_then(|text| kernel::parse_config(self.file, &text)))
    }
}

/// Takes up changed limits as long as it runs, of what `shape` makes of the configuration. One that cannot be read changes nothing.
/// What only a restart takes up is told against the one that was started.
pub async fn reload(
    mut followed: Followed<'_>,
    shape: impl Fn(Config) -> Result<Config, Failure>,
    started: Config,
    running: &Running,
    mut hangup: Signal,
) {
    loop {
        tokio::select! {
            _ = hangup.recv() => {}
            () = tokio::time::sleep(RELOAD_EVERY) => {}
        }
        match followed.changed().map(|read| read.and_then(&shape)) {
            None => {}
            Some(Ok(new)) => {
                take_up(&started, &new, running).await;
            }
            Some(Err(error)) => {
                say(failure::tell(&*error));
                say("the configuration before it stays in force");
            }
        }
    }
}

async fn take_up(started: &Config, new: &Config, running: &Running) {
    let changes = started.changes(new);
    if let Ok(changed) = running.in_force.replace(new.clone(), &running.handle).await {
        running.guests.set_limits(&changed);
        let names: Vec<String> = changed.iter().map(|(name, _)| name.to_string()).collect();
        let whose = if names.is_empty() { String::new() } else { format!(": limits of {}", names.join(", ")) };
        say(format_args!("took up the changed configuration{whose}"));
    }
    for change in changes.needs_restart {
        say(format_args!("warning: {change}"));
        say("hint: restart to take it up");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_written_to_the_configuration_while_the_process_starts_is_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("switchboard.yaml");
        std::fs::write(&file, "operators:\n  greeter: {}\n").unwrap();
        let (config, text) = kernel::read_with_text(&file).unwrap();
        std::fs::write(&file, "operators: {}\n").unwrap();
        let mut followed = Followed::new(&file, text);
        let new = followed.changed().expect("another than was read").unwrap();
        assert_eq!((config.operators.len(), new.operators.len()), (1, 0));
        assert!(followed.changed().is_none(), "once is enough");
        std::fs::remove_file(&file).unwrap();
        assert!(followed.changed().is_some_and(|read| read.is_err()) && followed.changed().is_none());
    }

    #[tokio::test]
    async fn a_second_signal_stops_at_once() {
        assert!(unless(std::future::ready(()), std::future::pending()).await.is_err());
        assert!(unless(std::future::pending(), std::future::ready(())).await.is_ok());
    }
}
