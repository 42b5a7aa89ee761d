//! A server under test, with two clients: one with the administrator's certificate and one without credentials.

use std::path::Path;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// Timeout; controllers of kube-controller-manager have periods of seconds.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Target of requests.
#[derive(Clone)]
pub struct TestTarget {
    /// Client with the administrator's certificate.
    pub admin: Client,
    /// Client without credentials, for bearer tokens.
    pub anonymous: Client,
    /// Timeout of a response, and of an `until` that depends on controllers.
    pub timeout: Duration,
}

/// Error creating a target.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The kubeconfig is unreadable or incomplete.
    #[error("could not use the kubeconfig")]
    Config(#[source] kube::config::KubeconfigError),
    /// The client could not be created.
    #[error("could not build a client")]
    Client(#[source] kube::Error),
}

impl TestTarget {
    /// Opens the current context of a kubeconfig file.
    pub async fn open(kubeconfig: &Path) -> Result<TestTarget, TargetError> {
        let file = Kubeconfig::read_from(kubeconfig).map_err(TargetError::Config)?;
        let config =
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.map_err(TargetError::Config)?;
        TestTarget::from_config(config)
    }

    /// Creates a target from a configuration with the administrator's credentials.
    pub fn from_config(mut config: Config) -> Result<TestTarget, TargetError> {
        // A retry would hide the answer under test.
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
