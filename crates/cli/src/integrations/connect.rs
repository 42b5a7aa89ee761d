//! Clients for the clusters that the data names.

use std::sync::Arc;

use base64::Engine as _;
use kube::config::AuthInfo;
use serde_json::Value;
use switchboard_integrations::credentials::{Files, Reading, Secret, SecretError, SecretStore};
use switchboard_integrations::model::{Cluster, Token};
use switchboard_kernel::config::IntegrationsConfig;
use switchboard_kernel::place::{ClusterName, Place, Topology};

use crate::failure::Failure;
use crate::guests::Clusters;

/// How clusters of the data are reached.
pub struct Connect {
    clusters: Clusters,
    secrets: Option<Arc<dyn SecretStore>>,
}

impl Connect {
    /// By what a configuration says: its clusters first, then tokens.
    pub fn new(config: &IntegrationsConfig, topology: &Topology, clusters: Clusters) -> Self {
        let home = clusters.clients.get(topology.cluster(Place::Configuration)).cloned();
        let secrets: Option<Arc<dyn SecretStore>> = match (&config.tokens, &config.token_namespace, home) {
            (Some(directory), ..) => Some(Arc::new(Files(directory.clone()))),
            (None, Some(namespace), Some(client)) => Some(Arc::new(Secrets { client, namespace: namespace.clone() })),
            _ => None,
        };
        Self { clusters, secrets }
    }

    /// A client for a cluster, and whether it is one of this process.
    pub async fn client(&self, cluster: &Cluster) -> Result<(kube::Client, bool), Failure> {
        if let Some(client) = self.clusters.clients.get(&ClusterName::new(&cluster.name)) {
            return Ok((client.clone(), self.clusters.embedded.is_some()));
        }
        if let Some(embedded) = &self.clusters.embedded {
            embedded.logical(&cluster.name).await;
            return Ok((embedded.client_of(&cluster.name), true));
        }
        Ok((self.by_token(cluster).await?, false))
    }

    async fn by_token(&self, cluster: &Cluster) -> Result<kube::Client, Failure> {
        let name = &cluster.name;
        let (Some(token), Some(secrets)) = (&cluster.token, &self.secrets) else {
            return Err(format!(
                "nothing says how cluster {name} is reached\nhint: name it under `clusters` with a kubeconfig, or say where tokens lie with `tokens` or `tokenNamespace`"
            )
            .into());
        };
        let secret = secrets.read(token).await?;
        let mut config = kube::Config::new(cluster.server_url.parse()?);
        config.auth_info = AuthInfo { token: Some(secret.reveal().to_string().into()), ..AuthInfo::default() };
        config.accept_invalid_certs = cluster.insecure_skip_tls_verify;
        config.default_retry = false;
        Ok(kube::Client::try_from(config)?)
    }
}

/// Secrets of a namespace: the last part of a token's path is the Secret's name.
struct Secrets {
    client: kube::Client,
    namespace: String,
}

impl SecretStore for Secrets {
    fn read<'a>(&'a self, token: &'a Token) -> Reading<'a> {
        Box::pin(async move {
            let name = token.path.rsplit('/').next().unwrap_or_default();
            let failed = |why: String| SecretError::of(token, why);
            let request = http::Request::get(format!("/api/v1/namespaces/{}/secrets/{name}", self.namespace));
            let request = request.body(Vec::new()).map_err(|error| failed(error.to_string()))?;
            let secret: Value = self.client.request(request).await.map_err(|error| failed(error.to_string()))?;
            let data = secret["data"][&token.field].as_str();
            let data = data.ok_or_else(|| failed(format!("Secret {name} has no such field")))?;
            let bytes = base64::engine::general_purpose::STANDARD.decode(data);
            let bytes = bytes.map_err(|_| failed("it is not base64".to_string()))?;
            String::from_utf8(bytes).map(Secret::new).map_err(|_| failed("it is not UTF-8".to_string()))
        })
    }
}
