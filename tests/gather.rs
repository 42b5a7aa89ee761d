//! Directories as operators and their hosts exchange them: a client over a dump, and what multi-operator-manager's own cases say.
#![allow(clippy::unwrap_used)]

#[path = "gather/client.rs"]
mod client;
#[cfg(feature = "real")]
#[path = "gather/original.rs"]
mod original;
#[path = "gather/pruned.rs"]
mod pruned;
