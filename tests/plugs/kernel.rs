//! Hosting of the operators under test.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use kube::Client;
use switchboard_kernel::host::{Handle, Host, HostSettings};
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::state::KernelState;
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_plugs::plug::PlugOptions;
use tokio::task::JoinHandle;

/// A running kernel.
pub struct CaseKernel {
    handle: Handle,
    host: JoinHandle<()>,
}

impl CaseKernel {
    /// Starts a kernel without delays, except for a short one after failures. The journal is below the folder.
    pub fn start(client: &Client, folder: &Path) -> Self {
        let name = ClusterName::new("main");
        let settings = HostSettings {
            clusters: BTreeMap::from([(name.clone(), client.clone())]),
            topology: Topology::standalone(&name),
            global: GlobalLimits { requests_per_second: Some(10_000), max_concurrent: 8, ..GlobalLimits::default() },
            journal: Journal::open(&folder.join("journal"), JournalLimits::default()).unwrap(),
            dry_run: false,
        };
        let limits = Limits {
            debounce: Some(Duration::ZERO),
            cool_down: Some(Duration::from_millis(5)),
            writes_per_second: Some(10_000),
            writes_per_minute: Some(600_000),
            backoff_first: Duration::from_millis(100),
            backoff_max: Duration::from_secs(2),
            ..Limits::default()
        };
        let operators = switchboard_plugs::operators(PlugOptions::default());
        let (host, handle) = Host::new(settings, operators.into_iter().map(|one| (one, limits.clone())).collect());
        Self { handle, host: tokio::spawn(host.run()) }
    }

    pub async fn state(&self) -> KernelState {
        self.handle.state().await.expect("the kernel answers")
    }

    pub async fn stop(self) {
        self.handle.stop().await;
        self.host.await.unwrap();
    }
}
