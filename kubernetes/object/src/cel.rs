//! CEL rules of custom resources (`x-kubernetes-validations`).
//!
//! The grammar is the `cel` crate's; types, values and evaluation are ours, because rules read JSON by its schema, must stop
//! at a budget, and must fail in the words of the API server.
//!
//! ```text
//! rule ──parse──▶ tree ──check (with the CRD)──▶ refused or kept
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
pub use rules::{Place, RuleCost, check_rules};
pub use validate::Rules;
