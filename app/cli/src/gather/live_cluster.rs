//! Live cluster as a source of inputs.

use http::header::ACCEPT;
use serde_json::Value;
use switchboard_gather::contract::{ContractRules, ResourceList, ResourceType};
use switchboard_gather::discovery::{self, Discovery};
use switchboard_gather::prune::{InputPruner, InputQuery, PruneError, PrunedInputs};
use switchboard_object::selector::LabelSelector;
use switchboard_runtime::cluster_access::{ClusterAccess, ClusterAccessError};

/// Page size of list requests.
const PAGE: usize = 500;

/// The cluster cannot be reached or read.
#[derive(Debug, thiserror::Error)]
pub enum LiveClusterError {
    /// The kubeconfig selects no usable cluster.
    #[error(transparent)]
    Client(#[from] ClusterAccessError),
    /// The cluster does not serve aggregated discovery.
    #[error(
        "could not discover the types of the cluster: it does not serve aggregated discovery\nhint: use a cluster with Kubernetes 1.27 or later"
    )]
    NoDiscovery,
    /// The discovery request failed.
    #[error(
        "could not discover the types of the cluster\nhint: check that it is the right cluster and that it is running; `kubectl get --raw /apis` with the same kubeconfig shows details"
    )]
    Discovery(#[source] Box<kube::Error>),
}

/// Client for a cluster, and the types it serves.
pub struct LiveCluster {
    /// Client for the cluster.
    pub client: kube::Client,
    /// Types that the cluster serves.
    pub discovery: Discovery,
}

impl LiveCluster {
    /// Connects by settings or the environment.
    pub async fn connect(access: &ClusterAccess) -> Result<Self, LiveClusterError> {
        Self::with_client(access.client().await?).await
    }

    /// Runs discovery with a client.
    async fn with_client(client: kube::Client) -> Result<Self, LiveClusterError> {
        let discovery =
            Discovery::new(discovery_document(&client, "/api").await?, discovery_document(&client, "/apis").await?);
        Ok(Self { client, discovery })
    }

    /// Returns the objects that match a question. A missing object or an unknown type yields no objects.
    pub async fn answer(&self, question: &InputQuery) -> Result<Vec<Value>, String> {
        let listed = |of: &ResourceType, namespace: &str, query: String| {
            let served = self.discovery.served(of)?;
            Some(path(of, if served.namespaced { namespace } else { "" }) + &query)
        };
        match question {
            InputQuery::Get(one) => match self.discovery.served(&one.of) {
                None => Ok(Vec::new()),
                Some(served) => {
                    let namespace = if served.namespaced { &one.namespace } else { "" };
                    let path = format!("{}/{}", path(&one.of, namespace), path_segment(&one.name)?);
                    self.get(&path, &one.name).await
                }
            },
            InputQuery::ByGenerateName { of, namespace, .. } => {
                self.list_pages(listed(of, namespace, "?".into())).await
            }
            InputQuery::ByLabel { of, namespace, selector } => {
                let selector = LabelSelector::from_object(Some(&selector.to_value())).map_err(|e| e.to_string())?;
                let query = format!("?labelSelector={}&", percent_encode(&selector.to_string()));
                self.list_pages(listed(of, namespace, query)).await
            }
        }
    }

    /// Collects all objects of a list.
    ///
    /// # Errors
    /// Fails if the list cannot be resolved.
    pub async fn gather(&self, list: &ResourceList) -> Result<PrunedInputs, PruneError> {
        let mut pruning = InputPruner::new(list, ContractRules::Native);
        loop {
            let questions = pruning.pending_queries();
            if questions.is_empty() {
                return pruning.finish();
            }
            for question in questions {
                let answer = self.answer(&question).await;
                pruning.add_result(question, answer);
            }
        }
    }

    /// Reads one object. Any other response, such as a list, is an error.
    async fn get(&self, path: &str, name: &str) -> Result<Vec<Value>, String> {
        match self.client.request::<Value>(request(path, None)?).await {
            Ok(object) if object["metadata"]["name"] == name => Ok(vec![object]),
            Ok(other) => {
                let kind = other["kind"].as_str().unwrap_or("value without a kind");
                Err(format!("the cluster returned another kind: {kind}"))
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Lists objects page by page, and sets apiVersion and kind on each item.
    async fn list_pages(&self, path: Option<String>) -> Result<Vec<Value>, String> {
        let Some(path) = path else { return Ok(Vec::new()) };
        let (mut found, mut next) = (Vec::new(), String::new());
        loop {
            let page = format!("{path}limit={PAGE}&continue={}", percent_encode(&next));
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

async fn discovery_document(client: &kube::Client, path: &str) -> Result<Value, LiveClusterError> {
    let request = request(path, Some(discovery::ACCEPT)).map_err(|_| LiveClusterError::NoDiscovery)?;
    let document: Value =
        client.request(request).await.map_err(|error| LiveClusterError::Discovery(Box::new(error)))?;
    if document["kind"] == "APIGroupDiscoveryList" { Ok(document) } else { Err(LiveClusterError::NoDiscovery) }
}

/// Encodes a name as the last segment of a path. Refuses a name that is empty or that a proxy may drop from the path:
/// the request would then list all objects.
fn path_segment(name: &str) -> Result<String, String> {
    match name {
        "" | "." | ".." => Err(format!("`{name}` is not a valid object name")),
        name => Ok(percent_encode(name)),
    }
}

fn request(path: &str, accept: Option<&str>) -> Result<http::Request<Vec<u8>>, String> {
    let request = http::Request::get(path).header(ACCEPT, accept.unwrap_or("application/json"));
    request.body(Vec::new()).map_err(|error| format!("could not build a request: {error}"))
}

fn path(of: &ResourceType, namespace: &str) -> String {
    let root = if of.group.is_empty() { "/api".to_string() } else { format!("/apis/{}", of.group) };
    let within =
        if namespace.is_empty() { String::new() } else { format!("/namespaces/{}", percent_encode(namespace)) };
    format!("{root}/{}{within}/{}", of.version, of.resource)
}

/// Percent-encodes all other than unreserved characters.
fn percent_encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b':');
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests;
