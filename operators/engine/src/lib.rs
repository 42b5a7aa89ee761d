//! Embedded GitOps engine: an operator for Argo CD's `Application` and `AppProject`.
//!
//! ```text
//!  Application ─▶ permitted? ─▶ source (git: YAML, chart) ─▶ target ─▶ compare ─▶ status ─▶ automated sync?
//!                    │                                                   ▲                        │
//!                AppProject                                       live objects ◀── sync ◀── operation
//! ```
//!
//! Use it to try and test the GitOps Service on machines without Argo CD. For plain YAML and charts from git it writes
//! what Argo CD writes; docs/reference/embedded-engine.md lists what it does not support.
//!
//! All modules except `source` are decision logic without clock, files or network. Each destination cluster has one
//! [`operator::EngineOperator`]; all of them read repositories through [`source::RepositorySources`].

pub mod auto_sync;
pub mod compare;
pub mod crds;
pub mod deletion;
pub mod destination;
pub mod family;
pub mod glob;
pub mod kinds;
pub mod manifests;
mod object_fields;
pub mod operation;
pub mod operator;
pub mod project;
pub mod source;
pub mod status;
pub mod target;
