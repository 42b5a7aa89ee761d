//! Plan of an operator: mutations as data.

mod delete_options;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::operator::ServiceAccount;
use crate::resource::Resource;
use crate::row::RowWrite;
use crate::topology::ClusterType;
pub use delete_options::DeleteOptions;

/// Mutations for one unit, with the unit's status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Mutations in the operator's order; the arbiter determines the order of execution.
    pub mutations: Vec<Mutation>,
    /// Changes of rows, which are committed in one transaction before any mutation is sent.
    #[serde(skip)]
    pub rows: Vec<RowWrite>,
    /// Status of the unit after the mutations.
    #[serde(default)]
    pub status: UnitStatus,
    /// Time after which the unit runs again even if nothing changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requeue_after: Option<Duration>,
    /// Whether the mutations are executed one by one in the given order, for operators whose steps depend on each
    /// other. Otherwise the arbiter orders and squashes them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ordered: bool,
}

/// Status of a unit. Messages contain no secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UnitStatus {
    /// The unit is in the wanted state.
    #[default]
    Ready,
    /// Something else must happen first; no action is needed.
    Waiting(String),
    /// A user must act.
    Blocked(String),
    /// An error occurred, but the mutations are correct; the unit is retried later.
    Failing(String),
}

/// Mutation of one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mutation {
    /// Cluster type of the object.
    pub cluster_type: ClusterType,
    /// Kind of the object.
    pub resource: Resource,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name; empty for a create with `generateName`.
    pub name: String,
    /// Subresource such as `status` or `scale`; absent for the object itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    /// Operation on the object.
    pub operation: WriteOp,
    /// Preconditions of the write.
    #[serde(default)]
    pub preconditions: Preconditions,
    /// Further options of a deletion; empty for other operations.
    #[serde(default, skip_serializing_if = "DeleteOptions::is_empty")]
    pub delete_options: DeleteOptions,
    /// Field manager; the operator's name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_manager: Option<String>,
    /// Handling of unknown fields by the server: `Ignore`, `Warn` or `Strict`; the server's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_validation: Option<String>,
    /// Service account for this write; the operator's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<ServiceAccount>,
}

/// Operation on an object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WriteOp {
    /// Create the object.
    Create(Value),
    /// Replace the object; the body has the `resourceVersion` at which it was read.
    Update(Value),
    /// Server-side apply.
    Apply {
        /// Fields to apply.
        body: Value,
        /// Whether fields of other managers are taken.
        force: bool,
    },
    /// Patch the object.
    Patch {
        /// Type of the patch.
        patch_type: PatchType,
        /// Patch.
        body: Value,
    },
    /// Delete the object.
    Delete {
        /// Propagation policy `Background`, `Foreground` or `Orphan`; the kind's default when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        propagation: Option<String>,
    },
}

/// Type of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PatchType {
    /// JSON patch, RFC 6902.
    Json,
    /// JSON merge patch, RFC 7396.
    Merge,
    /// Strategic merge patch of Kubernetes.
    Strategic,
}

/// Preconditions of a write; if they do not hold, the unit decides again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Preconditions {
    /// The object is unchanged since it was read. No precondition if it was not read.
    #[default]
    AsRead,
    /// No precondition: the write is correct regardless of later changes.
    Unconditional,
    /// Exact object and revision; the arbiter resolves `AsRead` to this.
    Exact {
        /// UID of the object.
        uid: String,
        /// Revision of the object.
        revision: u64,
    },
}

impl UnitStatus {
    /// Replaces the message of the status.
    #[must_use]
    pub(crate) fn map_message(self, other: &dyn Fn(&str) -> String) -> Self {
        match self {
            UnitStatus::Ready => UnitStatus::Ready,
            UnitStatus::Waiting(on) => UnitStatus::Waiting(other(&on)),
            UnitStatus::Blocked(needs) => UnitStatus::Blocked(other(&needs)),
            UnitStatus::Failing(why) => UnitStatus::Failing(other(&why)),
        }
    }
}

impl Plan {
    /// Creates a plan without mutations.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Creates an empty plan whose mutations are executed in the given order.
    pub fn ordered() -> Self {
        Self { ordered: true, ..Self::default() }
    }

    /// Adds a mutation.
    pub fn push(&mut self, mutation: Mutation) -> &mut Self {
        self.mutations.push(mutation);
        self
    }

    /// Adds a change of a row.
    pub fn push_row(&mut self, row: RowWrite) -> &mut Self {
        self.rows.push(row);
        self
    }

    /// Sets the status to waiting, with what the unit waits for.
    #[must_use]
    pub fn waiting(mut self, on: impl Into<String>) -> Self {
        self.status = UnitStatus::Waiting(on.into());
        self
    }

    /// Sets the status to blocked, with what a user must do.
    #[must_use]
    pub fn blocked(mut self, needs: impl Into<String>) -> Self {
        self.status = UnitStatus::Blocked(needs.into());
        self
    }

    /// Sets the status to failing, with the error. The mutations are still executed.
    #[must_use]
    pub fn failing(mut self, why: impl Into<String>) -> Self {
        self.status = UnitStatus::Failing(why.into());
        self
    }

    /// Runs the unit again after that time even if nothing changes.
    #[must_use]
    pub fn requeue_after(mut self, wait: Duration) -> Self {
        self.requeue_after = Some(wait);
        self
    }
}

impl Mutation {
    fn of(resource: &Resource, namespace: &str, name: &str, operation: WriteOp) -> Self {
        Self {
            cluster_type: ClusterType::default(),
            resource: resource.clone(),
            namespace: namespace.to_string(),
            name: name.to_string(),
            subresource: None,
            operation,
            preconditions: Preconditions::default(),
            delete_options: DeleteOptions::default(),
            field_manager: None,
            field_validation: None,
            user: None,
        }
    }

    fn of_body(resource: &Resource, mut body: Value, operation: impl FnOnce(Value) -> WriteOp) -> Self {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        if let Value::Object(fields) = &mut body {
            fields.entry("apiVersion").or_insert_with(|| resource.api_version().into());
            fields.entry("kind").or_insert_with(|| resource.kind.as_ref().into());
        }
        Self::of(resource, &namespace, &name, operation(body))
    }

    /// Creates an object. Name and namespace come from the body's metadata; `apiVersion` and `kind` are optional.
    pub fn create(resource: &Resource, body: Value) -> Self {
        Self::of_body(resource, body, WriteOp::Create)
    }

    /// Replaces an object that was read.
    pub fn update(resource: &Resource, body: Value) -> Self {
        Self::of_body(resource, body, WriteOp::Update)
    }

    /// Applies fields with server-side apply. Fields of other managers are conflicts unless [`Mutation::forced`] is
    /// used.
    pub fn apply(resource: &Resource, body: Value) -> Self {
        Self::of_body(resource, body, |body| WriteOp::Apply { body, force: false })
    }

    /// Patches an object.
    pub fn patch(resource: &Resource, namespace: &str, name: &str, patch_type: PatchType, body: Value) -> Self {
        Self::of(resource, namespace, name, WriteOp::Patch { patch_type, body })
    }

    /// Deletes an object.
    pub fn delete(resource: &Resource, namespace: &str, name: &str) -> Self {
        Self::of(resource, namespace, name, WriteOp::Delete { propagation: None })
    }

    /// Moves the mutation to another cluster type.
    #[must_use]
    pub fn on(self, cluster_type: ClusterType) -> Self {
        Self { cluster_type, ..self }
    }

    /// Writes the status subresource instead of the object.
    #[must_use]
    pub fn status(self) -> Self {
        Self { subresource: Some("status".to_string()), ..self }
    }

    /// Takes fields from other managers.
    #[must_use]
    pub fn forced(mut self) -> Self {
        if let WriteOp::Apply { force, .. } = &mut self.operation {
            *force = true;
        }
        self
    }

    /// Uses another service account than the operator's.
    #[must_use]
    pub fn acting_as(self, user: ServiceAccount) -> Self {
        Self { user: Some(user), ..self }
    }

    /// Uses another field manager than the operator's name.
    #[must_use]
    pub fn managed_by(self, manager: impl Into<String>) -> Self {
        Self { field_manager: Some(manager.into()), ..self }
    }

    /// Removes the preconditions.
    #[must_use]
    pub fn unconditional(self) -> Self {
        Self { preconditions: Preconditions::Unconditional, ..self }
    }

    /// Whether two mutations are equal apart from their cluster type.
    pub fn equals_except_cluster_type(&self, other: &Self) -> bool {
        // All fields are listed, so that a new field must be considered here.
        let Self {
            cluster_type: _,
            resource,
            namespace,
            name,
            subresource,
            operation,
            preconditions,
            delete_options,
            field_manager,
            field_validation,
            user,
        } = self;
        (name, namespace, resource, subresource) == (&other.name, &other.namespace, &other.resource, &other.subresource)
            && (preconditions, delete_options, user) == (&other.preconditions, &other.delete_options, &other.user)
            && (field_manager, field_validation) == (&other.field_manager, &other.field_validation)
            && operation == &other.operation
    }

    /// Returns the verb of the operation.
    pub fn verb(&self) -> &'static str {
        match self.operation {
            WriteOp::Create(_) => "create",
            WriteOp::Update(_) => "update",
            WriteOp::Apply { .. } => "apply",
            WriteOp::Patch { .. } => "patch",
            WriteOp::Delete { .. } => "delete",
        }
    }
}

/// Formats a mutation as `apply configmaps/shop/web` or `update plugs.example.com/shop/web status`.
impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/", self.verb(), self.resource)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(if self.name.is_empty() { "?" } else { &self.name })?;
        self.subresource.as_ref().map_or(Ok(()), |s| write!(f, " {s}"))
    }
}
