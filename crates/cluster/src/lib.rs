//! A Kubernetes API server over a revisioned store.

pub mod ambient;
pub mod answer;
pub mod auth;
mod bootstrap;
pub mod client;
mod controllers;
mod crd;
pub mod discovery;
pub mod frozen;
pub mod kinds;
pub mod listener;
pub mod metadata;
pub mod openapi;
pub mod registry;
pub mod request;
pub mod resource;
pub mod server;
pub mod service;
pub mod store;
pub mod table;
mod verbs;
pub mod version;
pub mod wire;

pub use server::Cluster;
