//! Tests of the operators on the embedded cluster.
#![allow(clippy::unwrap_used)]

#[path = "cluster/conformance.rs"]
mod conformance;
#[path = "cluster/default_limits.rs"]
mod default_limits;
#[path = "cluster/fixture.rs"]
mod fixture;
#[expect(dead_code, reason = "only the probe lets calls fail")]
#[path = "probe/program.rs"]
mod program;
#[path = "cluster/redaction.rs"]
mod redaction;
#[path = "cluster/teardown.rs"]
mod teardown;
