//! Clients for the clusters in the data.

use std::sync::Arc;

use base64::Engine as _;
use serde_json::Value;
use switchboard_integrations::config::IntegrationsConfig;
use switchboard_integrations::credentials::{ClusterToken, ClusterTokenError, SecretFiles, SecretStore, TokenFuture};
use switchboard_integrations::model::{IntegrationCluster, TokenReference};
use switchboard_kernel::topology::{ClusterName, ClusterType, Topology};

use super::cluster_auth::ClusterAuth;
use crate::failure::CommandError;
use crate::hosted::ClusterClients;

/// Field of a secret with the server that its token is for.
const SERVER: &str = "server";

/// Connector for the clusters in the data.
pub struct ClusterConnector {
    clusters: ClusterClients,
    secrets: Option<Arc<dyn SecretStore>>,
}

/// Connection to a cluster.
pub struct ClusterConnection {
    /// Client for the cluster.
    pub client: kube::Client,
    /// Whether the cluster is part of this process.
    pub embedded: bool,
    /// Replaceable token, and the cluster as the data described it at the connection.
    auth: Option<(ClusterAuth, IntegrationCluster)>,
}

impl ClusterConnector {
    /// Creates a connector: clusters of the configuration first, then tokens.
    pub fn new(config: &IntegrationsConfig, topology: &Topology, clusters: ClusterClients) -> Self {
        let home = clusters.clients.get(topology.cluster(ClusterType::Configuration)).cloned();
        let secrets: Option<Arc<dyn SecretStore>> = match (&config.tokens, &config.token_namespace, home) {
            (Some(directory), ..) => Some(Arc::new(SecretFiles(directory.clone()))),
            (None, Some(namespace), Some(client)) => {
                Some(Arc::new(NamespaceSecrets { client, namespace: namespace.clone() }))
            }
            _ => None,
        };
        Self { clusters, secrets }
    }

    /// Connects to a cluster.
    pub async fn connect(&self, cluster: &IntegrationCluster) -> Result<ClusterConnection, CommandError> {
        if let Some(client) = self.clusters.clients.get(&ClusterName::new(&cluster.name)) {
            return Ok(ClusterConnection {
                client: client.clone(),
                embedded: self.clusters.embedded.is_some(),
                auth: None,
            });
        }
        if let Some(embedded) = &self.clusters.embedded {
            let client = embedded.client_of(&cluster.name).await;
            return Ok(ClusterConnection { client, embedded: true, auth: None });
        }
        if let Some(client) = self.clusters.logical_cluster(&cluster.name).await {
            return Ok(ClusterConnection { client, embedded: false, auth: None });
        }
        let door = ClusterAuth::with_token(&self.token(cluster).await?)?;
        Ok(ClusterConnection { client: door.client(cluster)?, embedded: false, auth: Some((door, cluster.clone())) })
    }

    /// Applies a changed token or server of a connected cluster.
    ///
    /// The watches of a connection hold objects of the former server, so another server needs a restart.
    pub async fn refresh(&self, way: &ClusterConnection, now: &IntegrationCluster) -> Result<(), CommandError> {
        let Some((door, then)) = &way.auth else { return Ok(()) };
        if (&now.server_url, now.insecure_skip_tls_verify) != (&then.server_url, then.insecure_skip_tls_verify) {
            let why = format!("the data changed the server of cluster {} to {}", now.name, now.server_url);
            door.close(&why);
            return Err(
                format!("{why}\nhint: restart to use the new server; nothing more is written to the old one").into()
            );
        }
        // If the new token cannot be read, the old one may still be valid.
        door.replace_token(&self.token(now).await?)
    }

    /// Reads the token of a cluster, which must be for its server.
    async fn token(&self, cluster: &IntegrationCluster) -> Result<ClusterToken, CommandError> {
        let name = &cluster.name;
        let (Some(token), Some(secrets)) = (&cluster.token, &self.secrets) else {
            return Err(format!(
                "no access to cluster {name} is configured\nhint: add it under `clusters` with a kubeconfig, or set the source of tokens with `tokens` or `tokenNamespace`"
            )
            .into());
        };
        let server = secrets.read(&TokenReference { field: SERVER.to_string(), ..token.clone() }).await?;
        if server.reveal() != cluster.server_url {
            return Err(format!(
                "the token {} is not for cluster {name}: its `{SERVER}` is not {}\nhint: a token is sent only to the server in its secret; correct the secret or the data",
                token.path, cluster.server_url
            )
            .into());
        }
        Ok(secrets.read(token).await?)
    }
}

/// Secrets of a namespace, named like the path of a token with dots instead of slashes.
struct NamespaceSecrets {
    client: kube::Client,
    namespace: String,
}

/// Returns the name of the Secret for a path; `None` if it is no valid name.
fn secret_name(path: &str) -> Option<String> {
    let name = path.trim_matches('/').replace('/', ".");
    let part = |part: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && part.chars().all(fits)
    };
    (name.len() <= 253 && name.split('.').all(part)).then_some(name)
}

impl SecretStore for NamespaceSecrets {
    fn read<'a>(&'a self, token: &'a TokenReference) -> TokenFuture<'a> {
        Box::pin(async move {
            let failed = |why: String| ClusterTokenError::new(token, why);
            let name = secret_name(&token.path);
            let name = name
                .ok_or_else(|| failed("the path with dots for slashes is not a valid name of a Secret".to_string()))?;
            let request = http::Request::get(format!("/api/v1/namespaces/{}/secrets/{name}", self.namespace));
            let request = request.body(Vec::new()).map_err(|error| failed(error.to_string()))?;
            let secret: Value = self.client.request(request).await.map_err(|error| failed(error.to_string()))?;
            let data = secret["data"][&token.field].as_str();
            let data = data.ok_or_else(|| failed(format!("Secret {name} does not have the field")))?;
            let bytes = base64::engine::general_purpose::STANDARD.decode(data);
            let bytes = bytes.map_err(|_| failed("the field is not base64".to_string()))?;
            let text = String::from_utf8(bytes).map_err(|_| failed("the field is not UTF-8".to_string()))?;
            Ok(ClusterToken::new(text.trim().to_string()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_paths_are_two_secrets() {
        assert_eq!(secret_name("a/creds").as_deref(), Some("a.creds"));
        assert_eq!(secret_name("b/creds").as_deref(), Some("b.creds"));
        for none in ["", "a//b", "a/../b", "A/b", "a b", "a?x"] {
            assert_eq!(secret_name(none), None, "{none}");
        }
    }
}
