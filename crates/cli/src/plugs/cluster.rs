//! The cluster that is looked at.

use std::path::{Path, PathBuf};

use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;
use switchboard_kernel::resource::Resource;
use switchboard_plugs::board::Board;
use switchboard_plugs::model::{PLUGS, SOCKETS};

use crate::failure::Failure;
use crate::place::Place;

/// How many objects one answer brings.
const PAGE: usize = 500;

/// Which cluster, and which of its namespaces.
#[derive(Args)]
pub struct Where {
    /// The cluster [default: as kubectl does, or that of `switchboard up` when there is no other]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context in it
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Only plugs and sockets of this namespace, and the sockets that its plugs want
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

/// A cluster that does not say.
#[derive(Debug, thiserror::Error)]
pub enum WhereError {
    /// There is no way to it.
    #[error("could not make a client\nhint: give a kubeconfig with --kubeconfig FILE, or set KUBECONFIG")]
    Client(#[source] Failure),
    /// It has no such kinds.
    #[error("the cluster knows no {0}\nhint: host the operator `plugs` on it, which brings its kinds along")]
    NoKind(String),
    /// It does not answer.
    #[error("could not list {0}")]
    List(String, #[source] Box<kube::Error>),
}

impl Where {
    /// Plugs and sockets as they are.
    pub async fn board(&self) -> Result<Board, Failure> {
        let client = self.client().await.map_err(WhereError::Client)?;
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

    async fn client(&self) -> Result<kube::Client, Failure> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let given = self.kubeconfig.clone().or_else(own);
        let config = match &given {
            Some(file) => kube::Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &options).await?,
            None if self.context.is_some() => kube::Config::from_kubeconfig(&options).await?,
            None => kube::Config::infer().await?,
        };
        Ok(kube::Client::try_from(config)?)
    }
}

/// The kubeconfig of `switchboard up`, when kubectl would have none.
fn own() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let has = std::env::var_os("KUBECONFIG").is_some()
        || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
        || home.is_some_and(|home| home.join(".kube/config").exists());
    let own = Place::default_path()?.join("kubeconfig");
    (!has && Path::new(&own).exists()).then_some(own)
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
