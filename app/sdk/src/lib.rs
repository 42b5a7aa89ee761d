//! Crate that the author of an operator imports: typed reads and writes, tests, and a binary with every command.
//!
//! ```text
//!  your crate ──▶ Operator: decide(unit, view) -> Plan
//!      │              view.typed().get::<ConfigMap>(namespace, name)?      plan.apply(&object)?
//!      └────────▶ main([YourOperator])  ──▶  run, up, why, plan, test, fault-test, console, …
//! ```
//!
//! A complete operator in a binary of its own:
//!
//! ```no_run
//! use switchboard_sdk::k8s_openapi::api::core::v1::ConfigMap;
//! use switchboard_sdk::kube::ResourceExt;
//! use switchboard_sdk::{DecideError, Declaration, ExitCode, Operator, Plan, Selection, Unit, View};
//!
//! /// Labels every ConfigMap that has the annotation `team`.
//! struct TeamLabels;
//!
//! impl Operator for TeamLabels {
//!     fn name(&self) -> &str {
//!         "team-labels"
//!     }
//!
//!     fn declaration(&self) -> Declaration {
//!         Declaration::for_each::<ConfigMap>(Selection::all()).writes::<ConfigMap>()
//!     }
//!
//!     fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
//!         let map = view.typed().get::<ConfigMap>(unit.namespace(), unit.name())?;
//!         let Some(team) = map.as_ref().and_then(|map| map.annotations().get("team")) else {
//!             return Ok(Plan::nothing());
//!         };
//!         let mut labels = ConfigMap::default();
//!         labels.metadata.name = Some(unit.name().to_string());
//!         labels.metadata.namespace = Some(unit.namespace().to_string());
//!         labels.metadata.labels = Some([("team".to_string(), team.clone())].into());
//!         let mut plan = Plan::nothing();
//!         plan.apply(&labels)?;
//!         Ok(plan)
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     switchboard_sdk::main([TeamLabels])
//! }
//! ```
//!
//! [`FakeView`] is a view for unit tests, and [`Probe`] runs an operator under faults. Kinds are types of
//! [`k8s_openapi`], or your own with the derive `CustomResource` of [`kube`]; [`View`] also reads objects without a type.
//!
//! This crate has no behavior of its own: the kernel runs operators, and the command line is that of `switchboard`.

pub use std::process::ExitCode;
use std::sync::Arc;

pub use k8s_openapi;
pub use kube;
pub use switchboard_kernel::prelude::*;
pub use switchboard_probe::{Fault, FaultClass, Probe, ProbeCase, ProbeReport, ScriptStep};

/// Runs the command line of `switchboard`, with these operators beside the built-in ones.
///
/// Without a configuration, `up` hosts exactly these operators. In a configuration, they are known by their names. Two
/// operators with the same name, also that of a built-in one, are an error.
pub fn main<O: Operator>(operators: impl IntoIterator<Item = O>) -> ExitCode {
    main_with(operators.into_iter().map(|one| Arc::new(one) as Arc<dyn Operator>).collect())
}

/// Runs the command line like [`main`], with operators of different types.
pub fn main_with(operators: Vec<Arc<dyn Operator>>) -> ExitCode {
    switchboard_cli::main(operators)
}
