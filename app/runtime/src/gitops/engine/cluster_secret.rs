//! Client for the cluster of an Argo CD cluster Secret.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
};
use serde_json::Value;
use switchboard_engine::destination;

use crate::failure::CommandError;

/// Timeout for the first response of a cluster.
const ANSWER: Duration = Duration::from_secs(5);
const NAME: &str = "there";

/// Builds a client; `None` for the Secret of the cluster with the Applications.
pub async fn client(secret: &Value) -> Result<Option<kube::Client>, CommandError> {
    let cluster = destination::DestinationCluster::from_secret(secret).ok_or("the Secret names no server")?;
    if cluster.secret.is_none() {
        return Ok(None);
    }
    let coded = secret["data"]["config"].as_str().unwrap_or_default();
    let config: Value = serde_json::from_slice(&STANDARD.decode(coded)?).map_err(|_| "`config` is not valid JSON")?;
    let mut config =
        kube::Config::from_custom_kubeconfig(kubeconfig(&cluster.server, &config)?, &KubeConfigOptions::default())
            .await?;
    // The applier decides which requests are safe to retry; the client does not know.
    config.default_retry = false;
    let client = kube::Client::try_from(config)?;
    tokio::time::timeout(ANSWER, client.apiserver_version()).await.map_err(|_| "the cluster does not answer")??;
    Ok(Some(client))
}

/// Converts the Secret's `config` to a kubeconfig.
fn kubeconfig(server: &str, config: &Value) -> Result<Kubeconfig, CommandError> {
    let text = |pointer: &str| {
        config.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(String::from)
    };
    // The part after `?` only distinguishes environments of the same cluster.
    let server = server.split('?').next().unwrap_or(server).to_string();
    let insecure = config.pointer("/tlsClientConfig/insecure").and_then(Value::as_bool);
    let cluster = Cluster {
        server: Some(server),
        insecure_skip_tls_verify: insecure,
        certificate_authority_data: text("/tlsClientConfig/caData"),
        tls_server_name: text("/tlsClientConfig/serverName"),
        ..Cluster::default()
    };
    let user = AuthInfo {
        token: text("/bearerToken").map(Into::into),
        username: text("/username"),
        password: text("/password").map(Into::into),
        client_certificate_data: text("/tlsClientConfig/certData"),
        client_key_data: text("/tlsClientConfig/keyData").map(Into::into),
        ..AuthInfo::default()
    };
    let context = Context { cluster: NAME.to_string(), user: Some(NAME.to_string()), ..Context::default() };
    Ok(Kubeconfig {
        clusters: vec![NamedCluster { name: NAME.to_string(), cluster: Some(cluster), ..NamedCluster::default() }],
        auth_infos: vec![NamedAuthInfo { name: NAME.to_string(), auth_info: Some(user), ..NamedAuthInfo::default() }],
        contexts: vec![NamedContext { name: NAME.to_string(), context: Some(context), ..NamedContext::default() }],
        current_context: Some(NAME.to_string()),
        ..Kubeconfig::default()
    })
}
