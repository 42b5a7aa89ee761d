//! Directories as operators and their hosts exchange them: a client over a dump, and what multi-operator-manager's own cases say.
#![allow(clippy::unwrap_used)]

#[path = "gather/client.rs"]
mod client;
#[path = "gather/pruning.rs"]
mod pruning;
#[cfg(feature = "real")]
#[path = "gather/upstream_cases.rs"]
mod upstream_cases;
