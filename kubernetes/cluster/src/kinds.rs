//! How the built-in kinds behave in the API server: defaults, admission, what a write may change, what is valid.
//!
//! ```text
//!   request ─▶ decode ─▶ default ─▶ admit ─▶ prepare_* ─▶ validate_* ─▶ store
//!                                                     └─▶ warnings
//! ```
//!
//! Everything here is a function of its arguments. What a step must know about the rest of the cluster comes in through
//! [`Env`]: the server fills it with the time, the user, random bits and a read-only [`World`] at one revision.
//!
//! # Order of calls
//! A create: [`Strategy::default`], [`Strategy::admit`] with `old: None`, then name, uid and creationTimestamp are set,
//! then [`Strategy::prepare_create`], [`Strategy::validate_create`], [`Strategy::warnings`], [`Strategy::review`].
//! An update or patch of the object itself: [`Strategy::default`], [`Strategy::admit`] with the old object,
//! [`Strategy::prepare_update`], [`Strategy::validate_update`], [`Strategy::warnings`], [`Strategy::review`].
//! A write to `status` calls [`Strategy::default`], [`Strategy::prepare_status_update`] and
//! [`Strategy::validate_status_update`]. Writes of Services must not run at the same time as each other: each looks at
//! the addresses the others have taken.

mod admission;
mod autoscaler;
mod batch;
mod builtin;
mod check;
pub mod convert;
mod cron;
mod defaults;
mod event;
pub(crate) mod internal;
mod limits;
mod network;
mod pod;
mod podspec;
mod rest;
mod rules;
mod scalar;
mod shape;
mod slice;
mod stateful;
mod storage;
mod subresource;
mod warnings;
mod webhook;
mod workload;

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::kind::GroupVersionKind;
use switchboard_object::status::Status;

use crate::metadata::NameRule;

/// What a write may know beyond the object itself.
pub struct Env<'a> {
    /// The time of the request, RFC 3339 with seconds: `2026-11-15T21:44:37Z`.
    pub now: &'a str,
    /// Random bits, new for every request.
    pub random: u64,
    /// Who asks.
    pub user: Requester<'a>,
    /// The other objects of the cluster.
    pub world: &'a dyn World,
}

/// The user behind a request, for kinds that record it.
#[derive(Clone, Debug, Default)]
pub struct Requester<'a> {
    /// The user name.
    pub name: &'a str,
    /// The user's uid, or empty.
    pub uid: &'a str,
    /// The groups.
    pub groups: &'a [String],
    /// Further attributes.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The cluster at one revision, read only. Resources are named as in RBAC, with the group after a dot unless it is the
/// core group: `serviceaccounts`, `storageclasses.storage.k8s.io`.
pub trait World {
    /// The object of that name; `namespace` is empty for what lives in none.
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value>;
    /// All objects of a namespace, or of the whole cluster when `namespace` is empty.
    fn list(&self, resource: &str, namespace: &str) -> Vec<Value>;
}

/// A cluster with nothing in it.
pub struct EmptyWorld;

impl World for EmptyWorld {
    fn get(&self, _resource: &str, _namespace: &str, _name: &str) -> Option<Value> {
        None
    }
    fn list(&self, _resource: &str, _namespace: &str) -> Vec<Value> {
        Vec::new()
    }
}

/// The behaviour of one kind. Every method does nothing unless the kind says otherwise.
pub trait Strategy: Send + Sync {
    /// What names look like.
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    /// An update of an object that is not there creates it.
    fn allow_create_on_update(&self) -> bool {
        false
    }

    /// An update without `resourceVersion` is accepted.
    fn allow_unconditional_update(&self) -> bool {
        true
    }

    /// Fields that a write to the object (`subresource` empty) or to a subresource never takes from the client, as paths.
    /// Server-side apply gives nobody ownership of them.
    fn reset_fields(&self, _subresource: &str) -> Vec<Vec<&'static str>> {
        Vec::new()
    }

    /// Fills in defaults, and brings the object to the form Go's encoder writes: `status: {}` is there although nobody
    /// sent it, an empty `labels: {}` is not.
    fn default(&self, _object: &mut Value) {}

    /// What the admission plugins that are on by default do to the object, before it is prepared. `old` is the stored
    /// object when this is an update.
    fn admit(&self, _object: &mut Value, _old: Option<&Value>, _env: &Env<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// What the admission plugins say that only look, once the object is prepared and found valid.
    fn review(&self, _object: &Value, _old: Option<&Value>, _env: &Env<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Takes from a new object what is not the client's to say, and allocates what the server allocates.
    fn prepare_create(&self, _object: &mut Value, _env: &Env<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Keeps what an update may not touch, and counts the generation.
    fn prepare_update(&self, _new: &mut Value, _old: &Value, _env: &Env<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Keeps everything but what a write to `status` may change.
    fn prepare_status_update(&self, _new: &mut Value, _old: &Value, _env: &Env<'_>) {}

    /// Keeps everything but what a write to `subresource` may change: `status`, a namespace's `finalize`, a signing
    /// request's `approval`, a pod's `ephemeralcontainers` and `resize`.
    fn prepare_subresource_update(&self, subresource: &str, new: &mut Value, old: &Value, env: &Env<'_>) {
        let _ = subresource;
        self.prepare_status_update(new, old, env);
    }

    /// What is wrong with a write to `subresource`, metadata included.
    fn validate_subresource_update(&self, subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
        let _ = subresource;
        self.validate_status_update(new, old)
    }

    /// What is wrong with a new object, metadata included.
    fn validate_create(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// What is wrong with an update, metadata included.
    fn validate_update(&self, _new: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// What is wrong with a write to `status`, metadata included.
    fn validate_status_update(&self, _new: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// The kind a refusal of an object of `kind` names: Events are Events of the core group, whatever the request said.
    fn refused_kind(&self, kind: &GroupVersionKind) -> GroupVersionKind {
        kind.clone()
    }

    /// The warning every request to a deprecated kind is answered with, reads included.
    fn deprecation(&self) -> Option<&'static str> {
        None
    }

    /// What the client should be warned of.
    fn warnings(&self, _new: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }
}

/// A kind without behaviour of its own.
struct Plain;
impl Strategy for Plain {}

/// The strategy of a built-in kind; one that changes nothing for all others.
pub fn strategy(kind: &GroupVersionKind) -> &'static dyn Strategy {
    match builtin::find(kind) {
        Some(builtin) => builtin,
        None => &Plain,
    }
}
