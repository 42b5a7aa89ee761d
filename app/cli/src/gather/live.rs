//! A live cluster, asked as a directory is.

use http::header::ACCEPT;
use serde_json::Value;
use switchboard_gather::contract::{ResourceList, ResourceType, Rules};
use switchboard_gather::discovery::{self, Discovery};
use switchboard_gather::prune::{PruneError, Pruned, Pruning, Question};
use switchboard_object::selector::LabelSelector;

use crate::reach::{Reach, ReachError};

/// How many objects one answer to a list brings.
const PAGE: usize = 500;

/// A cluster that cannot be reached or asked.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The kubeconfig leads nowhere.
    #[error(transparent)]
    Client(#[from] ReachError),
    /// It does not answer in the form that says everything at once.
    #[error(
        "could not learn what the cluster serves: it has no aggregated discovery\nhint: Kubernetes 1.27 and later have it"
    )]
    NoDiscovery,
    /// It cannot be asked.
    #[error(
        "could not learn what the cluster serves\nhint: is it the right cluster, and does it run? `kubectl get --raw /apis` with the same kubeconfig says more"
    )]
    Discovery(#[source] Box<kube::Error>),
}

/// A client and what its cluster serves.
pub struct Live {
    /// The client.
    pub client: kube::Client,
    /// What the cluster serves.
    pub discovery: Discovery,
}

impl Live {
    /// By a kubeconfig, or by what the environment says.
    pub async fn connect(reach: &Reach) -> Result<Self, LiveError> {
        Self::over(reach.client().await?).await
    }

    /// Over a client.
    async fn over(client: kube::Client) -> Result<Self, LiveError> {
        let discovery = Discovery::new(document(&client, "/api").await?, document(&client, "/apis").await?);
        Ok(Self { client, discovery })
    }

    /// The answer to a question. What is not there, and a kind that is not served, is nothing.
    pub async fn answer(&self, question: &Question) -> Result<Vec<Value>, String> {
        let listed = |of: &ResourceType, namespace: &str, query: String| {
            let served = self.discovery.served(of)?;
            Some(path(of, if served.namespaced { namespace } else { "" }) + &query)
        };
        match question {
            Question::Get(one) => match self.discovery.served(&one.of) {
                None => Ok(Vec::new()),
                Some(served) => {
                    let namespace = if served.namespaced { &one.namespace } else { "" };
                    let path = format!("{}/{}", path(&one.of, namespace), segment(&one.name)?);
                    self.get(&path, &one.name).await
                }
            },
            Question::Generated { of, namespace, .. } => self.pages(listed(of, namespace, "?".into())).await,
            Question::Labelled { of, namespace, selector } => {
                let selector = LabelSelector::from_object(Some(&selector.to_value())).map_err(|e| e.to_string())?;
                let query = format!("?labelSelector={}&", encode(&selector.to_string()));
                self.pages(listed(of, namespace, query)).await
            }
        }
    }

    /// All that a list asks for.
    ///
    /// # Errors
    /// When the list cannot be followed.
    pub async fn gather(&self, list: &ResourceList) -> Result<Pruned, PruneError> {
        let mut pruning = Pruning::new(list, Rules::Native);
        loop {
            let questions = pruning.questions();
            if questions.is_empty() {
                return pruning.finish();
            }
            for question in questions {
                let answer = self.answer(&question).await;
                pruning.answer(question, answer);
            }
        }
    }

    /// One object. Anything else that comes, such as a list, was not asked for and is not kept.
    async fn get(&self, path: &str, name: &str) -> Result<Vec<Value>, String> {
        match self.client.request::<Value>(request(path, None)?).await {
            Ok(object) if object["metadata"]["name"] == name => Ok(vec![object]),
            Ok(other) => {
                let kind = other["kind"].as_str().unwrap_or("thing without a kind");
                Err(format!("the cluster answered with something else, a {kind}"))
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// A list in pieces; items say their kind, as they would alone.
    async fn pages(&self, path: Option<String>) -> Result<Vec<Value>, String> {
        let Some(path) = path else { return Ok(Vec::new()) };
        let (mut found, mut next) = (Vec::new(), String::new());
        loop {
            let page = format!("{path}limit={PAGE}&continue={}", encode(&next));
            let list: Value = self.client.request(request(&page, None)?).await.map_err(|error| error.to_string())?;
            let kind = list["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).unwrap_or_default().to_string();
            for item in list["items"].as_array().into_iter().flatten() {
                let mut item = item.clone();
                item["apiVersion"] = list["apiVersion"].clone();
                item["kind"] = kind.as_str().into();
                found.push(item);
            }
            next = list["metadata"]["continue"].as_str().unwrap_or_default().to_string();
            if next.is_empty() {
                return Ok(found);
            }
        }
    }
}

async fn document(client: &kube::Client, path: &str) -> Result<Value, LiveError> {
    let request = request(path, Some(discovery::ACCEPT)).map_err(|_| LiveError::NoDiscovery)?;
    let document: Value = client.request(request).await.map_err(|error| LiveError::Discovery(Box::new(error)))?;
    if document["kind"] == "APIGroupDiscoveryList" { Ok(document) } else { Err(LiveError::NoDiscovery) }
}

/// A name as the last part of a path. One that is empty, or that whoever stands between may take out of the path, would ask for
/// all objects instead of one.
fn segment(name: &str) -> Result<String, String> {
    match name {
        "" | "." | ".." => Err(format!("`{name}` is no name that can be asked for")),
        name => Ok(encode(name)),
    }
}

fn request(path: &str, accept: Option<&str>) -> Result<http::Request<Vec<u8>>, String> {
    let request = http::Request::get(path).header(ACCEPT, accept.unwrap_or("application/json"));
    request.body(Vec::new()).map_err(|error| format!("no request can be made of it: {error}"))
}

fn path(of: &ResourceType, namespace: &str) -> String {
    let root = if of.group.is_empty() { "/api".to_string() } else { format!("/apis/{}", of.group) };
    let within = if namespace.is_empty() { String::new() } else { format!("/namespaces/{}", encode(namespace)) };
    format!("{root}/{}{within}/{}", of.version, of.resource)
}

/// Percent-encodes what is not plain in a path or a query.
fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b':');
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests;
