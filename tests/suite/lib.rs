//! Shared library of the workspace's tests and benchmarks.
//!
//! ```text
//! tests/conformance/<area>/<name>.yaml ──case──▶ run ──▶ target (real | embedded)
//!                                                 │
//!                      compare ◀── mask ◀── answers
//! ```
//!
//! A case is a list of requests with the answers of kube-apiserver. Every server must give the same answers, after
//! values that differ between runs (uids, revisions, times) are masked.

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
pub mod shared_data;
pub mod target;
pub mod tool;

pub mod history;
pub mod random;

/// Error of a benchmark.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
