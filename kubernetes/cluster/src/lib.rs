//! A Kubernetes API server over a revisioned store: embedded in a process, or on a socket for kubectl.
//!
//! ```text
//! kube::Client ──client──┐                           ┌─▶ paths: discovery, OpenAPI, health
//!                        ├─▶ service ─▶ server ─▶ filters ─▶ verbs ─▶ store ─▶ disk
//! kubectl ──listener─────┘              (auth)       │        │
//!                                                    │        └─ kinds, metadata, crd: behavior of resources
//!                                                    └─ registry: served resources, built in or from CRDs
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
//! The crate schedules no pods, runs no containers and calls no webhooks: it provides the API, its storage and the
//! controllers that the API itself needs.

pub mod auth;
mod bootstrap;
pub mod client;
pub mod clock_and_rng;
mod controllers;
mod crd;
pub mod discovery;
pub mod dump;
pub mod kinds;
pub mod listener;
pub mod metadata;
pub mod openapi;
pub mod registry;
pub mod request;
pub mod resource;
pub mod response;
pub mod server;
pub mod service;
pub mod store;
pub mod table;
mod verbs;
pub mod version;
pub mod wire;

pub use server::Cluster;

/// Examples of the README, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeDoctests;
