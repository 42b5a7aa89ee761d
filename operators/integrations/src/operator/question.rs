//! Questions of the operator for the desired state, and their answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_kernel::view::Question;

use super::DeletionGuard;

/// Question for an integration in a namespace.
#[derive(Serialize)]
pub(super) struct IntegrationQuestion<'a> {
    pub namespace: &'a str,
    pub integration: &'a str,
}

/// Question for a namespace.
#[derive(Serialize)]
pub(super) struct NamespaceQuestion<'a> {
    pub namespace: &'a str,
}

/// Answer about an integration.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum IntegrationAnswer {
    /// Desired objects.
    Desired(DesiredState),
    /// Problem of the integration's entry.
    Problem(String),
}

/// Answer about a namespace.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NamespaceAnswer {
    /// Objects that the integrations of the namespace share.
    pub state: DesiredState,
    /// Kinds and names of all desired objects of the namespace.
    pub names: Vec<(String, String)>,
    /// Problem because of which nothing is deleted.
    pub keep_all: Option<String>,
    /// Integrations whose objects are not deleted.
    pub keep: Vec<String>,
    /// Limits of deletions.
    pub guard: DeletionGuard,
}

/// Desired objects, and the settings for their reconciliation.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DesiredState {
    pub objects: Vec<ObjectState>,
    /// Whether integrations share the objects.
    pub shared: bool,
    /// Caller that the objects are managed for.
    pub caller: String,
    /// Digest of the data.
    pub bundle: String,
    /// Whether the operator deletes and takes over like qontract-reconcile.
    pub compat: bool,
    /// Whether to take over objects of other managers.
    pub take_over: bool,
    /// Whether objects of all callers are deleted.
    pub unscoped: bool,
    /// Whether new objects get the shard label.
    pub shard_labels: bool,
}

/// Desired object.
#[derive(Serialize, Deserialize)]
pub(super) struct ObjectState {
    pub kind: String,
    pub name: String,
    pub hash: String,
    pub body: Value,
    /// Shard for the shard label.
    pub shard: Option<String>,
}

impl Question for IntegrationQuestion<'_> {
    /// `None` if nothing is desired.
    type Answer = Option<IntegrationAnswer>;
    const KIND: &'static str = "integration";

    fn acts(&self) -> bool {
        false
    }
}

impl Question for NamespaceQuestion<'_> {
    /// `None` if the namespace is not known.
    type Answer = Option<NamespaceAnswer>;
    const KIND: &'static str = "namespace";

    fn acts(&self) -> bool {
        false
    }
}
