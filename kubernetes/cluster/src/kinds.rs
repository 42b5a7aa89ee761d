//! Behavior of the built-in kinds: defaults, admission, preparation of writes, validation.
//!
//! ```text
//!   request ─▶ decode ─▶ default ─▶ admit ─▶ prepare_* ─▶ validate_* ─▶ store
//!                                                     └─▶ warnings
//! ```
//!
//! Everything here is a function of its arguments. Further inputs of a step are in [`WriteContext`]: the server sets
//! the time, the user, random bits and a read-only [`ClusterReader`] at one revision.
//!
//! # Order of calls
//! A create: [`KindStrategy::default`], [`KindStrategy::admit`] with `old: None`, then name, uid and creationTimestamp
//! are set, then [`KindStrategy::prepare_create`], [`KindStrategy::validate_create`], [`KindStrategy::warnings`],
//! [`KindStrategy::review`].
//! An update or patch of the object itself: [`KindStrategy::default`], [`KindStrategy::admit`] with the old object,
//! [`KindStrategy::prepare_update`], [`KindStrategy::validate_update`], [`KindStrategy::warnings`],
//! [`KindStrategy::review`].
//! A write to `status` calls [`KindStrategy::default`], [`KindStrategy::prepare_status_update`] and
//! [`KindStrategy::validate_status_update`]. Writes of Services must not run concurrently, because each reads the addresses
//! that the other Services have.

mod admission;
mod autoscaler;
mod batch;
mod builtin;
mod checks;
pub mod convert;
mod cron;
mod defaults;
mod endpoint_slice;
mod event;
mod go_struct;
mod infrastructure;
pub(crate) mod internal;
mod limits;
mod network;
mod pod;
mod podspec;
mod rules;
mod scalar;
mod stateful_set;
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

/// Inputs of a write besides the object itself.
pub struct WriteContext<'a> {
    /// Time of the request, RFC 3339 with seconds: `2026-11-15T21:44:37Z`.
    pub now: &'a str,
    /// Random bits, new for every request.
    pub random: u64,
    /// User of the request.
    pub user: Requester<'a>,
    /// Other objects of the cluster.
    pub cluster: &'a dyn ClusterReader,
}

/// User of a request, for kinds that record it.
#[derive(Clone, Debug, Default)]
pub struct Requester<'a> {
    /// User name.
    pub name: &'a str,
    /// Uid of the user, or empty.
    pub uid: &'a str,
    /// Groups.
    pub groups: &'a [String],
    /// Extra attributes.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Read access to the cluster at one revision. Resources are named as in RBAC, with the group after a dot unless it is
/// the core group: `serviceaccounts`, `storageclasses.storage.k8s.io`.
pub trait ClusterReader {
    /// Returns an object. `namespace` is empty for cluster-scoped kinds.
    fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value>;
    /// Returns all objects of a namespace, or of the whole cluster if `namespace` is empty.
    fn list(&self, resource: &str, namespace: &str) -> Vec<Value>;
}

/// Cluster without objects.
pub struct EmptyCluster;

impl ClusterReader for EmptyCluster {
    fn get(&self, _resource: &str, _namespace: &str, _name: &str) -> Option<Value> {
        None
    }
    fn list(&self, _resource: &str, _namespace: &str) -> Vec<Value> {
        Vec::new()
    }
}

/// Behavior of one kind. The default methods do nothing.
pub trait KindStrategy: Send + Sync {
    /// Returns the rule for names.
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    /// Whether an update of a missing object creates it.
    fn allow_create_on_update(&self) -> bool {
        false
    }

    /// Whether an update without `resourceVersion` is accepted.
    fn allow_unconditional_update(&self) -> bool {
        true
    }

    /// Returns the paths of fields that a write to the object (`subresource` empty) or to a subresource never takes
    /// from the client. Server-side apply does not record ownership of these fields.
    fn reset_fields(&self, _subresource: &str) -> Vec<Vec<&'static str>> {
        Vec::new()
    }

    /// Sets defaults, and brings the object to the form Go's encoder writes: with `status: {}` even if the client did
    /// not send it, without an empty `labels: {}`.
    fn default(&self, _object: &mut Value) {}

    /// Applies the mutating admission plugins that are enabled by default, before preparation. `old` is the stored
    /// object of an update.
    fn admit(&self, _object: &mut Value, _old: Option<&Value>, _env: &WriteContext<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Applies the validating admission plugins, after preparation and validation.
    fn review(&self, _object: &Value, _old: Option<&Value>, _env: &WriteContext<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Prepares a new object: drops fields that clients must not set, and allocates values.
    fn prepare_create(&self, _object: &mut Value, _env: &WriteContext<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Prepares an update: keeps fields that an update must not change, and increments the generation.
    fn prepare_update(&self, _new: &mut Value, _old: &Value, _env: &WriteContext<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Prepares a write to `status`: keeps all fields that it must not change.
    fn prepare_status_update(&self, _new: &mut Value, _old: &Value, _env: &WriteContext<'_>) {}

    /// Prepares a write to `subresource`: keeps all fields that it must not change. Subresources are `status`, a
    /// namespace's `finalize`, a signing request's `approval`, a pod's `ephemeralcontainers` and `resize`.
    fn prepare_subresource_update(&self, subresource: &str, new: &mut Value, old: &Value, env: &WriteContext<'_>) {
        let _ = subresource;
        self.prepare_status_update(new, old, env);
    }

    /// Validates a write to `subresource`, including metadata.
    fn validate_subresource_update(&self, subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
        let _ = subresource;
        self.validate_status_update(new, old)
    }

    /// Validates a new object, including metadata.
    fn validate_create(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Validates an update, including metadata.
    fn validate_update(&self, _new: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Validates a write to `status`, including metadata.
    fn validate_status_update(&self, _new: &Value, _old: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Returns the kind that an error about an object of `kind` names: for Events always the one of the core group.
    fn error_kind(&self, kind: &GroupVersionKind) -> GroupVersionKind {
        kind.clone()
    }

    /// Returns the warning of a deprecated kind, which is sent with every response, including reads.
    fn deprecation(&self) -> Option<&'static str> {
        None
    }

    /// Returns the warnings for the client.
    fn warnings(&self, _new: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }
}

/// Strategy of a kind without special behavior.
struct PlainStrategy;
impl KindStrategy for PlainStrategy {}

/// Returns the strategy of a built-in kind; for all other kinds one that changes nothing.
pub fn strategy(kind: &GroupVersionKind) -> &'static dyn KindStrategy {
    match builtin::find(kind) {
        Some(builtin) => builtin,
        None => &PlainStrategy,
    }
}
