//! A Kubernetes API server over a revisioned store.

pub mod registry;
pub mod resource;
pub mod store;
