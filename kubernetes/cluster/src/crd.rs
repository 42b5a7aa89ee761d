//! Lifecycle of a CustomResourceDefinition.
//!
//! ```text
//! created ─▶ names accepted ─▶ established, served ─▶ marked for deletion ─▶ instances deleted ─▶ deleted
//!                 └─ conflict: not served, reconciled again when a CRD of the group changes
//! ```
//!
//! In Kubernetes, controllers do this. Here the write that causes a step waits for it, so that a client which created a
//! CRD can use it in its next request.

mod lifecycle;
mod status;
#[cfg(test)]
mod tests;

pub(crate) use lifecycle::{load, reconcile};
pub(crate) use status::marked_for_deletion;

/// Plural name of CRDs.
pub(crate) const PLURAL: &str = "customresourcedefinitions";
/// Resource of CRDs in the store.
pub(crate) const RESOURCE: &str = "customresourcedefinitions.apiextensions.k8s.io";
