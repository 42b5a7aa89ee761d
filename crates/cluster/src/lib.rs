//! A Kubernetes API server over a revisioned store.

pub mod ambient;
pub mod registry;
pub mod request;
pub mod resource;
pub mod store;
pub mod wire;
