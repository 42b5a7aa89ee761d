//! Operators that must reach outside Kubernetes.

use std::sync::Arc;

use serde_json::Value;

use super::{Declaration, Operator, Stop, Unit};
use crate::place::{ClusterName, Topology};
use crate::plan::Plan;
use crate::view::{Outside, View};

/// The second, narrow form: an operator that must reach outside Kubernetes.
///
/// What it asks and the answer it got are recorded, so that the decision can be replayed without the outside.
pub trait Outward: Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &str;

    /// Inputs, outputs, service account and units.
    fn declaration(&self) -> Declaration;

    /// As [`Operator::home`].
    fn home(&self) -> Option<ClusterName> {
        None
    }

    /// As [`Operator::topology`].
    fn topology(&self) -> Option<Topology> {
        self.home().map(|home| Topology::standalone(&home))
    }

    /// Answers one question. May block; runs on a thread of its own.
    ///
    /// # Errors
    /// A message for people, recorded as the answer.
    fn reach(&self, request: &Value) -> Result<Value, String>;

    /// Whether to answer a question changes something outside. Such a question is not asked in a dry run: the unit is said to
    /// be undecided instead. Who does not say is taken to change something.
    fn acts(&self, _request: &Value) -> bool {
        true
    }

    /// As [`Operator::reads_managers`].
    fn reads_managers(&self) -> bool {
        false
    }

    /// As [`Operator::settings`].
    fn settings(&self) -> Value {
        Value::Null
    }

    /// As [`Operator::decide`], with a door to the outside.
    ///
    /// # Errors
    /// [`Stop`] when no decision is possible.
    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop>;
}

/// One that others hold as well, to tell it what has changed around it.
impl<T: Outward> Outward for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn declaration(&self) -> Declaration {
        (**self).declaration()
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        (**self).reach(request)
    }

    fn acts(&self, request: &Value) -> bool {
        (**self).acts(request)
    }

    fn home(&self) -> Option<ClusterName> {
        (**self).home()
    }

    fn topology(&self) -> Option<Topology> {
        (**self).topology()
    }

    fn reads_managers(&self) -> bool {
        (**self).reads_managers()
    }

    fn settings(&self) -> Value {
        (**self).settings()
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        (**self).decide(unit, view, outside)
    }
}

/// Makes an operator of one that reaches outside.
pub struct Reaching<T>(pub T);

impl<T: Outward> Operator for Reaching<T> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn declaration(&self) -> Declaration {
        self.0.declaration()
    }

    fn home(&self) -> Option<ClusterName> {
        self.0.home()
    }

    fn topology(&self) -> Option<Topology> {
        self.0.topology()
    }

    fn reads_managers(&self) -> bool {
        self.0.reads_managers()
    }

    fn settings(&self) -> Value {
        self.0.settings()
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, Stop> {
        let reach = |request: &Value| match view.is_pretending() && self.0.acts(request) {
            true => Err(view.withhold(request)),
            false => self.0.reach(request),
        };
        self.0.decide(unit, view, &Outside::new(view, &reach))
    }
}
