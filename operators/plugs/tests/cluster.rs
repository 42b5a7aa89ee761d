//! Tests of the operators on the embedded cluster.
#![allow(clippy::unwrap_used)]

#[path = "cluster/conformance.rs"]
mod conformance;
#[path = "cluster/fixture.rs"]
mod fixture;
#[path = "cluster/redaction.rs"]
mod redaction;
#[path = "cluster/teardown.rs"]
mod teardown;
