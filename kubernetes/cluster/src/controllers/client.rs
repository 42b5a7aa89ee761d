//! In-process requests of the controllers, with the server's own rights.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use super::ownership_graph::OwnershipMetadata;
use crate::auth::User;
use crate::resource::ServedResource;
use crate::server::{LogicalCluster, ServerState};
use crate::store::StoreKey;

/// User agent of kube-controller-manager. Managed fields carry its first part.
const AGENT: &str = "kube-controller-manager/v1.36.1 (linux/amd64)";

/// Error of a request.
#[derive(Clone, Debug)]
pub(super) struct RequestFailure {
    pub code: u16,
    pub message: String,
}

/// Client of one logical cluster for the controllers.
pub(super) struct ControllerClient {
    pub inner: Arc<ServerState>,
    pub logical: Arc<LogicalCluster>,
}

impl ControllerClient {
    /// Creates a client; `None` if the logical cluster is not served.
    pub fn of(inner: &Arc<ServerState>, cluster: &str) -> Option<Self> {
        Some(Self { inner: inner.clone(), logical: inner.find_logical(cluster)? })
    }

    /// Returns the metadata of a stored object.
    pub fn metadata(&self, key: &StoreKey) -> Option<OwnershipMetadata> {
        Some(OwnershipMetadata::read(&self.inner.store.get(key)?.bytes))
    }

    /// Returns a stored object.
    pub fn object(&self, key: &StoreKey) -> Option<Value> {
        serde_json::from_slice(&self.inner.store.get(key)?.bytes).ok()
    }

    /// Returns the keys of a resource, in one namespace or (`None`) in all.
    pub fn keys(&self, resource: &str, namespace: Option<&str>) -> Vec<StoreKey> {
        let prefix = StoreKey::prefix(self.logical.name(), resource, namespace);
        let page = self.inner.store.list(&prefix, None, 0, None);
        page.map(|page| page.records.into_iter().map(|(key, _)| key).collect()).unwrap_or_default()
    }

    /// Returns the resource of a key, in its preferred version.
    pub fn resource(&self, key: &StoreKey) -> Option<Arc<ServedResource>> {
        let (plural, group) = key.resource().split_once('.').unwrap_or((key.resource(), ""));
        self.logical.registry().preferred(group, plural).cloned()
    }

    /// Deletes an object, if it is unchanged since it was read. A missing object is not an error.
    pub async fn delete(
        &self,
        key: &StoreKey,
        metadata: &OwnershipMetadata,
        propagation: &str,
    ) -> Result<(), RequestFailure> {
        let options = json!({
            "propagationPolicy": propagation,
            "preconditions": {"uid": metadata.uid, "resourceVersion": metadata.resource_version},
        });
        self.send_object_request(Method::DELETE, key, "", "application/json", &options)
            .await
            .map(drop)
            .or_else(gone_is_fine)
    }

    /// Merges into an object, if it is unchanged since it was read. A missing object is not an error.
    pub async fn merge(
        &self,
        key: &StoreKey,
        metadata: &OwnershipMetadata,
        mut change: Value,
    ) -> Result<(), RequestFailure> {
        change["metadata"]["uid"] = metadata.uid.clone().into();
        change["metadata"]["resourceVersion"] = metadata.resource_version.clone().into();
        let merge = "application/merge-patch+json";
        self.send_object_request(Method::PATCH, key, "", merge, &change).await.map(drop).or_else(gone_is_fine)
    }

    /// Creates an object. An existing object is not an error.
    pub async fn create(&self, key: &StoreKey, object: &Value) -> Result<(), RequestFailure> {
        let Some(path) = self.path(key) else { return Ok(()) };
        let path = path.rsplit_once('/').map_or(path.as_str(), |(collection, _)| collection).to_string();
        match self.send(Method::POST, &path, "application/json", object).await {
            Err(failed) if failed.code == 409 => Ok(()),
            done => done.map(drop),
        }
    }

    /// Sends a request about one object. `suffix` follows its path: `/status`, or a query.
    pub async fn send_object_request(
        &self,
        method: Method,
        key: &StoreKey,
        suffix: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, RequestFailure> {
        match self.path(key) {
            Some(path) => self.send(method, &format!("{path}{suffix}"), content_type, body).await,
            None => Err(RequestFailure { code: 404, message: format!("{} is not served", key.resource()) }),
        }
    }

    fn path(&self, key: &StoreKey) -> Option<String> {
        let resource = self.resource(key)?;
        let root = match resource.kind.group.as_str() {
            "" => format!("/api/{}", resource.kind.version),
            group => format!("/apis/{group}/{}", resource.kind.version),
        };
        let namespace = match key.namespace() {
            "" => String::new(),
            namespace => format!("/namespaces/{namespace}"),
        };
        Some(format!("{root}{namespace}/{}/{}", resource.plural, key.name()))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, RequestFailure> {
        let request = Request::builder()
            .method(method)
            .uri(format!("/clusters/{}{path}", self.logical.name()))
            .header("content-type", content_type)
            .header("accept", "application/json")
            .header("user-agent", AGENT)
            .extension(User::loopback())
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|error| RequestFailure { code: 400, message: error.to_string() })?;
        let response = self.inner.handle(request).await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.map(|b| b.to_bytes()).unwrap_or_default();
        let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if code < 300 {
            return Ok(answer);
        }
        Err(RequestFailure { code, message: answer["message"].as_str().unwrap_or_default().to_string() })
    }
}

fn gone_is_fine(failed: RequestFailure) -> Result<(), RequestFailure> {
    if failed.code == 404 { Ok(()) } else { Err(failed) }
}
