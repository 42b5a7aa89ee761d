//! Verbs of resources.

mod behavior;
mod collection;
mod commit;
mod continue_token;
mod convert;
mod create;
mod decode;
mod delete;
mod get;
mod grants;
mod list;
mod list_selector;
mod namespace;
mod owners;
mod patch;
mod pod_service_account;
mod pods;
mod review;
mod route;
mod scale;
mod transform;
mod update;
mod watch;
mod write_steps;

pub(crate) use delete::remove;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::HeaderMap;
use switchboard_object::Value;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::status::Status;

use crate::auth::User;
use crate::crd;
use crate::request::RequestInfo;
use crate::request::body;
use crate::request::media::ResponseFormat;
use crate::request::query::UrlQuery;
use crate::resource::{LazySchema, ServedResource};
use crate::response::ApiResponse;
use crate::server::{LogicalCluster, ServerState};
use crate::store::{StoreKey, StoredObject, WriteError};
use crate::wire;

/// Request for a resource, with everything a verb needs.
#[derive(Clone)]
pub(crate) struct ApiCall {
    pub inner: Arc<ServerState>,
    pub logical: Arc<LogicalCluster>,
    pub resource: Arc<ServedResource>,
    pub info: RequestInfo,
    pub query: UrlQuery,
    pub headers: HeaderMap,
    pub user: User,
    pub warnings: RequestWarnings,
    /// Whether this is a follow-up write of the server itself, which has no follow-up.
    pub suppress_follow_up: bool,
}

/// Warnings of a request, each text once.
#[derive(Clone, Default)]
pub(crate) struct RequestWarnings(Arc<Mutex<Vec<String>>>);

impl RequestWarnings {
    /// Adds a warning.
    pub fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&text) {
            all.push(text);
        }
    }

    /// Takes all warnings.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Executes a request.
pub(crate) async fn run(call: ApiCall, body: Bytes) -> Result<ApiResponse, Status> {
    if let Some(logs) = &call.inner.dump_logs {
        match (call.info.verb, call.info.subresource.as_str()) {
            ("get", "log") if &*call.resource.plural == "pods" => {
                return logs.answer(&call.read(&call.find(&call.info.name)?), &call.query);
            }
            ("get" | "list" | "watch", _) => {}
            ("create", "") if call.is_review() => {}
            _ => {
                let recorder = call.inner.recorder.get().cloned().ok_or_else(crate::dump::read_only_status)?;
                return crate::dump::record::record(call, body, &recorder).await;
            }
        }
    }
    perform(call, body).await
}

/// Whether the resource has the path and the verb.
pub(crate) fn is_served(call: &ApiCall) -> bool {
    route::check(call).is_ok()
}

/// Executes a request, regardless of the kind of server.
pub(crate) async fn perform(call: ApiCall, body: Bytes) -> Result<ApiResponse, Status> {
    if let Some(warning) = call.resource.custom.as_ref().and_then(|custom| custom.deprecation.as_ref()) {
        call.warnings.add(&**warning);
    }
    route::check(&call)?;
    match (call.info.verb, call.info.subresource.as_str()) {
        ("get", "" | "status" | "approval" | "ephemeralcontainers" | "resize") => get::get(&call),
        ("list", "") => list::list(&call),
        ("watch", "") => watch::watch(call),
        ("create", "") if call.is_review() => review::review(&call, &body),
        ("create", "token") => review::token(&call, &body),
        ("create", "") if &*call.resource.plural == "bindings" && call.resource.custom.is_none() => {
            pods::bind(&call, &body).await
        }
        ("create", "binding") => pods::bind(&call, &body).await,
        ("create", "eviction") => pods::evict(&call, &body).await,
        ("create", "") => create::create(&call, &body).await,
        ("update", "" | "status" | "finalize" | "approval" | "ephemeralcontainers" | "resize") => {
            update::update(&call, &body).await
        }
        ("patch", "" | "status" | "approval" | "ephemeralcontainers" | "resize") => patch::patch(&call, &body).await,
        ("get", "scale") => scale::get(&call),
        ("update", "scale") => scale::update(&call, &body).await,
        ("patch", "scale") => scale::patch(&call, &body).await,
        ("delete", "") => delete::delete(&call, &body).await,
        ("deletecollection", "") => collection::delete(&call, &body).await,
        _ => Err(crate::server::method_not_allowed()),
    }
}

impl ApiCall {
    /// Returns the namespace of the request's objects; empty for cluster-scoped kinds.
    pub fn namespace(&self) -> &str {
        if self.resource.namespaced { &self.info.namespace } else { "" }
    }

    /// Returns the store key of an object of this resource.
    pub fn key(&self, name: &str) -> StoreKey {
        StoreKey::new(self.logical.name(), &self.stored_resource(), self.namespace(), name)
    }

    /// Returns the store prefix of the request's list.
    pub fn prefix(&self) -> String {
        let namespace = Some(self.namespace()).filter(|n| !n.is_empty() || !self.resource.namespaced);
        StoreKey::prefix(self.logical.name(), &self.stored_resource(), namespace)
    }

    /// Returns the path under which kube-apiserver stores the object; some messages contain it.
    pub fn storage_path(&self, name: &str) -> String {
        let group =
            if self.resource.custom.is_some() { format!("{}/", self.resource.kind.group) } else { String::new() };
        let namespace = if self.resource.namespaced { format!("{}/", self.namespace()) } else { String::new() };
        format!("/registry/{group}{}/{namespace}{name}", self.resource.plural)
    }

    /// Locks address allocation while this write chooses addresses and ports; `None` for kinds other than Services.
    /// Allocation chooses values that are not visibly in use, so two concurrent writes could choose the same.
    pub async fn lock_addresses(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let takes = self.resource.kind.group.is_empty() && self.resource.kind.kind == "Service";
        if takes { Some(self.logical.addresses.lock().await) } else { None }
    }

    /// Runs the follow-up of a write before its response: the registry follows the CRDs.
    pub async fn after_write(&self, name: &str) {
        if self.suppress_follow_up {
            return;
        }
        match &self.resource.custom {
            None if &*self.resource.plural == crd::PLURAL => crd::reconcile(&self.inner, &self.logical, name).await,
            // The deletion of a CRD may be waiting for this last instance.
            Some(custom) if custom.terminating => {
                crd::reconcile(&self.inner, &self.logical, &self.stored_resource()).await;
            }
            _ => {}
        }
    }

    /// Returns the request for another namespace.
    pub fn in_namespace(&self, namespace: &str) -> Self {
        let info = RequestInfo { namespace: namespace.into(), ..self.info.clone() };
        Self { info, ..self.clone() }
    }

    /// Returns the request for decoding and managed fields, with the kind of its subresource.
    pub fn with_kind(&self, kind: GroupVersionKind) -> Self {
        let of = &self.resource;
        let resource = ServedResource {
            schema: LazySchema::built_in(kind.clone()),
            kind,
            plural: of.plural.clone(),
            singular: of.singular.clone(),
            list_kind: of.list_kind.clone(),
            short_names: Vec::new(),
            categories: Vec::new(),
            namespaced: of.namespaced,
            verbs: Vec::new(),
            subresources: Vec::new(),
            custom: None,
        };
        Self { resource: resource.into(), ..self.clone() }
    }

    /// Creates an internal request of the server.
    pub fn internal(
        inner: &Arc<ServerState>,
        logical: &Arc<LogicalCluster>,
        resource: &Arc<ServedResource>,
        info: RequestInfo,
    ) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::USER_AGENT, http::HeaderValue::from_static("kube-apiserver"));
        Self {
            inner: inner.clone(),
            logical: logical.clone(),
            resource: resource.clone(),
            info,
            query: UrlQuery::default(),
            headers,
            user: User::loopback(),
            warnings: RequestWarnings::default(),
            suppress_follow_up: true,
        }
    }

    /// Returns the stored object of that name, or 404.
    pub fn find(&self, name: &str) -> Result<StoredObject, Status> {
        let found = self.inner.store.get(&self.key(name));
        found.ok_or_else(|| Status::not_found(&self.resource.group_resource(), name))
    }

    /// Returns kind and version in front of served objects.
    pub fn envelope(&self) -> String {
        wire::envelope(&self.resource.kind.api_version(), &self.resource.kind.kind, self.resource.custom.is_some())
    }

    /// Returns the response for a stored object, in the requested form.
    pub fn answer_object(&self, code: u16, stored: &Bytes) -> Result<ApiResponse, Status> {
        let record = StoredObject { revision: u64::MAX, bytes: stored.clone() };
        let served = if self.is_converted() { self.to_served(&record) } else { stored.clone() };
        transform::ResponseTransformer::new(self, ResponseFormat::negotiate(&self.headers)?)?.object(code, &served)
    }

    /// Returns the Status for a failed write to the store.
    pub fn write_failed(&self, error: &WriteError) -> Status {
        match error {
            WriteError::TooLarge { .. } => body::too_large(),
            WriteError::Overloaded => Status::new(429, "TooManyRequests", error.to_string()),
            _ => Status::internal(error.to_string()),
        }
    }

    /// Returns a string of an object's metadata.
    pub fn metadata<'a>(object: &'a Value, field: &str) -> &'a str {
        object["metadata"][field].as_str().unwrap_or_default()
    }
}
