//! `switchboard up`: the embedded cluster on a socket, until a signal.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use switchboard_cluster::Cluster;
use switchboard_cluster::ambient::Ambient;
use switchboard_cluster::auth::kubeconfig::{self, Context};
use switchboard_cluster::listener::Port;
use switchboard_cluster::request::DEFAULT_CLUSTER;
use switchboard_cluster::store::Store;
use tokio::signal::unix::{SignalKind, signal};

use crate::announce::announce;
use crate::failure::Failure;
use crate::listen;
use crate::place::Place;
use crate::talk::say;
use crate::temporary::Temporary;

/// How often the store is told the time; changes are kept for ten times as long.
const TICK: Duration = Duration::from_secs(30);

/// The context of the default cluster.
pub(crate) const DEFAULT_CONTEXT: &str = "switchboard";

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
}

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
        let place = if self.ephemeral { Place::Memory } else { Place::directory(self.data_dir.as_deref())? };
        let (file, _temporary) = self.kubeconfig_file(&place)?;
        let port = Port::take(self.listen).await?;
        let address = port.address();
        let ambient = Ambient::system();
        let store = place.store()?;
        let certificates = place.certificates(address, &ambient)?;
        let gate = place.gate(&certificates)?;
        place.warn_of_open_keys();
        let cluster = Cluster::behind(gate, store.clone(), ambient).await;
        for name in &self.cluster {
            cluster.logical(name).await;
        }
        cluster.start_controllers();
        let listener = cluster.listen(port, &certificates)?;
        kubeconfig::write(&file, &certificates, &contexts(&cluster, address))?;
        announce(&file, &listener)?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = keep_time(store) => {}
        }
        say("stopping");
        listener.stop().await;
        Ok(())
    }

    /// Where the kubeconfig goes; a temporary place goes with the process.
    fn kubeconfig_file(&self, place: &Place) -> Result<(PathBuf, Option<Temporary>), Failure> {
        Ok(match (&self.kubeconfig, place) {
            (Some(file), _) => (file.clone(), None),
            (None, Place::Directory(path)) => (path.join("kubeconfig"), None),
            (None, Place::Memory) => {
                let temporary = Temporary::make()?;
                (temporary.kubeconfig(), Some(temporary))
            }
        })
    }
}

fn contexts(cluster: &Cluster, address: SocketAddr) -> Vec<Context> {
    let address = listen::reachable(address);
    let mut contexts = vec![Context { name: DEFAULT_CONTEXT.into(), server: format!("https://{address}") }];
    for name in cluster.logical_names().into_iter().filter(|name| &**name != DEFAULT_CLUSTER) {
        contexts.push(Context { name: name.to_string(), server: format!("https://{address}/clusters/{name}") });
    }
    contexts
}

/// Lets the store forget old changes, as it has no clock of its own.
async fn keep_time(store: Store) {
    let begun = Instant::now();
    loop {
        tokio::time::sleep(TICK).await;
        store.tick(begun.elapsed());
    }
}
