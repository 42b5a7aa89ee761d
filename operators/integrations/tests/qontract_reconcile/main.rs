//! End-to-end comparison with the output of qontract-reconcile's own code for the same data.
//!
//! The data is in examples/integrations, and qontract-reconcile's output in its folder `expected`, written by
//! tests/real/integrations.py. It is read from the directory, the bundle and a server, with the same result each time.

#![allow(clippy::unwrap_used)]

mod example;
mod expected;
mod graphql;
mod hostile;
mod lint;
mod seeds;
mod server;
