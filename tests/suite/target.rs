//! A server under test: two clients of it, one with the administrator's certificate and one with no credentials.

use std::path::Path;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// The real controllers work in turns of seconds.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Where requests go.
#[derive(Clone)]
pub struct TestTarget {
    /// Presents the administrator's client certificate.
    pub admin: Client,
    /// Presents nothing, so that a bearer token decides.
    pub anonymous: Client,
    /// Longest wait for an answer, and for controllers to bring about an `until`.
    pub timeout: Duration,
}

/// Why a target could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The kubeconfig is unreadable or incomplete.
    #[error("could not use the kubeconfig")]
    Config(#[source] kube::config::KubeconfigError),
    /// The client could not be built.
    #[error("could not build a client")]
    Client(#[source] kube::Error),
}

impl TestTarget {
    /// The current context of a kubeconfig file.
    pub async fn open(kubeconfig: &Path) -> Result<TestTarget, TargetError> {
        let file = Kubeconfig::read_from(kubeconfig).map_err(TargetError::Config)?;
        let config =
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.map_err(TargetError::Config)?;
        TestTarget::from_config(config)
    }

    /// From a configuration that holds the administrator's credentials.
    pub fn from_config(mut config: Config) -> Result<TestTarget, TargetError> {
        // A retried request would hide the answer under test.
        config.default_retry = false;
        let mut bare = config.clone();
        bare.auth_info = Default::default();
        Ok(TestTarget {
            admin: Client::try_from(config).map_err(TargetError::Client)?,
            anonymous: Client::try_from(bare).map_err(TargetError::Client)?,
            timeout: TIMEOUT,
        })
    }
}
