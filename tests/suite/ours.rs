//! The embedded server as a target, in this process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use switchboard_cluster::Cluster;

use crate::target::Target;

/// Controllers act within milliseconds; what has not come about by then will not.
const PATIENCE: Duration = Duration::from_secs(1);

/// A server of its own, in memory.
pub async fn start() -> (Cluster, Target) {
    let cluster = Cluster::ephemeral().await;
    let target = Target { admin: cluster.client(), nobody: cluster.client(), patience: PATIENCE };
    (cluster, target)
}

/// A server with a socket and a kubeconfig, for clients that are other processes.
#[derive(Debug)]
pub struct Served {
    kubeconfig: PathBuf,
}

impl Served {
    /// A server of its own; or the one that `SWITCHBOARD_CLIENT_KUBECONFIG` names, to run the same tests elsewhere.
    pub fn start() -> Served {
        let given = std::env::var_os("SWITCHBOARD_CLIENT_KUBECONFIG").expect("a kubeconfig is given");
        Served { kubeconfig: PathBuf::from(given) }
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}
