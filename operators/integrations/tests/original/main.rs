//! The whole way from data to objects, held against what the original's own code made of the same data.
//!
//! The data is examples/integrations; what the original made of it is in its folder `expected`, written by
//! tests/real/integrations.py. It is read from the directory, from the bundle and from a server, and must be the same each time.

#![allow(clippy::unwrap_used)]

mod example;
mod expected;
mod graphql;
mod hostile;
mod lint;
mod seeds;
mod server;
