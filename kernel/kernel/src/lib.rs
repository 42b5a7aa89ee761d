//! Kernel of Switchboard. An operator is a function from what it has read to what it wants written.
//!
//! ```text
//!  clusters ──watch──▶ cache ──view──▶ operator ──plan──▶ arbiter ──write──▶ clusters
//!                        │     (reads are tracked)           │
//!                        └──────────── journal ◀─────────────┘
//! ```
//!
//! An [`operator::Operator`] decides; the kernel does everything else. A unit is triggered by changes to what it has
//! read, so operators declare no watches. An operator has no access to clusters, clocks or files.

pub mod applier;
pub mod arbiter;
pub mod cache;
pub mod config;
pub mod core;
pub mod decision;
pub mod diff;
pub mod explain;
pub mod fake_view;
pub mod family;
pub mod host;
pub mod journal;
pub mod limits;
pub mod listener;
pub mod metrics;
pub mod object;
pub mod operator;
pub mod plan;
pub mod prelude;
pub mod rate_limiter;
pub mod redact;
pub mod replay;
pub mod resource;
pub mod row;
pub mod row_cache;
pub mod scheduler;
pub mod state;
pub mod store;
pub mod timestamp;
pub mod topology;
pub mod triggers;
pub mod typed;
mod validation;
pub mod view;
pub mod watch;
