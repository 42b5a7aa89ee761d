//! Embedded server as a target: in this process, over TLS on loopback, with a kubeconfig.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use switchboard_cluster::Cluster;
use switchboard_cluster::auth::authentication::Authenticator;
use switchboard_cluster::auth::certificates::Certificates;
use switchboard_cluster::auth::filters::AuthKeys;
use switchboard_cluster::auth::kubeconfig::{self, KubeconfigContext};
use switchboard_cluster::auth::token::TokenKey;
use switchboard_cluster::clock_and_rng::ClockAndRng;
use switchboard_cluster::listener::{BoundPort, Listener};
use switchboard_cluster::store::{ObjectStore, StoreLimits};

use crate::target::TestTarget;

/// Timeout; controllers act within milliseconds.
const TIMEOUT: Duration = Duration::from_secs(5);

/// In-memory server, stopped when dropped.
#[derive(Debug)]
pub struct EmbeddedServer {
    directory: tempfile::TempDir,
    _listener: Listener,
}

impl EmbeddedServer {
    /// Starts a server.
    pub async fn start() -> EmbeddedServer {
        let port = BoundPort::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a port is free");
        let address = port.address();
        let ambient = ClockAndRng::system();
        let certificates = Certificates::ephemeral(&[address.ip()], ambient.now()).expect("certificates can be made");
        let key = TokenKey::ephemeral().expect("a key can be made");
        let authority = certificates.authority.certificate.clone();
        let gate = AuthKeys { authenticator: Authenticator::new(key, None), authority };
        let cluster = Cluster::with_keys(gate, ObjectStore::in_memory(StoreLimits::default()), ambient).await;
        cluster.start_controllers();
        let listener = cluster.listen(port, &certificates).expect("the server listens");
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let context = KubeconfigContext { name: "switchboard".into(), server: format!("https://{address}") };
        kubeconfig::write(&directory.path().join("kubeconfig"), "admin", &certificates, &[context])
            .expect("the file can be written");
        EmbeddedServer { directory, _listener: listener }
    }

    /// Returns the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("kubeconfig")
    }

    /// Returns the server as a target of cases.
    pub async fn target(&self) -> TestTarget {
        let mut target = TestTarget::open(&self.kubeconfig()).await.expect("the server's own kubeconfig is good");
        target.timeout = TIMEOUT;
        target
    }
}

/// Server for client processes: a new one, or the one of `SWITCHBOARD_CLIENT_KUBECONFIG`.
#[derive(Debug)]
pub struct SharedServer {
    kubeconfig: PathBuf,
    // Dropped in this order: the server before its runtime.
    _embedded: Option<EmbeddedServer>,
    _runtime: Option<tokio::runtime::Runtime>,
}

impl SharedServer {
    /// Starts the server.
    pub fn start() -> SharedServer {
        if let Some(given) = std::env::var_os("SWITCHBOARD_CLIENT_KUBECONFIG") {
            return SharedServer { kubeconfig: PathBuf::from(given), _embedded: None, _runtime: None };
        }
        let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
        let embedded = runtime.block_on(EmbeddedServer::start());
        SharedServer { kubeconfig: embedded.kubeconfig(), _embedded: Some(embedded), _runtime: Some(runtime) }
    }

    /// Returns the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}
