//! The operators at work on the embedded cluster.
#![allow(clippy::unwrap_used)]

#[path = "cluster/conformance.rs"]
mod conformance;
#[path = "cluster/secrecy.rs"]
mod secrecy;
#[path = "cluster/stage.rs"]
mod stage;
#[path = "cluster/teardown.rs"]
mod teardown;
