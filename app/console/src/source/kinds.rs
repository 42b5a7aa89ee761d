//! Kinds that a cluster serves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Request;
use serde_json::Value;
use switchboard_kernel::resource::Resource;
use tokio::sync::Mutex;

use crate::problem::ConsoleProblem;

/// Maximum age of cached kinds; CRDs add and remove kinds.
const FRESH: Duration = Duration::from_secs(20);
/// Timeout for discovery.
const PATIENCE: Duration = Duration::from_secs(8);

type CachedKinds = BTreeMap<String, (Instant, Arc<Vec<Resource>>)>;

/// Cached kinds of each cluster.
#[derive(Default)]
pub(super) struct KindCache(Mutex<CachedKinds>);

impl KindCache {
    pub(super) async fn of(&self, cluster: &str, client: &kube::Client) -> Result<Arc<Vec<Resource>>, ConsoleProblem> {
        let mut known = self.0.lock().await;
        if let Some((at, kinds)) = known.get(cluster)
            && at.elapsed() < FRESH
        {
            return Ok(kinds.clone());
        }
        let found = tokio::time::timeout(PATIENCE, discover(client)).await;
        let failed = |why: String| ConsoleProblem::Cluster(format!("could not discover the kinds of {cluster}: {why}"));
        let found = found.map_err(|_| failed(format!("no answer within {PATIENCE:?}")))?;
        let found = Arc::new(found.map_err(|error| failed(error.to_string()))?);
        known.insert(cluster.to_string(), (Instant::now(), found.clone()));
        Ok(found)
    }
}

async fn discover(client: &kube::Client) -> Result<Vec<Resource>, kube::Error> {
    let mut kinds = listed("", "v1", &get(client, "/api/v1").await?);
    let groups = get(client, "/apis").await?;
    for group in groups["groups"].as_array().into_iter().flatten() {
        let name = group["name"].as_str().unwrap_or_default();
        let version = group["preferredVersion"]["version"].as_str().unwrap_or_default();
        // An error of one group does not affect the others.
        if let Ok(resources) = get(client, &format!("/apis/{name}/{version}")).await {
            kinds.extend(listed(name, version, &resources));
        }
    }
    kinds.sort_by_key(|kind| (kind.group.clone(), kind.plural.clone()));
    Ok(kinds)
}

async fn get(client: &kube::Client, path: &str) -> Result<Value, kube::Error> {
    let request = Request::get(path).header("Accept", "application/json").body(Vec::new());
    client.request(request.map_err(kube::Error::HttpError)?).await
}

fn listed(group: &str, version: &str, answer: &Value) -> Vec<Resource> {
    let resources = answer["resources"].as_array().into_iter().flatten();
    let can_list = |one: &&Value| one["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|verb| verb == "list"));
    resources
        .filter(can_list)
        .filter_map(|one| {
            Some(Resource {
                group: group.to_string().into(),
                version: version.to_string().into(),
                kind: one["kind"].as_str()?.to_string().into(),
                plural: one["name"].as_str().filter(|name| !name.contains('/'))?.to_string().into(),
                namespaced: one["namespaced"] == true,
            })
        })
        .collect()
}
