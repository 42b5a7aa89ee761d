//! A client for a cluster that one of Argo CD's Secrets names.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
};
use serde_json::Value;
use switchboard_engine::destination;

use crate::failure::Failure;

/// How long a cluster has to say that it is there.
const ANSWER: Duration = Duration::from_secs(5);
const NAME: &str = "there";

/// A client; none for the Secret of the cluster that Applications live on.
pub async fn client(secret: &Value) -> Result<Option<kube::Client>, Failure> {
    let cluster = destination::Cluster::of(secret).ok_or("the Secret names no server")?;
    if cluster.secret.is_none() {
        return Ok(None);
    }
    let coded = secret["data"]["config"].as_str().unwrap_or_default();
    let config: Value = serde_json::from_slice(&STANDARD.decode(coded)?).map_err(|_| "its `config` is no JSON")?;
    let mut config =
        kube::Config::from_custom_kubeconfig(kubeconfig(&cluster.server, &config)?, &KubeConfigOptions::default())
            .await?;
    // The applier knows what may be sent twice; the client does not.
    config.default_retry = false;
    let client = kube::Client::try_from(config)?;
    tokio::time::timeout(ANSWER, client.apiserver_version()).await.map_err(|_| "it does not answer")??;
    Ok(Some(client))
}

/// The same as a kubeconfig has it.
fn kubeconfig(server: &str, config: &Value) -> Result<Kubeconfig, Failure> {
    let text = |pointer: &str| {
        config.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(String::from)
    };
    // What stands behind a `?` only tells environments of one cluster apart.
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
