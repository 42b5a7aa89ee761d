//! Operators that are programs, hosted live: examples/beacon against the real kube-apiserver, and the sample operator that the
//! contract came with. What they reach is the same however they are hosted.
#![allow(clippy::unwrap_used)]

#[path = "hosting/beacon.rs"]
mod beacon;
#[path = "hosting/cluster.rs"]
mod cluster;
#[path = "hosting/host_process.rs"]
mod host_process;
#[path = "hosting/live.rs"]
mod live;
#[path = "hosting/pruning.rs"]
mod pruning;
#[path = "hosting/sample.rs"]
mod sample;
#[path = "hosting/topologies.rs"]
mod topologies;
