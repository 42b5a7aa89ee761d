//! `switchboard up`: the embedded cluster on a socket, until a signal.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig};
use switchboard_cluster::Cluster;
use switchboard_cluster::ambient::Ambient;
use switchboard_cluster::listener::Port;
use switchboard_cluster::request::DEFAULT_CLUSTER;
use switchboard_cluster::store::Store;
use switchboard_kernel::config::Config;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::announce::announce;
use crate::contexts::{Contexts, DEFAULT_CONTEXT};
use crate::example::{self, Example};
use crate::failure::Failure;
use crate::guests::Clusters;
use crate::kernel::{self, StateDir};
use crate::local::{Commands, Local};
use crate::place::Place;
use crate::run::{self, Followed, Running};
use crate::talk::say;
use crate::temporary::Temporary;
use crate::{failure, listen, operators, own};

/// How often the store is told the time; changes are kept for ten times as long.
const TICK: Duration = Duration::from_secs(30);

/// Starts the embedded cluster.
#[derive(Args)]
pub struct Up {
    /// Keep everything in this directory [default: switchboard in the user's data directory]
    #[arg(long, value_name = "DIR", conflicts_with = "ephemeral")]
    data_dir: Option<PathBuf>,
    /// Keep nothing: everything is gone when the process ends
    #[arg(long)]
    ephemeral: bool,
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = listen::DEFAULT, value_parser = listen::parse)]
    listen: SocketAddr,
    /// Where to write the kubeconfig [default: kubeconfig in the data directory]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// A further logical cluster, a context of its own in the kubeconfig; may be repeated
    #[arg(long, value_name = "NAME", value_parser = cluster_name)]
    cluster: Vec<String>,
    /// Which operators to host on it, and within which limits [default: the sample operator]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Something to look at, applied once the cluster serves; may be repeated
    #[arg(long, value_name = "NAME", value_enum)]
    example: Vec<Example>,
    #[command(flatten)]
    state: StateDir,
}

/// What is hosted when nothing else is asked for.
const SAMPLE: &str = "operators:\n  greeter: {}\n";
/// What is hosted for an example when nothing else is asked for.
const WITH_EXAMPLE: &str = "operators:\n  greeter: {}\n  plugs: {}\n";
/// And for what is deployed from git.
const WITH_ENGINE: &str = "operators:\n  greeter: {}\n  plugs: {}\n  engine: {}\n";
/// And for what is asked of the GitOps Service.
const WITH_SERVICE: &str = "operators:\n  greeter: {}\n  plugs: {}\n  engine: {}\ngitops: {}\n";

fn cluster_name(text: &str) -> Result<String, String> {
    match switchboard_object::name::dns1123_label(text).first() {
        None if text == DEFAULT_CONTEXT => Err("the first cluster's context has this name".into()),
        None => Ok(text.to_string()),
        Some(why) => Err(why.clone()),
    }
}

impl Up {
    /// Runs until a signal comes.
    pub async fn run(self) -> Result<(), Failure> {
        // Before anything is written: a signal during the start must stop it as well.
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let hangup = signal(SignalKind::hangup())?;
        let place = if self.ephemeral { Place::Memory } else { Place::directory(self.data_dir.as_deref())? };
        let (config, followed) = match &self.config {
            Some(file) => {
                let (config, text) = kernel::read_with_text(file)?;
                (config, Some(Followed::new(file, text)))
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
            Place::Memory => Some(Temporary::make()?),
            Place::Directory(_) => None,
        };
        let home = match (&place, &temporary) {
            (Place::Directory(path), _) => path.clone(),
            (Place::Memory, Some(temporary)) => temporary.path().to_path_buf(),
            (Place::Memory, None) => unreachable!("what is kept in memory has a temporary folder"),
        };
        let file = self.kubeconfig.clone().unwrap_or_else(|| home.join("kubeconfig"));
        let port = Port::take(self.listen).await?;
        let address = port.address();
        let ambient = Ambient::system();
        let store = place.store()?;
        let certificates = Arc::new(place.certificates(address, &ambient)?);
        let gate = place.gate(&certificates)?;
        place.warn_of_open_keys();
        let cluster = Cluster::behind(gate, store.clone(), ambient).await;
        for name in &self.cluster {
            cluster.logical(name).await;
        }
        cluster.start_controllers();
        let listener = cluster.listen(port, &certificates)?;
        let authority = certificates.authority.certificate.clone();
        let contexts = Contexts::new(cluster.clone(), address, certificates, file.clone());
        contexts.write()?;
        let dir = self.state.clone().or_in(&home).path()?;
        let commands = Commands::of(&config, &self.folder()?)?;
        if operators::hosts_plugs(&config) {
            example::install_kinds(&cluster.client()).await?;
        }
        let running = Running::start(&config, clusters(&cluster, contexts, &config, &file).await?, &dir, false).await?;
        // Without it, a `plan` reads no repositories of this machine.
        if let Err(error) = own::note(&dir, &authority) {
            say(format_args!("warning: could not note the authority in {}\n{}", dir.display(), failure::tell(&error)));
        }
        let local = Local::start(cluster.client(), commands);
        kernel::say_where(&dir);
        for example in &self.example {
            example.apply(&cluster.client(), &home).await?;
        }
        announce(&file, &listener)?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = keep_time(store) => {}
            () = reload(followed, config, &running, hangup) => {}
        }
        run::stop(running, &mut interrupt, &mut terminate).await?;
        if let Some(local) = local {
            local.stop().await;
        }
        listener.stop().await;
        Ok(())
    }

    /// Where the configuration lies, which paths in it begin at.
    fn folder(&self) -> Result<PathBuf, Failure> {
        let folder = self.config.as_deref().and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
        Ok(std::path::absolute(folder.unwrap_or(Path::new(".")))?)
    }
}

/// The clusters of a configuration: logical ones of this process, unless they have a kubeconfig of their own.
async fn clusters(cluster: &Cluster, contexts: Contexts, config: &Config, file: &Path) -> Result<Clusters, Failure> {
    let mut clusters = Clusters { embedded: Some(contexts.clone()), ..Clusters::default() };
    for (name, wanted) in &config.clusters {
        let (client, config) = if wanted.kubeconfig.is_some() || wanted.context.is_some() {
            run::client(name, wanted).await?
        } else if &*name.0 == DEFAULT_CLUSTER {
            (cluster.client(), from_outside(file, DEFAULT_CONTEXT).await?)
        } else {
            let client = contexts.client_of(&name.0).await;
            let mut config = from_outside(file, DEFAULT_CONTEXT).await?;
            config.cluster_url =
                format!("{}/clusters/{name}", config.cluster_url.to_string().trim_end_matches('/')).parse()?;
            (client, config)
        };
        clusters.clients.insert(name.clone(), client);
        clusters.configs.insert(name.clone(), config);
    }
    Ok(clusters)
}

/// How a logical cluster is reached by others than this process.
async fn from_outside(file: &Path, context: &str) -> Result<kube::Config, Failure> {
    let options = KubeConfigOptions { context: Some(context.to_string()), ..KubeConfigOptions::default() };
    Ok(kube::Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &options).await?)
}

async fn reload(followed: Option<Followed<'_>>, config: Config, running: &Running, hangup: Signal) {
    match followed {
        Some(followed) => run::reload(followed, Ok, config, running, hangup).await,
        None => std::future::pending().await,
    }
}

/// Lets the store forget old changes, as it has no clock of its own.
async fn keep_time(store: Store) {
    let begun = Instant::now();
    loop {
        tokio::time::sleep(TICK).await;
        store.tick(begun.elapsed());
    }
}
