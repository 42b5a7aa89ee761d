//! A Kubernetes API server over a revisioned store: embedded in a process, or on a socket for kubectl.
//!
//! ```text
//! kube::Client ──client──┐                        ┌─▶ paths: discovery, OpenAPI, health
//!                        ├─▶ service ─▶ server ─▶ gate ─▶ verbs ─▶ store ─▶ disk
//! kubectl ──listener─────┘              (auth)    │        │
//!                                                 │        └─ kinds, metadata, crd: how a resource behaves
//!                                                 └─ registry: what is served, built in or from CRDs
//! ```
//!
//! ```
//! # async fn example() {
//! let cluster = switchboard_cluster::Cluster::ephemeral().await;
//! let client = cluster.client(); // a kube::Client without a socket
//! # drop(client);
//! # }
//! ```
//!
//! It schedules no pod, runs no container and calls no webhook: it is the API, its storage and the controllers the API
//! itself needs.

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
