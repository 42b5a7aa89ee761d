//! Requests of the controllers: in process, with the rights of the server itself.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use super::graph::Metadata;
use crate::auth::User;
use crate::resource::Resource;
use crate::server::{Inner, Logical};
use crate::store::Key;

/// As upstream's controller manager calls itself; managed fields carry the first part.
const AGENT: &str = "kube-controller-manager/v1.36.1 (linux/amd64)";

/// A request that was refused.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    pub code: u16,
    pub message: String,
}

/// One logical cluster, as the controllers speak to it.
pub(super) struct Api {
    pub inner: Arc<Inner>,
    pub logical: Arc<Logical>,
}

impl Api {
    /// `None` when the logical cluster is not served.
    pub fn of(inner: &Arc<Inner>, cluster: &str) -> Option<Self> {
        Some(Self { inner: inner.clone(), logical: inner.find(cluster)? })
    }

    /// The metadata of a stored object.
    pub fn metadata(&self, key: &Key) -> Option<Metadata> {
        Some(Metadata::read(&self.inner.store.get(key)?.bytes))
    }

    /// A stored object.
    pub fn object(&self, key: &Key) -> Option<Value> {
        serde_json::from_slice(&self.inner.store.get(key)?.bytes).ok()
    }

    /// The keys of a resource, in one namespace or (`None`) in all.
    pub fn keys(&self, resource: &str, namespace: Option<&str>) -> Vec<Key> {
        let prefix = Key::prefix(self.logical.name(), resource, namespace);
        let page = self.inner.store.list(&prefix, None, 0, None);
        page.map(|page| page.records.into_iter().map(|(key, _)| key).collect()).unwrap_or_default()
    }

    /// The resource of a key, in its preferred version.
    pub fn resource(&self, key: &Key) -> Option<Arc<Resource>> {
        let (plural, group) = key.resource().split_once('.').unwrap_or((key.resource(), ""));
        self.logical.registry().preferred(group, plural).cloned()
    }

    /// Deletes an object, if it is still the one that was looked at. What is gone already is fine.
    pub async fn delete(&self, key: &Key, metadata: &Metadata, propagation: &str) -> Result<(), Failed> {
        let options = json!({
            "propagationPolicy": propagation,
            "preconditions": {"uid": metadata.uid, "resourceVersion": metadata.resource_version},
        });
        self.to_object(Method::DELETE, key, "", "application/json", &options).await.map(drop).or_else(gone_is_fine)
    }

    /// Merges into an object, if it is still the one that was looked at. What is gone already is fine.
    pub async fn merge(&self, key: &Key, metadata: &Metadata, mut change: Value) -> Result<(), Failed> {
        change["metadata"]["uid"] = metadata.uid.clone().into();
        change["metadata"]["resourceVersion"] = metadata.resource_version.clone().into();
        let merge = "application/merge-patch+json";
        self.to_object(Method::PATCH, key, "", merge, &change).await.map(drop).or_else(gone_is_fine)
    }

    /// Makes an object. What is there already is fine.
    pub async fn create(&self, key: &Key, object: &Value) -> Result<(), Failed> {
        let Some(path) = self.path(key) else { return Ok(()) };
        let path = path.rsplit_once('/').map_or(path.as_str(), |(collection, _)| collection).to_string();
        match self.send(Method::POST, &path, "application/json", object).await {
            Err(failed) if failed.code == 409 => Ok(()),
            done => done.map(drop),
        }
    }

    /// A request about one object. `suffix` is what follows its path: `/status`, or a query.
    pub async fn to_object(
        &self,
        method: Method,
        key: &Key,
        suffix: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, Failed> {
        match self.path(key) {
            Some(path) => self.send(method, &format!("{path}{suffix}"), content_type, body).await,
            None => Err(Failed { code: 404, message: format!("{} is not served", key.resource()) }),
        }
    }

    fn path(&self, key: &Key) -> Option<String> {
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

    async fn send(&self, method: Method, path: &str, content_type: &str, body: &Value) -> Result<Value, Failed> {
        let request = Request::builder()
            .method(method)
            .uri(format!("/clusters/{}{path}", self.logical.name()))
            .header("content-type", content_type)
            .header("accept", "application/json")
            .header("user-agent", AGENT)
            .extension(User::loopback())
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|error| Failed { code: 400, message: error.to_string() })?;
        let response = self.inner.handle(request).await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.map(|b| b.to_bytes()).unwrap_or_default();
        let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if code < 300 {
            return Ok(answer);
        }
        Err(Failed { code, message: answer["message"].as_str().unwrap_or_default().to_string() })
    }
}

fn gone_is_fine(failed: Failed) -> Result<(), Failed> {
    if failed.code == 404 { Ok(()) } else { Err(failed) }
}
