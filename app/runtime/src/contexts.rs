//! Logical clusters of this process, each with a context in the kubeconfig that is added when the cluster is created.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use switchboard_cluster::Cluster;
use switchboard_cluster::auth::certificates::Certificates;
use switchboard_cluster::auth::kubeconfig::{self, KubeconfigContext, KubeconfigError};
use switchboard_cluster::request::DEFAULT_CLUSTER;

use crate::stderr::print_stderr;
use crate::{failure, listen_address};

/// Context name of the default cluster.
pub const DEFAULT_CONTEXT: &str = "switchboard";

/// User of generated kubeconfigs. Files of other users are not replaced.
pub const ADMIN: &str = "switchboard-admin";

/// API server of this process, and the kubeconfig that lists its clusters.
#[derive(Clone)]
pub struct Contexts {
    cluster: Cluster,
    address: SocketAddr,
    certificates: Arc<Certificates>,
    /// Path of the kubeconfig. The lock serializes writes, since clusters can be created concurrently.
    file: Arc<Mutex<PathBuf>>,
}

impl Contexts {
    /// Creates the contexts of an API server that listens at an address.
    pub fn new(cluster: Cluster, address: SocketAddr, certificates: Arc<Certificates>, file: PathBuf) -> Self {
        Self { cluster, address, certificates, file: Arc::new(Mutex::new(file)) }
    }

    /// Writes a context for every existing cluster.
    pub fn write(&self) -> Result<(), KubeconfigError> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        kubeconfig::write(&file, ADMIN, &self.certificates, &self.all())
    }

    /// Returns a client for a logical cluster. Creates the cluster and its context if it does not exist.
    pub async fn client_of(&self, name: &str) -> kube::Client {
        let is_new = !self.cluster.logical_names().iter().any(|known| **known == *name);
        self.cluster.logical(name).await;
        // A kubeconfig that the user edited is not overwritten; it lacks the new context.
        if is_new && let Err(error) = self.write() {
            print_stderr(format_args!(
                "warning: could not add a context for cluster {name}\n{}",
                failure::message(&error)
            ));
        }
        self.cluster.client_of(name)
    }

    fn all(&self) -> Vec<KubeconfigContext> {
        let address = listen_address::reachable(self.address);
        let mut contexts =
            vec![KubeconfigContext { name: DEFAULT_CONTEXT.into(), server: format!("https://{address}") }];
        for name in self.cluster.logical_names().into_iter().filter(|name| &**name != DEFAULT_CLUSTER) {
            contexts.push(KubeconfigContext {
                name: name.to_string(),
                server: format!("https://{address}/clusters/{name}"),
            });
        }
        contexts
    }
}
