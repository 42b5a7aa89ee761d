//! Namespaces with their cluster and environment, inline or by reference.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::data_field::DataField;
use crate::problem::DataProblem;

/// Namespace that integrations run in.
#[derive(Clone, Debug, PartialEq)]
pub struct IntegrationNamespace {
    /// Path of its datafile.
    pub path: Arc<str>,
    /// Name on the cluster.
    pub name: Arc<str>,
    /// Environment.
    pub environment: IntegrationEnvironment,
    /// Cluster.
    pub cluster: IntegrationCluster,
}

/// Environment.
#[derive(Clone, Debug, PartialEq)]
pub struct IntegrationEnvironment {
    /// Name of the environment.
    pub name: Arc<str>,
    /// Parameters of all Templates in the environment.
    pub parameters: Map<String, Value>,
}

/// Cluster with its access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegrationCluster {
    /// Name of the cluster.
    pub name: Arc<str>,
    /// URL of the API server.
    pub server_url: String,
    /// Whether the server's certificate is not verified.
    pub insecure_skip_tls_verify: bool,
    /// Location of the token; without it, the data gives no access to the cluster.
    pub token: Option<TokenReference>,
}

/// Location of a token in a secret store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenReference {
    /// Path of the secret.
    pub path: String,
    /// Field of the secret.
    pub field: String,
}

impl IntegrationNamespace {
    /// Reads a namespace file with inline or referenced cluster and environment.
    pub(super) fn read(file: &DataField<'_>) -> Result<Self, DataProblem> {
        let (environment, cluster) = (file.required("environment")?, file.required("cluster")?);
        Ok(Self {
            path: file.file().path.clone(),
            name: Arc::from(file.required_text("name")?),
            environment: IntegrationEnvironment {
                name: Arc::from(environment.required_text("name")?),
                parameters: parameters(&environment)?,
            },
            cluster: IntegrationCluster {
                name: Arc::from(cluster.required_text("name")?),
                server_url: cluster.required_text("serverUrl")?,
                insecure_skip_tls_verify: cluster
                    .get("insecureSkipTLSVerify")?
                    .map(|field| field.flag())
                    .transpose()?
                    .unwrap_or_default(),
                token: cluster.get("automationToken")?.map(|token| read_token(&token)).transpose()?,
            },
        })
    }
}

fn read_token(token: &DataField<'_>) -> Result<TokenReference, DataProblem> {
    Ok(TokenReference { path: token.required_text("path")?, field: token.required_text("field")? })
}

/// Reads parameters from a map, or from its JSON text as returned by a server.
fn parameters(environment: &DataField<'_>) -> Result<Map<String, Value>, DataProblem> {
    let Some(field) = environment.get("parameters")? else { return Ok(Map::new()) };
    match field.value() {
        Value::Object(map) => Ok(map.clone()),
        Value::String(text) => {
            serde_json::from_str(text).map_err(|error| field.problem(format!("is not a JSON map: {error}")))
        }
        _ => Err(field.problem("must be a map of parameters")),
    }
}
