//! What a cluster serves: kinds and scopes of the types a program names by plural alone.

use serde_json::Value;
use switchboard_gather::discovery::{ACCEPT, Discovery};

/// A cluster that does not say what it serves.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// It could not be asked.
    #[error("could not ask the cluster what it serves")]
    Request(#[source] Box<kube::Error>),
    /// It gave the old documents.
    #[error("could not learn what the cluster serves: it has no aggregated discovery, which Kubernetes has since 1.27")]
    NotAggregated,
}

/// Asks a cluster.
///
/// # Errors
/// When it cannot be asked, or knows no aggregated discovery.
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

/// What a program is told of the cluster: all that it serves, and all that is usually served, so that a list of a type
/// nobody declared comes back empty instead of never; of each type only what readers look at, because they read the
/// documents again for every type.
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
