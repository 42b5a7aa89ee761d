//! Discovery of a cluster: kinds and scopes of types that a program names by plural only.

use serde_json::Value;
use switchboard_gather::discovery::{ACCEPT, Discovery};

/// Error of discovery.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The request failed.
    #[error("could not read the types that the cluster serves")]
    Request(#[source] Box<kube::Error>),
    /// The cluster answered without aggregated discovery.
    #[error(
        "could not read the types that the cluster serves: it has no aggregated discovery, which needs Kubernetes 1.27 or newer"
    )]
    NotAggregated,
}

/// Requests the discovery documents of a cluster.
///
/// # Errors
/// If a request fails, or the cluster has no aggregated discovery.
pub async fn discover(client: &kube::Client) -> Result<Discovery, DiscoveryError> {
    Ok(Discovery::new(document(client, "/api").await?, document(client, "/apis").await?))
}

async fn document(client: &kube::Client, path: &str) -> Result<Value, DiscoveryError> {
    let failed = |error: kube::Error| DiscoveryError::Request(Box::new(error));
    let request = http::Request::get(path).header(http::header::ACCEPT, ACCEPT).body(Vec::new());
    let request = request.map_err(|error| failed(kube::Error::HttpError(error)))?;
    let document: Value = client.request(request).await.map_err(failed)?;
    if document["kind"] == "APIGroupDiscoveryList" { Ok(document) } else { Err(DiscoveryError::NotAggregated) }
}

/// Returns the discovery for programs: everything that the cluster serves, and the usual types of OpenShift. Without
/// the latter, a client of a missing type would wait forever instead of reading an empty list. Only the fields that
/// clients use are kept, because clients read the documents again for every type.
pub(crate) fn advertised(cluster: &Discovery) -> Discovery {
    let all = cluster.merged_with(Discovery::bundled());
    Discovery::new(trimmed(all.api()), trimmed(all.apis()))
}

const KEPT_FIELDS: [&str; 5] = ["resource", "responseKind", "scope", "singularResource", "verbs"];

fn trimmed(document: &Value) -> Value {
    let mut bare = document.clone();
    let groups = bare["items"].as_array_mut().into_iter().flatten();
    let versions = groups.flat_map(|group| group["versions"].as_array_mut().into_iter().flatten());
    for resource in versions.flat_map(|version| version["resources"].as_array_mut().into_iter().flatten()) {
        if let Some(fields) = resource.as_object_mut() {
            fields.retain(|key, _| KEPT_FIELDS.contains(&key.as_str()));
        }
    }
    bare
}

#[cfg(test)]
mod tests;
