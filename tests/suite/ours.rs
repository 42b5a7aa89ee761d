//! The embedded server as a target: in this process, over TLS on loopback, with a kubeconfig.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use switchboard_cluster::Cluster;
use switchboard_cluster::ambient::Ambient;
use switchboard_cluster::auth::authentication::Authenticator;
use switchboard_cluster::auth::certificates::Certificates;
use switchboard_cluster::auth::gate::Gate;
use switchboard_cluster::auth::kubeconfig::{self, Context};
use switchboard_cluster::auth::token::TokenKey;
use switchboard_cluster::listener::{Listener, Port};
use switchboard_cluster::store::{Bounds, Store};

use crate::target::Target;

/// Controllers act within milliseconds; what has not come about by then will not.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server in memory that listens until dropped.
#[derive(Debug)]
pub struct Embedded {
    directory: tempfile::TempDir,
    _listener: Listener,
}

impl Embedded {
    /// Starts one.
    pub async fn start() -> Embedded {
        let port = Port::take(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.expect("a port is free");
        let address = port.address();
        let ambient = Ambient::system();
        let certificates = Certificates::ephemeral(&[address.ip()], ambient.now()).expect("certificates can be made");
        let key = TokenKey::ephemeral().expect("a key can be made");
        let authority = certificates.authority.certificate.clone();
        let gate = Gate { authenticator: Authenticator::new(key, None), authority };
        let cluster = Cluster::behind(gate, Store::in_memory(Bounds::default()), ambient).await;
        cluster.start_controllers();
        let listener = cluster.listen(port, &certificates).expect("the server listens");
        let directory = tempfile::tempdir().expect("a temporary directory can be made");
        let context = Context { name: "switchboard".into(), server: format!("https://{address}") };
        kubeconfig::write(&directory.path().join("kubeconfig"), &certificates, &[context])
            .expect("the file can be written");
        Embedded { directory, _listener: listener }
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("kubeconfig")
    }

    /// The server as a target of cases.
    pub async fn target(&self) -> Target {
        let mut target = Target::open(&self.kubeconfig()).await.expect("the server's own kubeconfig is good");
        target.patience = PATIENCE;
        target
    }
}

/// A server for clients that are other processes: one of its own, or the one that `SWITCHBOARD_CLIENT_KUBECONFIG`
/// names, to run the same tests elsewhere.
#[derive(Debug)]
pub struct Served {
    kubeconfig: PathBuf,
    // In this order: the server ends before its runtime.
    _embedded: Option<Embedded>,
    _runtime: Option<tokio::runtime::Runtime>,
}

impl Served {
    /// Starts it.
    pub fn start() -> Served {
        if let Some(given) = std::env::var_os("SWITCHBOARD_CLIENT_KUBECONFIG") {
            return Served { kubeconfig: PathBuf::from(given), _embedded: None, _runtime: None };
        }
        let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
        let embedded = runtime.block_on(Embedded::start());
        Served { kubeconfig: embedded.kubeconfig(), _embedded: Some(embedded), _runtime: Some(runtime) }
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}
