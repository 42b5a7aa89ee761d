//! A server under test: two clients of it, one with the administrator's certificate and one with no credentials.

use std::path::Path;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// The real controllers work in turns of seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where requests go.
#[derive(Clone)]
pub struct Target {
    /// Presents the administrator's client certificate.
    pub admin: Client,
    /// Presents nothing, so that a bearer token decides.
    pub nobody: Client,
    /// Longest wait for an answer, and for controllers to bring about an `until`.
    pub patience: Duration,
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

impl Target {
    /// The current context of a kubeconfig file.
    pub async fn open(kubeconfig: &Path) -> Result<Target, TargetError> {
        let file = Kubeconfig::read_from(kubeconfig).map_err(TargetError::Config)?;
        let config =
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.map_err(TargetError::Config)?;
        Target::from_config(config)
    }

    /// From a configuration that holds the administrator's credentials.
    pub fn from_config(mut config: Config) -> Result<Target, TargetError> {
        // A retried request would hide the answer under test.
        config.default_retry = false;
        let mut bare = config.clone();
        bare.auth_info = Default::default();
        Ok(Target {
            admin: Client::try_from(config).map_err(TargetError::Client)?,
            nobody: Client::try_from(bare).map_err(TargetError::Client)?,
            patience: PATIENCE,
        })
    }
}
