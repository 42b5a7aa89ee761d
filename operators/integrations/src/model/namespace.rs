//! Namespaces with their cluster and environment, written out or by reference.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::field::Field;
use crate::problem::Problem;

/// A namespace that integrations run in.
#[derive(Clone, Debug, PartialEq)]
pub struct Namespace {
    /// Its datafile.
    pub path: Arc<str>,
    /// Its name on the cluster.
    pub name: Arc<str>,
    /// The environment it belongs to.
    pub environment: Environment,
    /// The cluster it is on.
    pub cluster: Cluster,
}

/// An environment.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Its name.
    pub name: Arc<str>,
    /// Parameters of everything in it.
    pub parameters: Map<String, Value>,
}

/// A cluster, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Its name.
    pub name: Arc<str>,
    /// Its API server.
    pub server_url: String,
    /// Whether its certificate is not looked at.
    pub insecure_skip_tls_verify: bool,
    /// Where the token lies; without it the cluster cannot be reached by what the data says.
    pub token: Option<Token>,
}

/// Where a token lies in a secret store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token {
    /// The secret.
    pub path: String,
    /// The field in it.
    pub field: String,
}

impl Namespace {
    /// Reads a namespace file, lean or not: what is a `$ref` in one is written out in the other.
    pub(super) fn read(file: &Field<'_>) -> Result<Self, Problem> {
        let (environment, cluster) = (file.need("environment")?, file.need("cluster")?);
        Ok(Self {
            path: file.file().path.clone(),
            name: Arc::from(file.need_text("name")?),
            environment: Environment {
                name: Arc::from(environment.need_text("name")?),
                parameters: parameters(&environment)?,
            },
            cluster: Cluster {
                name: Arc::from(cluster.need_text("name")?),
                server_url: cluster.need_text("serverUrl")?,
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

fn read_token(token: &Field<'_>) -> Result<Token, Problem> {
    Ok(Token { path: token.need_text("path")?, field: token.need_text("field")? })
}

/// Parameters are a map; a server gives them out as the text of one.
fn parameters(environment: &Field<'_>) -> Result<Map<String, Value>, Problem> {
    let Some(field) = environment.get("parameters")? else { return Ok(Map::new()) };
    match field.value() {
        Value::Object(map) => Ok(map.clone()),
        Value::String(text) => {
            serde_json::from_str(text).map_err(|error| field.problem(format!("is no JSON of a map: {error}")))
        }
        _ => Err(field.problem("must be a map of parameters")),
    }
}
