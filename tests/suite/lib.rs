//! What the workspace's tests and benchmarks share.
