//! Plugs and sockets of a cluster.

use clap::Args;
use serde_json::Value;
use switchboard_kernel::resource::Resource;
use switchboard_plugs::model::{PLUGS, SOCKETS};
use switchboard_plugs::overview::PlugOverview;

use crate::cluster_args::ClusterArgs;
use crate::failure::CommandError;

/// Page size of list requests.
const PAGE: usize = 500;

/// Flags that select a cluster and a namespace.
#[derive(Args)]
pub struct PlugsClusterArgs {
    #[command(flatten)]
    cluster_args: ClusterArgs,
    /// Limit the output to plugs and sockets of this namespace, and the sockets its plugs request
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

/// Plugs or sockets could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum PlugsClusterError {
    /// The cluster does not serve the kind.
    #[error("the cluster does not serve {0}\nhint: run the operator `plugs` on it, which installs its kinds")]
    NoKind(String),
    /// The API server refused the request.
    #[error("could not list {0}: {1}\nhint: {2}")]
    Refused(String, String, &'static str),
    /// The API server did not answer.
    #[error("could not list {0}")]
    List(String, #[source] Box<kube::Error>),
}

impl PlugsClusterArgs {
    /// Lists plugs and sockets.
    pub async fn board(&self) -> Result<PlugOverview, CommandError> {
        let client = self.cluster_args.access().or_up_cluster().client().await?;
        let (plugs, sockets) = (list(&client, &PLUGS).await?, list(&client, &SOCKETS).await?);
        let mut board = PlugOverview::of(&plugs, &sockets);
        if let Some(namespace) = &self.namespace {
            let within = |name: &str| name.split_once('/').is_some_and(|(own, _)| own == namespace);
            board.plugs.retain(|plug| within(&plug.name) || within(&plug.socket));
            let socket_names: Vec<String> = board.plugs.iter().map(|plug| plug.socket.clone()).collect();
            board.sockets.retain(|socket| within(&socket.name) || socket_names.contains(&socket.name));
        }
        Ok(board)
    }
}

async fn list(client: &kube::Client, resource: &Resource) -> Result<Vec<Value>, CommandError> {
    let mut items = Vec::new();
    let mut from = String::new();
    loop {
        let path = format!("/apis/{}/{}?limit={PAGE}{from}", resource.api_version(), resource.plural);
        let page = client.request::<Value>(http::Request::get(path).body(Vec::new())?).await;
        let mut page = match page {
            Ok(page) => page,
            Err(kube::Error::Api(status)) if status.code == 404 => {
                return Err(PlugsClusterError::NoKind(resource.to_string()).into());
            }
            Err(kube::Error::Api(status)) => {
                let hint = match status.code {
                    401 => "check the credentials of the kubeconfig: they may be expired, or for another cluster",
                    403 => {
                        "request the permission from an administrator; `kubectl auth can-i --list` shows the permissions of this user"
                    }
                    _ => "the server is overloaded or failing; try again later",
                };
                return Err(PlugsClusterError::Refused(resource.to_string(), status.message.clone(), hint).into());
            }
            Err(error) => return Err(PlugsClusterError::List(resource.to_string(), Box::new(error)).into()),
        };
        if let Value::Array(more) = page["items"].take() {
            items.extend(more);
        }
        match page.pointer("/metadata/continue").and_then(Value::as_str).filter(|token| !token.is_empty()) {
            Some(token) => from = format!("&continue={token}"),
            None => return Ok(items),
        }
    }
}
