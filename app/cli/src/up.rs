//! `switchboard up`: serves the embedded cluster until a signal arrives.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig};
use switchboard_cluster::Cluster;
use switchboard_cluster::clock_and_rng::ClockAndRng;
use switchboard_cluster::listener::BoundPort;
use switchboard_cluster::request::DEFAULT_CLUSTER;
use switchboard_cluster::store::ObjectStore;
use switchboard_kernel::config::Config;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::contexts::{Contexts, DEFAULT_CONTEXT};
use crate::example::{self, Example};
use crate::failure::CommandError;
use crate::hosted::ClusterClients;
use crate::kernel::{self, StateDir};
use crate::local_pods::{ImageCommands, LocalPods};
use crate::log::LogArgs;
use crate::run::reload::{self, WatchedConfig};
use crate::run::{self, RunningKernel};
use crate::startup_message;
use crate::stderr::print_stderr;
use crate::storage_location::StorageLocation;
use crate::temporary_dir::TemporaryDir;
use crate::{failure, listen_address, local_ca, operators};

/// Interval of the store's clock; changes are kept for ten intervals.
const TICK: Duration = Duration::from_secs(30);

/// Start the embedded cluster
#[derive(Args)]
pub struct Up {
    /// Directory for all data [default: switchboard in the user's data directory]
    #[arg(long, value_name = "DIR", conflicts_with = "ephemeral")]
    data_dir: Option<PathBuf>,
    /// Keep all data in memory; it is lost when the process ends
    #[arg(long)]
    ephemeral: bool,
    /// Listen address; port 0 selects a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = listen_address::DEFAULT, value_parser = listen_address::parse)]
    listen: SocketAddr,
    /// File to write the kubeconfig to [default: kubeconfig in the data directory]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Additional logical cluster, with its own context in the kubeconfig; may be repeated
    #[arg(long, value_name = "NAME", value_parser = cluster_name)]
    cluster: Vec<String>,
    /// Configuration file with operators and limits [default: the sample operator]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Example to apply once the cluster is ready; may be repeated
    #[arg(long, value_name = "NAME", value_enum)]
    example: Vec<Example>,
    #[command(flatten)]
    state: StateDir,
    /// Format of the log.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Default configuration.
const SAMPLE: &str = "operators:\n  greeter: {}\n";
/// Default configuration for an example.
const WITH_EXAMPLE: &str = "operators:\n  greeter: {}\n  plugs: {}\n";
/// Default configuration for an example that deploys from git.
const WITH_ENGINE: &str = "operators:\n  greeter: {}\n  plugs: {}\n  engine: {}\n";
/// Default configuration for an example that uses the GitOps Service.
const WITH_SERVICE: &str = "operators:\n  greeter: {}\n  plugs: {}\n  engine: {}\ngitops: {}\n";

fn cluster_name(text: &str) -> Result<String, String> {
    match switchboard_object::name::dns1123_label(text).first() {
        None if text == DEFAULT_CONTEXT => Err("the name is used by the context of the default cluster".into()),
        None => Ok(text.to_string()),
        Some(why) => Err(why.clone()),
    }
}

impl Up {
    /// Runs until a signal arrives.
    pub async fn run(self) -> Result<(), CommandError> {
        // Installed before anything is written, so that a signal during the start stops it as well.
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let hangup = signal(SignalKind::hangup())?;
        let place = if self.ephemeral {
            StorageLocation::Memory
        } else {
            StorageLocation::directory(self.data_dir.as_deref())?
        };
        let (config, followed) = match &self.config {
            Some(file) => {
                let (config, text) = kernel::read_with_text(file)?;
                (config, Some(WatchedConfig::new(file, text)))
            }
            None => {
                let sample = match &self.example[..] {
                    [] => SAMPLE,
                    some if some.contains(&Example::Deployments) => WITH_SERVICE,
                    some if some.contains(&Example::Gitops) => WITH_ENGINE,
                    _ => WITH_EXAMPLE,
                };
                (Config::parse("the built-in configuration", sample, operators::KNOWN)?, None)
            }
        };
        let temporary = match place {
            StorageLocation::Memory => Some(TemporaryDir::create()?),
            StorageLocation::Directory(_) => None,
        };
        let home = match (&place, &temporary) {
            (StorageLocation::Directory(path), _) => path.clone(),
            (StorageLocation::Memory, Some(temporary)) => temporary.path().to_path_buf(),
            (StorageLocation::Memory, None) => unreachable!("in-memory mode uses a temporary directory"),
        };
        let file = self.kubeconfig.clone().unwrap_or_else(|| home.join("kubeconfig"));
        let port = BoundPort::bind(self.listen).await?;
        let address = port.address();
        let ambient = ClockAndRng::system();
        let store = place.store()?;
        let certificates = Arc::new(place.certificates(address, &ambient)?);
        let keys = place.auth_keys(&certificates)?;
        place.warn_about_readable_keys();
        let cluster = Cluster::with_keys(keys, store.clone(), ambient).await;
        for name in &self.cluster {
            cluster.logical(name).await;
        }
        cluster.start_controllers();
        let listener = cluster.listen(port, &certificates)?;
        let authority = certificates.authority.certificate.clone();
        let contexts = Contexts::new(cluster.clone(), address, certificates, file.clone());
        contexts.write()?;
        let dir = self.state.clone().or_below(&home).path()?;
        let commands = ImageCommands::of(&config, &self.folder()?)?;
        if operators::hosts_plugs(&config) {
            example::install_kinds(&cluster.client()).await?;
        }
        let running =
            RunningKernel::start(&config, clusters(&cluster, contexts, &config, &file).await?, &dir, false).await?;
        // Without the file, a `plan` reads no repositories of this machine.
        if let Err(error) = local_ca::record(&dir, &authority, &file) {
            print_stderr(format_args!(
                "warning: could not write the CA certificate to {}\n{}",
                dir.display(),
                failure::message(&error)
            ));
        }
        let local = LocalPods::start(cluster.client(), commands);
        kernel::print_state_dir_hint(&dir);
        for example in &self.example {
            example.apply(&cluster.client(), &home).await?;
        }
        startup_message::print(&file, &listener)?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = tick_store(store) => {}
            () = reload(followed, config, &running, hangup) => {}
        }
        run::stop(running, &mut interrupt, &mut terminate).await?;
        if let Some(local) = local {
            local.stop().await;
        }
        listener.stop().await;
        Ok(())
    }

    /// Returns the folder of the configuration, the base of its relative paths.
    fn folder(&self) -> Result<PathBuf, CommandError> {
        let folder = self.config.as_deref().and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
        Ok(std::path::absolute(folder.unwrap_or(Path::new(".")))?)
    }
}

/// Returns the clusters of a configuration: logical clusters of this process, unless they have a kubeconfig.
async fn clusters(
    cluster: &Cluster,
    contexts: Contexts,
    config: &Config,
    file: &Path,
) -> Result<ClusterClients, CommandError> {
    let mut clusters = ClusterClients { embedded: Some(contexts.clone()), ..ClusterClients::default() };
    for (name, cluster_config) in &config.clusters {
        let (client, config) = if cluster_config.kubeconfig.is_some() || cluster_config.context.is_some() {
            run::client(name, cluster_config).await?
        } else if &*name.0 == DEFAULT_CLUSTER {
            (cluster.client(), external_config(file, DEFAULT_CONTEXT).await?)
        } else {
            let client = contexts.client_of(&name.0).await;
            let mut config = external_config(file, DEFAULT_CONTEXT).await?;
            config.cluster_url =
                format!("{}/clusters/{name}", config.cluster_url.to_string().trim_end_matches('/')).parse()?;
            (client, config)
        };
        clusters.clients.insert(name.clone(), client);
        clusters.configs.insert(name.clone(), config);
    }
    Ok(clusters)
}

/// Returns the client settings of a logical cluster for other processes.
async fn external_config(file: &Path, context: &str) -> Result<kube::Config, CommandError> {
    let options = KubeConfigOptions { context: Some(context.to_string()), ..KubeConfigOptions::default() };
    Ok(kube::Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &options).await?)
}

async fn reload(followed: Option<WatchedConfig<'_>>, config: Config, running: &RunningKernel, hangup: Signal) {
    match followed {
        Some(followed) => reload::reload(followed, Ok, config, running, hangup).await,
        None => std::future::pending().await,
    }
}

/// Advances the clock of the store, which then drops old changes.
async fn tick_store(store: ObjectStore) {
    let started = Instant::now();
    loop {
        tokio::time::sleep(TICK).await;
        store.tick(started.elapsed());
    }
}
