//! What can be done to resources.

mod account;
mod behave;
mod collection;
mod commit;
mod convert;
mod create;
mod decode;
mod delete;
mod form;
mod get;
mod grants;
mod list;
mod namespace;
mod owners;
mod patch;
mod pods;
mod review;
mod route;
mod scale;
mod select;
mod steps;
mod token;
mod update;
mod watch;

pub(crate) use delete::remove;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::HeaderMap;
use switchboard_object::Value;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::status::Status;

use crate::answer::Answer;
use crate::auth::User;
use crate::crd;
use crate::request::Info;
use crate::request::body;
use crate::request::media::Output;
use crate::request::query::Query;
use crate::resource::{LazyShape, Resource};
use crate::server::{Inner, Logical};
use crate::store::{Key, Record, WriteError};
use crate::wire;

/// One request for a resource, with everything a verb needs.
#[derive(Clone)]
pub(crate) struct Call {
    pub inner: Arc<Inner>,
    pub logical: Arc<Logical>,
    pub resource: Arc<Resource>,
    pub info: Info,
    pub query: Query,
    pub headers: HeaderMap,
    pub user: User,
    pub warnings: Warnings,
    /// A write the server itself makes in the wake of another: nothing follows it.
    pub quiet: bool,
}

/// Warnings collected while a request is answered; each text once.
#[derive(Clone, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// Adds a warning.
    pub fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains(&text) {
            all.push(text);
        }
    }

    /// All of them.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Does what the request asks.
pub(crate) async fn run(call: Call, body: Bytes) -> Result<Answer, Status> {
    if let Some(logs) = &call.inner.frozen {
        match (call.info.verb, call.info.subresource.as_str()) {
            ("get", "log") if &*call.resource.plural == "pods" => {
                return logs.answer(&call.read(&call.find(&call.info.name)?), &call.query);
            }
            ("get" | "list" | "watch", _) => {}
            ("create", "") if call.is_review() => {}
            _ => {
                let recorder = call.inner.recorder.get().cloned().ok_or_else(crate::frozen::read_only)?;
                return crate::frozen::record::record(call, body, &recorder).await;
            }
        }
    }
    perform(call, body).await
}

/// The path and the verb are ones the resource has.
pub(crate) fn is_served(call: &Call) -> bool {
    route::check(call).is_ok()
}

/// Does it, whatever kind of server this is.
pub(crate) async fn perform(call: Call, body: Bytes) -> Result<Answer, Status> {
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

impl Call {
    /// The namespace objects of this request live in; empty for cluster-scoped kinds.
    pub fn namespace(&self) -> &str {
        if self.resource.namespaced { &self.info.namespace } else { "" }
    }

    /// Where an object of this resource is stored.
    pub fn key(&self, name: &str) -> Key {
        Key::new(self.logical.name(), &self.stored_resource(), self.namespace(), name)
    }

    /// The prefix of what this request lists.
    pub fn prefix(&self) -> String {
        let namespace = Some(self.namespace()).filter(|n| !n.is_empty() || !self.resource.namespaced);
        Key::prefix(self.logical.name(), &self.stored_resource(), namespace)
    }

    /// Where upstream would store the object; some messages say it.
    pub fn storage_path(&self, name: &str) -> String {
        let group =
            if self.resource.custom.is_some() { format!("{}/", self.resource.kind.group) } else { String::new() };
        let namespace = if self.resource.namespaced { format!("{}/", self.namespace()) } else { String::new() };
        format!("/registry/{group}{}/{namespace}{name}", self.resource.plural)
    }

    /// Keeps other Services waiting while this write takes addresses and ports that none of them may have; `None` for all
    /// other kinds. They are chosen from what is not seen in use, so two that choose at once would choose the same.
    pub async fn alone_with_addresses(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let takes = self.resource.kind.group.is_empty() && self.resource.kind.kind == "Service";
        if takes { Some(self.logical.addresses.lock().await) } else { None }
    }

    /// What must follow a write before it is answered: what is served follows the CRDs.
    pub async fn written(&self, name: &str) {
        if self.quiet {
            return;
        }
        match &self.resource.custom {
            None if &*self.resource.plural == crd::PLURAL => crd::follow(&self.inner, &self.logical, name).await,
            // The last instance may be what the end of its CRD waits for.
            Some(custom) if custom.terminating => {
                crd::follow(&self.inner, &self.logical, &self.stored_resource()).await;
            }
            _ => {}
        }
    }

    /// The same request for another namespace.
    pub fn in_namespace(&self, namespace: &str) -> Self {
        let info = Info { namespace: namespace.into(), ..self.info.clone() };
        Self { info, ..self.clone() }
    }

    /// The same request as decoding and managed fields see it: of the kind its subresource speaks.
    pub fn speaking(&self, kind: GroupVersionKind) -> Self {
        let of = &self.resource;
        let resource = Resource {
            shape: LazyShape::built_in(kind.clone()),
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

    /// A request of the server to itself.
    pub fn internal(inner: &Arc<Inner>, logical: &Arc<Logical>, resource: &Arc<Resource>, info: Info) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::USER_AGENT, http::HeaderValue::from_static("kube-apiserver"));
        Self {
            inner: inner.clone(),
            logical: logical.clone(),
            resource: resource.clone(),
            info,
            query: Query::default(),
            headers,
            user: User::loopback(),
            warnings: Warnings::default(),
            quiet: true,
        }
    }

    /// The stored object of that name, or 404.
    pub fn find(&self, name: &str) -> Result<Record, Status> {
        let found = self.inner.store.get(&self.key(name));
        found.ok_or_else(|| Status::not_found(&self.resource.group_resource(), name))
    }

    /// Kind and version as they stand in front of served objects.
    pub fn envelope(&self) -> String {
        wire::envelope(&self.resource.kind.api_version(), &self.resource.kind.kind, self.resource.custom.is_some())
    }

    /// A stored object in the form that was asked for.
    pub fn answer_object(&self, code: u16, stored: &Bytes) -> Result<Answer, Status> {
        let record = Record { revision: u64::MAX, bytes: stored.clone() };
        let served = if self.is_converted() { self.reserved(&record) } else { stored.clone() };
        form::Shaper::new(self, Output::negotiate(&self.headers)?)?.object(code, &served)
    }

    /// The store did not take a write.
    pub fn write_failed(&self, error: &WriteError) -> Status {
        match error {
            WriteError::TooLarge { .. } => body::too_large(),
            WriteError::Overloaded => Status::new(429, "TooManyRequests", error.to_string()),
            _ => Status::internal(error.to_string()),
        }
    }

    /// A string of an object's metadata.
    pub fn metadata<'a>(object: &'a Value, field: &str) -> &'a str {
        object["metadata"][field].as_str().unwrap_or_default()
    }
}
