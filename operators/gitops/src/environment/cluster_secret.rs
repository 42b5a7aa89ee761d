//! Secret with which Argo CD connects to a cluster.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::argocd::{DATABASE_ID, SECRET_TYPE, environment_name, project_name};
use crate::ids::UserId;
use crate::rows::{ClusterCredentials, ManagedEnvironment};

/// Query that makes the URL of a cluster unique for each environment, because Argo CD identifies clusters by URL.
const QUERY: &str = "?managedEnvironment=";

/// Error of building a cluster Secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterSecretError {
    /// The URL already has a query.
    #[error("could not use the Kubernetes API URL: it contains unsupported characters")]
    Url,
}

/// Builds the Secret of an environment for an Argo CD in this namespace.
///
/// Unlike in managed-gitops, the Secret contains the cluster's CA certificates and the tenant's client certificate if
/// there is one, and it is limited to the tenant's project if `project` is given.
pub fn object(
    environment: &ManagedEnvironment,
    credentials: &ClusterCredentials,
    namespace: &str,
    project: Option<&UserId>,
) -> Result<Value, ClusterSecretError> {
    let name = environment_name(&environment.id);
    let host = credentials.host.as_deref().unwrap_or_default();
    if host.contains(['?', '&']) {
        return Err(ClusterSecretError::Url);
    }
    let server = format!("{host}{QUERY}{}", environment.id);
    let mut data = Map::new();
    let mut put = |key: &str, value: &str| data.insert(key.to_string(), json!(STANDARD.encode(value)));
    put("name", &name);
    put("server", &server);
    put("config", &config(credentials));
    if let Some(namespaces) = &credentials.namespaces {
        put("namespaces", namespaces);
    }
    if credentials.cluster_resources {
        put("clusterResources", "true");
    }
    if let Some(user) = project {
        put("project", &project_name(user));
    }
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": { SECRET_TYPE: "cluster", DATABASE_ID: environment.id.as_str() },
        },
        "type": "Opaque",
        "data": data,
    }))
}

/// Builds Argo CD's client configuration. Without certificates it equals that of managed-gitops byte for byte.
fn config(credentials: &ClusterCredentials) -> String {
    let mut tls = Map::new();
    tls.insert("insecure".into(), json!(credentials.allow_insecure));
    // Argo CD rejects a CA certificate together with `insecure`.
    if let (Some(ca), false) = (&credentials.ca_data, credentials.allow_insecure) {
        tls.insert("caData".into(), json!(STANDARD.encode(ca)));
    }
    if let (Some(certificate), Some(key)) = (&credentials.client_certificate, &credentials.client_key) {
        tls.insert("certData".into(), json!(STANDARD.encode(certificate)));
        tls.insert("keyData".into(), json!(STANDARD.encode(key.expose())));
    }
    let token = credentials.bearer_token.as_ref().map_or("", |token| token.expose());
    json!({ "bearerToken": token, "tlsClientConfig": tls }).to_string()
}
