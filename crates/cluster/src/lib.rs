//! A Kubernetes API server over a revisioned store.

pub mod ambient;
pub mod discovery;
pub mod openapi;
pub mod registry;
pub mod request;
pub mod resource;
pub mod store;
pub mod wire;
pub mod version;
