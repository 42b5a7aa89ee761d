//! Clients for the clusters that the data names.

use std::sync::Arc;

use base64::Engine as _;
use serde_json::Value;
use switchboard_integrations::credentials::{Files, Reading, Secret, SecretError, SecretStore};
use switchboard_integrations::model::{Cluster, Token};
use switchboard_kernel::config::IntegrationsConfig;
use switchboard_kernel::place::{ClusterName, Place, Topology};

use super::door::Door;
use crate::failure::Failure;
use crate::guests::Clusters;

/// The field of a secret that says which server its token is for.
const SERVER: &str = "server";

/// How clusters of the data are reached.
pub struct Connect {
    clusters: Clusters,
    secrets: Option<Arc<dyn SecretStore>>,
}

/// A cluster that is reached.
pub struct Way {
    /// The client to work with.
    pub client: kube::Client,
    /// Whether it is one of this process.
    pub embedded: bool,
    /// What it was reached by, where that can change: as the data had it then.
    door: Option<(Door, Cluster)>,
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

    /// The way to a cluster.
    pub async fn reach(&self, cluster: &Cluster) -> Result<Way, Failure> {
        if let Some(client) = self.clusters.clients.get(&ClusterName::new(&cluster.name)) {
            return Ok(Way { client: client.clone(), embedded: self.clusters.embedded.is_some(), door: None });
        }
        if let Some(embedded) = &self.clusters.embedded {
            let client = embedded.client_of(&cluster.name).await;
            return Ok(Way { client, embedded: true, door: None });
        }
        let door = Door::open(&self.token(cluster).await?)?;
        Ok(Way { client: door.client(cluster)?, embedded: false, door: Some((door, cluster.clone())) })
    }

    /// Takes up what has changed of a cluster since it was reached: its token, or where it is.
    ///
    /// What watches it holds objects of the server it was at, so that another one needs a new start.
    pub async fn look_again(&self, way: &Way, now: &Cluster) -> Result<(), Failure> {
        let Some((door, then)) = &way.door else { return Ok(()) };
        if (&now.server_url, now.insecure_skip_tls_verify) != (&then.server_url, then.insecure_skip_tls_verify) {
            let why = format!("cluster {} is reached otherwise now by the data: {}", now.name, now.server_url);
            door.close(&why);
            return Err(format!(
                "{why}\nhint: nothing is written there any more; start again to go on at the new place"
            )
            .into());
        }
        // A token that cannot be read now may still be good.
        door.exchange(&self.token(now).await?)
    }

    /// The token of a cluster, which must be for its server.
    async fn token(&self, cluster: &Cluster) -> Result<Secret, Failure> {
        let name = &cluster.name;
        let (Some(token), Some(secrets)) = (&cluster.token, &self.secrets) else {
            return Err(format!(
                "nothing says how cluster {name} is reached\nhint: name it under `clusters` with a kubeconfig, or say where tokens lie with `tokens` or `tokenNamespace`"
            )
            .into());
        };
        let server = secrets.read(&Token { field: SERVER.to_string(), ..token.clone() }).await?;
        if server.reveal() != cluster.server_url {
            return Err(format!(
                "the token {} is not for cluster {name}: its `{SERVER}` is not {}\nhint: a token is sent to no other server than the one it stands with",
                token.path, cluster.server_url
            )
            .into());
        }
        Ok(secrets.read(token).await?)
    }
}

/// Secrets of a namespace, named like the path of a token with dots in place of slashes.
struct Secrets {
    client: kube::Client,
    namespace: String,
}

/// The name of the Secret for a path; `None` when no Secret can have it.
fn secret_name(path: &str) -> Option<String> {
    let name = path.trim_matches('/').replace('/', ".");
    let part = |part: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && part.chars().all(fits)
    };
    (name.len() <= 253 && name.split('.').all(part)).then_some(name)
}

impl SecretStore for Secrets {
    fn read<'a>(&'a self, token: &'a Token) -> Reading<'a> {
        Box::pin(async move {
            let failed = |why: String| SecretError::of(token, why);
            let name = secret_name(&token.path);
            let name = name.ok_or_else(|| failed("with dots for slashes it is no name of a Secret".to_string()))?;
            let request = http::Request::get(format!("/api/v1/namespaces/{}/secrets/{name}", self.namespace));
            let request = request.body(Vec::new()).map_err(|error| failed(error.to_string()))?;
            let secret: Value = self.client.request(request).await.map_err(|error| failed(error.to_string()))?;
            let data = secret["data"][&token.field].as_str();
            let data = data.ok_or_else(|| failed(format!("Secret {name} has no such field")))?;
            let bytes = base64::engine::general_purpose::STANDARD.decode(data);
            let bytes = bytes.map_err(|_| failed("it is not base64".to_string()))?;
            let text = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".to_string()))?;
            Ok(Secret::new(text.trim().to_string()))
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
