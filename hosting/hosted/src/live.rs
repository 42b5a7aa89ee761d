//! Access of the live command to the user workload cluster, with its own service account.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchboard_kernel::operator::ServiceAccount;
use switchboard_object::yaml;
use switchboard_sandbox::PROXY;
use switchboard_sandbox::egress::{EgressRuleError, EgressRules};

/// Lifetime of a token: the minimum of the API server.
const TOKEN_LIFETIME: Duration = Duration::from_secs(600);
/// Maximum age of a reused token.
const TOKEN_MAX_AGE: Duration = Duration::from_secs(300);
/// Timeout of a token request.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Error of cluster access.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadAccessError {
    /// The API server refused the token.
    #[error("could not get a token for service account {account}")]
    Token {
        /// Service account.
        account: String,
        /// Cause.
        #[source]
        source: Box<kube::Error>,
    },
    /// The API server did not answer in time.
    #[error("could not get a token for service account {0} in time")]
    Timeout(String),
    /// The response contains no token.
    #[error("could not create a token for service account {0}: the API server returned none")]
    NoToken(String),
    /// The address of the API server is invalid.
    #[error("could not allow connections to the API server")]
    Server(#[source] EgressRuleError),
}

/// Access to the user workload cluster for a program.
pub struct WorkloadAccess {
    client: kube::Client,
    config: kube::Config,
    runtime: tokio::runtime::Handle,
    token: Mutex<Option<(Instant, String)>>,
}

impl WorkloadAccess {
    /// Creates the access from a client that may create tokens, and its configuration. Must be called on a runtime.
    pub fn new(client: kube::Client, config: kube::Config) -> Self {
        Self { client, config, runtime: tokio::runtime::Handle::current(), token: Mutex::default() }
    }

    /// Returns a kubeconfig with a token of a service account only.
    pub(crate) fn kubeconfig(&self, account: &ServiceAccount) -> Result<String, WorkloadAccessError> {
        let token = self.token(account)?;
        let mut cluster = json!({
            "server": self.config.cluster_url.to_string().trim_end_matches('/'),
            // Go clients bypass a proxy from the environment for local addresses, but not this one.
            "proxy-url": format!("http://{PROXY}"),
        });
        if let Some(certificates) = &self.config.root_cert {
            let pem: String = certificates.iter().map(|der| pem(der)).collect();
            cluster["certificate-authority-data"] = STANDARD.encode(pem).into();
        }
        if self.config.accept_invalid_certs {
            cluster["insecure-skip-tls-verify"] = true.into();
        }
        if let Some(name) = &self.config.tls_server_name {
            cluster["tls-server-name"] = name.as_str().into();
        }
        Ok(yaml::to_string(&json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "user-workload",
            "clusters": [{"name": "user-workload", "cluster": cluster}],
            "contexts": [{"name": "user-workload", "context": {"cluster": "user-workload", "user": "operator"}}],
            "users": [{"name": "operator", "user": {"token": token}}],
        })))
    }

    /// Returns the rules that allow connections to the API server.
    pub(crate) fn server(&self) -> Result<EgressRules, WorkloadAccessError> {
        let host = self.config.cluster_url.host().unwrap_or_default();
        let plain = self.config.cluster_url.scheme_str() == Some("http");
        let port = self.config.cluster_url.port_u16().unwrap_or(if plain { 80 } else { 443 });
        EgressRules::read([format!("{host}:{port}")])
            .map(EgressRules::allowing_local)
            .map_err(WorkloadAccessError::Server)
    }

    fn token(&self, account: &ServiceAccount) -> Result<String, WorkloadAccessError> {
        let mut kept = self.token.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((made, token)) = &*kept
            && made.elapsed() < TOKEN_MAX_AGE
        {
            return Ok(token.clone());
        }
        let name = || format!("{}/{}", account.namespace, account.name);
        let path = format!("/api/v1/namespaces/{}/serviceaccounts/{}/token", account.namespace, account.name);
        let body = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_LIFETIME.as_secs()},
        });
        let request = http::Request::post(path).header("Content-Type", "application/json");
        let failed = |error| WorkloadAccessError::Token { account: name(), source: Box::new(error) };
        let request = request.body(body.to_string().into_bytes()).map_err(|e| failed(kube::Error::HttpError(e)))?;
        let client = self.client.clone();
        let answer = self
            .runtime
            .block_on(async move { tokio::time::timeout(TOKEN_TIMEOUT, client.request::<Value>(request)).await });
        let answer = answer.map_err(|_| WorkloadAccessError::Timeout(name()))?.map_err(failed)?;
        let token = answer
            .pointer("/status/token")
            .and_then(Value::as_str)
            .ok_or_else(|| WorkloadAccessError::NoToken(name()))?;
        *kept = Some((Instant::now(), token.to_string()));
        Ok(token.to_string())
    }
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}
