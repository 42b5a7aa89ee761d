//! Live hosting of programs: examples/beacon on kube-apiserver, and the sample operator of multi-operator-manager. The
//! end state is the same for all ways of hosting.
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
