//! Flags that select a cluster like kubectl.

use std::path::PathBuf;

use clap::Args;
use switchboard_kernel::config::ClusterConfig;
use switchboard_runtime::cluster_access::ClusterAccess;

/// Flags that select a cluster.
#[derive(Args, Clone, Debug, Default)]
pub struct ClusterArgs {
    /// Kubeconfig file [default: as kubectl does]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current context]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

impl ClusterArgs {
    /// Returns the access that the flags select.
    pub fn access(&self) -> ClusterAccess {
        ClusterAccess(ClusterConfig { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() })
    }
}
