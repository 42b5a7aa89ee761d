//! CEL rules of custom resources (`x-kubernetes-validations`).
//!
//! The `cel` crate provides the grammar. Types, values and evaluation are implemented here, because rules read JSON by
//! its schema, must stop at a budget, and must fail with the API server's messages.
//!
//! ```text
//! rule ──parse──▶ tree ──check (with the CRD)──▶ accepted or refused
//!                   └────eval (with an object)──▶ true, or a field error
//! ```

mod check;
mod cost;
mod estimate;
mod eval;
mod functions;
mod fuzz;
mod libraries;
mod names;
mod operators;
mod parse;
mod rules;
mod signatures;
mod types;
mod unify;
mod validate;
mod value;

#[cfg(test)]
mod tests;

pub use fuzz::fuzz;
pub(crate) use rules::TOO_EXPENSIVE;
pub use rules::{RuleContext, RuleCost, check_rules};
pub use validate::CelRules;
