//! The Secret by which Argo CD reaches a cluster.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use switchboard_ledger::ids::UserId;
use switchboard_ledger::rows::{ClusterCredentials, ManagedEnvironment};

use super::{DATABASE_ID, SECRET_TYPE, environment_name, project_name};

/// What makes a cluster's URL one of its own for each environment: Argo CD tells clusters apart by their URLs.
const QUERY: &str = "?managedEnvironment=";

/// Why there is no Secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The URL has a query of its own.
    #[error("could not use the Kubernetes API URL: it contains unsupported characters")]
    Url,
}

/// The Secret of an environment on an Argo CD of this namespace.
///
/// Beyond the original it holds the certificates of the cluster's authority and, where there is one, the tenant's client
/// certificate, and it belongs to the tenant's project when one is given.
pub fn object(
    environment: &ManagedEnvironment,
    credentials: &ClusterCredentials,
    namespace: &str,
    project: Option<&UserId>,
) -> Result<Value, SecretError> {
    let name = environment_name(&environment.id);
    let host = credentials.host.as_deref().unwrap_or_default();
    if host.contains(['?', '&']) {
        return Err(SecretError::Url);
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

/// The part that Argo CD makes its client of. Without certificates it is the original's, to the byte.
fn config(credentials: &ClusterCredentials) -> String {
    let mut tls = Map::new();
    tls.insert("insecure".into(), json!(credentials.allow_insecure));
    // Argo CD refuses an authority for a server that is not checked.
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
