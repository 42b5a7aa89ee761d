//! The kernel: operators are functions from what they have read to what they want written.
//!
//! ```text
//!  clusters ──watch──▶ cache ──view──▶ operator ──plan──▶ arbiter ──write──▶ clusters
//!                        │     (reads are tracked)           │
//!                        └──────────── journal ◀─────────────┘
//! ```
//!
//! An [`operator::Operator`] decides; everything else is the kernel's. What a unit read is what wakes it again, so nobody
//! declares a watch. The kernel never lets an operator touch a cluster, a clock or a file: those are the shell's.

pub mod applier;
pub mod arbiter;
pub mod cache;
pub mod config;
pub mod core;
pub mod decision;
pub mod diff;
pub mod explain;
mod fit;
pub mod gate;
pub mod host;
pub mod journal;
pub mod limits;
pub mod listener;
pub mod metrics;
pub mod moment;
pub mod object;
pub mod operator;
pub mod place;
pub mod plan;
pub mod redact;
pub mod replay;
pub mod resource;
pub mod scene;
pub mod scheduler;
pub mod state;
pub mod view;
pub mod wake;
pub mod watch;
