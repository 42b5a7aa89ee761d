//! Directories exchanged between operators and their hosts: a client over a dump, and the cases of
//! multi-operator-manager.
#![allow(clippy::unwrap_used)]

#[path = "gather/client.rs"]
mod client;
#[path = "gather/pruning.rs"]
mod pruning;
#[cfg(feature = "real")]
#[path = "gather/upstream_cases.rs"]
mod upstream_cases;
