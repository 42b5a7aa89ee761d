//! What the workspace's tests and benchmarks share.
//!
//! ```text
//! tests/conformance/<area>/<name>.yaml ──case──▶ run ──▶ target (real | ours)
//!                                                 │
//!                      compare ◀── mask ◀── answers
//! ```
//!
//! A case is a list of requests with the answers the real kube-apiserver gave. Running it against any server and masking
//! what differs from run to run (uids, revisions, times) must give the same answers again.

pub mod case;
pub mod case_file;
pub mod compare;
pub mod defects;
pub mod dump;
pub mod embedded;
pub mod mask;
pub mod process;
pub mod real;
pub mod run;
pub mod runner;
pub mod target;
pub mod tool;

pub mod history;
pub mod random;

/// Error of a benchmark.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
