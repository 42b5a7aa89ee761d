//! The cluster that is looked at.

use clap::Args;
use serde_json::Value;
use switchboard_kernel::resource::Resource;
use switchboard_plugs::board::Board;
use switchboard_plugs::model::{PLUGS, SOCKETS};

use crate::failure::Failure;
use crate::reach::Reach;

/// How many objects one answer brings.
const PAGE: usize = 500;

/// Which cluster, and which of its namespaces.
#[derive(Args)]
pub struct Where {
    #[command(flatten)]
    reach: Reach,
    /// Only plugs and sockets of this namespace, and the sockets that its plugs want
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

/// A cluster that does not say.
#[derive(Debug, thiserror::Error)]
pub enum WhereError {
    /// It has no such kinds.
    #[error("the cluster knows no {0}\nhint: host the operator `plugs` on it, which brings its kinds along")]
    NoKind(String),
    /// It says no, in its own words.
    #[error("could not list {0}: {1}\nhint: {2}")]
    Refused(String, String, &'static str),
    /// It does not answer.
    #[error("could not list {0}")]
    List(String, #[source] Box<kube::Error>),
}

impl Where {
    /// Plugs and sockets as they are.
    pub async fn board(&self) -> Result<Board, Failure> {
        let client = self.reach.clone().or_own().client().await?;
        let (plugs, sockets) = (list(&client, &PLUGS).await?, list(&client, &SOCKETS).await?);
        let mut board = Board::of(&plugs, &sockets);
        if let Some(namespace) = &self.namespace {
            let within = |name: &str| name.split_once('/').is_some_and(|(own, _)| own == namespace);
            board.plugs.retain(|plug| within(&plug.name) || within(&plug.socket));
            let wanted: Vec<String> = board.plugs.iter().map(|plug| plug.socket.clone()).collect();
            board.sockets.retain(|socket| within(&socket.name) || wanted.contains(&socket.name));
        }
        Ok(board)
    }
}

async fn list(client: &kube::Client, resource: &Resource) -> Result<Vec<Value>, Failure> {
    let mut items = Vec::new();
    let mut from = String::new();
    loop {
        let path = format!("/apis/{}/{}?limit={PAGE}{from}", resource.api_version(), resource.plural);
        let page = client.request::<Value>(http::Request::get(path).body(Vec::new())?).await;
        let mut page = match page {
            Ok(page) => page,
            Err(kube::Error::Api(status)) if status.code == 404 => {
                return Err(WhereError::NoKind(resource.to_string()).into());
            }
            Err(kube::Error::Api(status)) => {
                let hint = match status.code {
                    401 => {
                        "the credentials of the kubeconfig are not accepted: are they expired, or of another cluster?"
                    }
                    403 => "this user may not do that; `kubectl auth can-i --list` shows what it may",
                    _ => "the server is busy or unwell; try again in a moment",
                };
                return Err(WhereError::Refused(resource.to_string(), status.message.clone(), hint).into());
            }
            Err(error) => return Err(WhereError::List(resource.to_string(), Box::new(error)).into()),
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
