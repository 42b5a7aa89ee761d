//! Embedded cluster with the operators of a configuration, until a signal arrives.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use switchboard_cluster::Cluster;
use switchboard_cluster::clock_and_rng::ClockAndRng;
use switchboard_cluster::listener::{BoundPort, Listener};
use switchboard_cluster::request::DEFAULT_CLUSTER;
use switchboard_cluster::store::ObjectStore;
use switchboard_kernel::config::Config;
use switchboard_kernel::family::Families;
use tokio::signal::unix::{SignalKind, signal};

use crate::contexts::{Contexts, DEFAULT_CONTEXT};
use crate::failure::CommandError;
use crate::hosted::ClusterClients;
use crate::local_pods::{ImageCommands, LocalPods};
use crate::run::reload::WatchedConfig;
use crate::run::{self, RunningKernel};
use crate::state_dir::{self, StateDir};
use crate::stderr::print_stderr;
use crate::storage_location::StorageLocation;
use crate::temporary_dir::TemporaryDir;
use crate::{config_file, failure, local_ca, object_apply};

/// Interval of the store's clock; changes are kept for ten intervals.
const TICK: Duration = Duration::from_secs(30);

/// Options of [`up`].
pub struct UpOptions {
    /// Operators that the configuration may name.
    pub families: Families,
    /// Location of all data.
    pub data: DataLocation,
    /// Listen address; port 0 selects a free port.
    pub listen: SocketAddr,
    /// File for the kubeconfig; `kubeconfig` in the data directory when absent.
    pub kubeconfig: Option<PathBuf>,
    /// Additional logical clusters.
    pub clusters: Vec<String>,
    /// Configuration.
    pub config: UpConfig,
    /// State directory.
    pub state: StateDir,
}

/// Location of the data of [`up`].
pub enum DataLocation {
    /// Memory; the data is lost when the process ends.
    Memory,
    /// Directory; `switchboard` in the user's data directory when absent.
    Directory(Option<PathBuf>),
}

/// Configuration of [`up`].
pub enum UpConfig {
    /// File, which is followed while the process runs.
    File(PathBuf),
    /// Text that is part of the binary.
    BuiltIn(String),
}

/// Embedded cluster that is ready, with its operators.
pub struct ReadyCluster<'a> {
    /// Client for the default cluster.
    pub client: kube::Client,
    /// Folder of the data.
    pub home: &'a Path,
    /// File with the kubeconfig.
    pub kubeconfig: &'a Path,
    /// Listener of the API server.
    pub listener: &'a Listener,
}

/// Serves the embedded cluster and runs the operators of a configuration until a signal arrives. `on_ready` is called
/// once everything has started.
///
/// # Errors
/// Fails if the configuration is invalid, or if the cluster, an operator or the kernel cannot start.
pub async fn up(
    options: UpOptions,
    on_ready: impl AsyncFnOnce(ReadyCluster<'_>) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    // Installed before anything is written, so that a signal during the start stops it as well.
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let hangup = signal(SignalKind::hangup())?;
    let place = match &options.data {
        DataLocation::Memory => StorageLocation::Memory,
        DataLocation::Directory(directory) => StorageLocation::directory(directory.as_deref())?,
    };
    let (config, followed) = match &options.config {
        UpConfig::File(file) => {
            let (config, text) = config_file::read_with_text(options.families, file)?;
            (config, Some(WatchedConfig::new(options.families, file, text)))
        }
        UpConfig::BuiltIn(text) => (Config::parse("the built-in configuration", text, options.families)?, None),
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
    let file = options.kubeconfig.clone().unwrap_or_else(|| home.join("kubeconfig"));
    let port = BoundPort::bind(options.listen).await?;
    let address = port.address();
    let ambient = ClockAndRng::system();
    let store = place.store()?;
    let certificates = Arc::new(place.certificates(address, &ambient)?);
    let keys = place.auth_keys(&certificates)?;
    place.warn_about_readable_keys();
    let cluster = Cluster::with_keys(keys, store.clone(), ambient).await;
    for name in &options.clusters {
        cluster.logical(name).await;
    }
    cluster.start_controllers();
    let listener = cluster.listen(port, &certificates)?;
    let authority = certificates.authority.certificate.clone();
    let contexts = Contexts::new(cluster.clone(), address, certificates, file.clone());
    contexts.write()?;
    let dir = options.state.clone().or_below(&home).path()?;
    let commands = ImageCommands::of(&config, &options.folder()?)?;
    for definition in options.families.definitions(&config) {
        object_apply::apply(&cluster.client(), &definition).await?;
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
    state_dir::print_state_dir_hint(&dir);
    on_ready(ReadyCluster { client: cluster.client(), home: &home, kubeconfig: &file, listener: &listener }).await?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = tick_store(store) => {}
        () = run::reload_if_followed(followed, &Ok, config, &running, Some(hangup)) => {}
    }
    run::stop(running, &mut interrupt, &mut terminate).await?;
    if let Some(local) = local {
        local.stop().await;
    }
    listener.stop().await;
    Ok(())
}

impl UpOptions {
    /// Returns the folder of the configuration, the base of its relative paths.
    fn folder(&self) -> Result<PathBuf, CommandError> {
        let file = match &self.config {
            UpConfig::File(file) => Some(file.as_path()),
            UpConfig::BuiltIn(_) => None,
        };
        let folder = file.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
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

/// Advances the clock of the store, which then drops old changes.
async fn tick_store(store: ObjectStore) {
    let started = Instant::now();
    loop {
        tokio::time::sleep(TICK).await;
        store.tick(started.elapsed());
    }
}
