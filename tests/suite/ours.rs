//! The embedded server as a target, in this process.

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
