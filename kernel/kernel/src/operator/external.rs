//! Operators that query external systems.

use std::sync::Arc;

use serde_json::Value;

use super::{DecideError, Declaration, Operator, Unit};
use crate::plan::Plan;
use crate::topology::{ClusterName, Topology};
use crate::view::{ExternalClient, View};

/// Operator that queries systems outside Kubernetes.
///
/// Queries and their answers are recorded, so that a decision can be replayed without these systems.
pub trait ExternalOperator: Send + Sync + 'static {
    /// Returns the name of the operator.
    fn name(&self) -> &str;

    /// Returns inputs, outputs, service account and units.
    fn declaration(&self) -> Declaration;

    /// Returns the home cluster, as [`Operator::home_cluster`] does.
    fn home_cluster(&self) -> Option<ClusterName> {
        None
    }

    /// Returns the topology, as [`Operator::topology`] does.
    fn topology(&self) -> Option<Topology> {
        self.home_cluster().map(|home| Topology::standalone(&home))
    }

    /// Answers a query. May block; runs on a thread of its own.
    ///
    /// # Errors
    /// A message for users, which is recorded as the answer.
    fn call(&self, request: &Value) -> Result<Value, String>;

    /// Whether a query changes something in an external system; true by default. A dry run skips such queries and
    /// reports the unit as undecided.
    fn has_side_effects(&self, _request: &Value) -> bool {
        true
    }

    /// Whether the operator reads `managedFields`, as for [`Operator::needs_managed_fields`].
    fn needs_managed_fields(&self) -> bool {
        false
    }

    /// Returns the settings, as [`Operator::settings`] does.
    fn settings(&self) -> Value {
        Value::Null
    }

    /// Decides like [`Operator::decide`], with a client for external queries.
    ///
    /// # Errors
    /// [`DecideError`] when no decision is possible.
    fn decide(&self, unit: &Unit, view: &View, client: &ExternalClient<'_>) -> Result<Plan, DecideError>;
}

/// Allows other parts of the process to share the operator and notify it of changes.
impl<T: ExternalOperator> ExternalOperator for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn declaration(&self) -> Declaration {
        (**self).declaration()
    }

    fn call(&self, request: &Value) -> Result<Value, String> {
        (**self).call(request)
    }

    fn has_side_effects(&self, request: &Value) -> bool {
        (**self).has_side_effects(request)
    }

    fn home_cluster(&self) -> Option<ClusterName> {
        (**self).home_cluster()
    }

    fn topology(&self) -> Option<Topology> {
        (**self).topology()
    }

    fn needs_managed_fields(&self) -> bool {
        (**self).needs_managed_fields()
    }

    fn settings(&self) -> Value {
        (**self).settings()
    }

    fn decide(&self, unit: &Unit, view: &View, client: &ExternalClient<'_>) -> Result<Plan, DecideError> {
        (**self).decide(unit, view, client)
    }
}

/// Adapter that makes an [`Operator`] of an [`ExternalOperator`].
pub struct ExternalAdapter<T>(pub T);

impl<T: ExternalOperator> Operator for ExternalAdapter<T> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn declaration(&self) -> Declaration {
        self.0.declaration()
    }

    fn home_cluster(&self) -> Option<ClusterName> {
        self.0.home_cluster()
    }

    fn topology(&self) -> Option<Topology> {
        self.0.topology()
    }

    fn needs_managed_fields(&self) -> bool {
        self.0.needs_managed_fields()
    }

    fn settings(&self) -> Value {
        self.0.settings()
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let reach = |request: &Value| match view.is_dry_run() && self.0.has_side_effects(request) {
            true => Err(view.skip_query(request)),
            false => self.0.call(request),
        };
        self.0.decide(unit, view, &ExternalClient::new(view, &reach))
    }
}
