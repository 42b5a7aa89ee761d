//! `switchboard up`: the embedded cluster on a socket, until a signal.

use std::error::Error;
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use switchboard_cluster::Cluster;
use switchboard_cluster::ambient::Ambient;
use switchboard_cluster::auth::authentication::Authenticator;
use switchboard_cluster::auth::certificates::Certificates;
use switchboard_cluster::auth::gate::Gate;
use switchboard_cluster::auth::kubeconfig::{self, Context};
use switchboard_cluster::auth::token::TokenKey;
use switchboard_cluster::listener::{Listener, Port};
use switchboard_cluster::request::DEFAULT_CLUSTER;
use switchboard_cluster::store::{Bounds, Store};
use tokio::signal::unix::{SignalKind, signal};

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
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Where to write the kubeconfig [default: kubeconfig in the data directory]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// A further logical cluster, a context of its own in the kubeconfig; may be repeated
    #[arg(long, value_name = "NAME", value_parser = cluster_name)]
    cluster: Vec<String>,
}

pub(crate) type Failure = Box<dyn Error>;

/// What the command cannot do.
#[derive(Debug, thiserror::Error)]
enum UpError {
    /// There is no place to keep data by default.
    #[error("no data directory is known\nhint: give one with --data-dir DIR, or use --ephemeral")]
    NoDataDir,
    /// The data directory cannot be made.
    #[error("could not make the data directory {path}")]
    DataDir {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
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
        let place = self.place()?;
        let port = Port::take(self.listen).await?;
        let address = port.address();
        let ambient = Ambient::system();
        let certificates = place.certificates(address, &ambient)?;
        let gate = place.gate(&certificates)?;
        let store = place.store()?;
        let cluster = Cluster::behind(gate, store.clone(), ambient).await;
        for name in &self.cluster {
            cluster.logical(name).await;
        }
        cluster.start_controllers();
        let listener = cluster.listen(port, &certificates)?;
        let file = self.kubeconfig.clone().unwrap_or_else(|| place.directory().join("kubeconfig"));
        kubeconfig::write(&file, &certificates, &contexts(&cluster, address))?;
        announce(&file, &listener)?;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = keep_time(store) => {}
        }
        eprintln!("stopping");
        listener.stop().await;
        if self.ephemeral && self.kubeconfig.is_none() {
            let _ = std::fs::remove_file(&file);
        }
        Ok(())
    }

    fn place(&self) -> Result<Place, Failure> {
        if self.ephemeral {
            return Ok(Place::Memory(tempfile::Builder::new().prefix("switchboard-").tempdir()?));
        }
        let path = match &self.data_dir {
            Some(path) => path.clone(),
            None => default_data_dir().ok_or(UpError::NoDataDir)?,
        };
        std::fs::create_dir_all(&path).map_err(|source| UpError::DataDir { path: path.clone(), source })?;
        Ok(Place::Directory(path))
    }
}

/// `$XDG_DATA_HOME/switchboard`, or below the home directory.
fn default_data_dir() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")))?;
    Some(base.join("switchboard"))
}

/// Where the cluster's data is.
enum Place {
    /// In memory; the directory holds the kubeconfig while the process lives.
    Memory(tempfile::TempDir),
    /// In a directory.
    Directory(PathBuf),
}

impl Place {
    fn directory(&self) -> &Path {
        match self {
            Self::Memory(directory) => directory.path(),
            Self::Directory(path) => path,
        }
    }

    fn store(&self) -> Result<Store, Failure> {
        Ok(match self {
            Self::Memory(_) => Store::in_memory(Bounds::default()),
            Self::Directory(path) => Store::open(&path.join("store"), Bounds::default())?,
        })
    }

    fn certificates(&self, address: SocketAddr, ambient: &Ambient) -> Result<Certificates, Failure> {
        let addresses = [address.ip()];
        Ok(match self {
            Self::Memory(_) => Certificates::ephemeral(&addresses, ambient.now())?,
            Self::Directory(path) => Certificates::in_directory(path, &addresses, ambient.now())?,
        })
    }

    fn gate(&self, certificates: &Certificates) -> Result<Gate, Failure> {
        let key = match self {
            Self::Memory(_) => TokenKey::ephemeral()?,
            Self::Directory(path) => TokenKey::in_directory(path)?,
        };
        Ok(Gate { authenticator: Authenticator::new(key, None), authority: certificates.authority.certificate.clone() })
    }
}

/// Where clients on this machine reach a server: one that listens everywhere is also on loopback, which its certificate names.
pub(crate) fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let loopback = if address.is_ipv4() { IpAddr::from([127, 0, 0, 1]) } else { Ipv6Addr::LOCALHOST.into() };
        address.set_ip(loopback);
    }
    address
}

fn contexts(cluster: &Cluster, address: SocketAddr) -> Vec<Context> {
    let address = reachable(address);
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

/// The path is data and goes to stdout; the rest is talk.
pub(crate) fn announce(file: &Path, listener: &Listener) -> std::io::Result<()> {
    let file = std::path::absolute(file)?;
    eprintln!("serving at https://{}", listener.address());
    eprintln!("hint: export KUBECONFIG={}", file.display());
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", file.display())?;
    out.flush()
}
