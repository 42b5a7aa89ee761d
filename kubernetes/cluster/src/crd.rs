//! The life of a CustomResourceDefinition: its names are accepted, it is established and served, its instances go, it goes.
//!
//! ```text
//! created ─▶ names accepted ─▶ established, served ─▶ marked for deletion ─▶ instances deleted ─▶ gone
//!                 └─ conflict: not served, looked at again when a CRD of the group changes
//! ```
//!
//! Upstream leaves this to controllers; here the write that causes a step waits for it, so that a client which created a
//! CRD can use it with its next request.

mod follow;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use follow::{follow, load};
pub(crate) use state::marked_for_deletion;

/// The plural name of CRDs.
pub(crate) const PLURAL: &str = "customresourcedefinitions";
/// CRDs in the store.
pub(crate) const RESOURCE: &str = "customresourcedefinitions.apiextensions.k8s.io";
