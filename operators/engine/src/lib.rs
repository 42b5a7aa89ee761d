//! The embedded GitOps engine: Argo CD's `Application` and `AppProject`, served by an operator of the kernel.
//!
//! ```text
//!  Application ─▶ permitted? ─▶ source (git: YAML, chart) ─▶ target ─▶ compare ─▶ status ─▶ automated sync?
//!                    │                                                   ▲                        │
//!                AppProject                                       live objects ◀── sync ◀── operation
//! ```
//!
//! It is for trying and for testing, on machines without Argo CD: what it writes is what Argo CD writes, for plain YAML and for
//! charts from git. docs/GITOPS.md says what it does not do.
//!
//! All modules but `source` decide: they know no clock, no file and no network. [`operator::Engine`] is one operator for each
//! cluster that is deployed to; [`source::Sources`] is what they ask about repositories.

pub mod auto;
pub mod compare;
pub mod crds;
pub mod deletion;
pub mod destination;
mod field;
pub mod glob;
pub mod health;
pub mod kinds;
pub mod manifests;
pub mod operation;
pub mod operator;
pub mod project;
pub mod source;
pub mod status;
pub mod target;
