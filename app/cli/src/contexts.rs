//! The logical clusters of this process: each is a context of its kubeconfig, whenever it comes to be.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_cluster::Cluster;
use switchboard_cluster::auth::certificates::Certificates;
use switchboard_cluster::auth::kubeconfig::{self, Context, KubeconfigError};
use switchboard_cluster::request::DEFAULT_CLUSTER;

use crate::talk::say;
use crate::{failure, listen};

/// The context of the default cluster.
pub const DEFAULT_CONTEXT: &str = "switchboard";

/// The API server of this process, and the kubeconfig that names its clusters.
#[derive(Clone)]
pub struct Contexts {
    cluster: Cluster,
    address: SocketAddr,
    certificates: Arc<Certificates>,
    /// Clusters may come to be at the same time; the file is written by one after the other.
    file: Arc<Mutex<PathBuf>>,
}

impl Contexts {
    /// Of a server that is reached at an address.
    pub fn new(cluster: Cluster, address: SocketAddr, certificates: Arc<Certificates>, file: PathBuf) -> Self {
        Self { cluster, address, certificates, file: Arc::new(Mutex::new(file)) }
    }

    /// Writes a context for each cluster there is.
    pub fn write(&self) -> Result<(), KubeconfigError> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        kubeconfig::write(&file, &self.certificates, &self.all())
    }

    /// A client of a logical cluster. One that there was not is made, and has a context from then on.
    pub async fn client_of(&self, name: &str) -> kube::Client {
        let is_new = !self.cluster.logical_names().iter().any(|known| **known == *name);
        self.cluster.logical(name).await;
        // Who changed the file by hand keeps it, and does without the context.
        if is_new && let Err(error) = self.write() {
            say(format_args!("warning: cluster {name} has no context\n{}", failure::tell(&error)));
        }
        self.cluster.client_of(name)
    }

    fn all(&self) -> Vec<Context> {
        let address = listen::reachable(self.address);
        let mut contexts = vec![Context { name: DEFAULT_CONTEXT.into(), server: format!("https://{address}") }];
        for name in self.cluster.logical_names().into_iter().filter(|name| &**name != DEFAULT_CLUSTER) {
            contexts.push(Context { name: name.to_string(), server: format!("https://{address}/clusters/{name}") });
        }
        contexts
    }
}
