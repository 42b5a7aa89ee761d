//! The GitOps Service: two roles, each a few operators of the kernel, connected by the database and Operation
//! resources.
//!
//! ```text
//!  tenants' cluster                                                        engine cluster
//!  GitOpsDeployment, SyncRun, … ─▶ backend ─▶ rows ─▶ agent ─▶ Application, AppProject, Secrets
//!        .status ◀──────────────── (units)  ◀─ rows ◀ (units) ◀──── .status        │
//!                                     └─ Operation, if events are lost ─▶          ▼  Argo CD
//! ```
//!
//! `switchboard-gitops` makes all decisions; this crate does the I/O. A unit reads objects from the kernel's view and
//! its rows in one view of the database, obtains a decision about both, commits, and returns the writes to the kernel.
//! Between two runs of a unit only caches and the answers of clusters and git servers are kept, and these are requested
//! again when they are lost.
//!
//! The crate never decides on the content of a row or an object, and never waits for a cluster or a git server while a
//! unit runs.

pub mod agent;
pub mod backend;
pub mod backup;
pub mod config;
pub mod error;
pub mod external_checks;
pub mod family;
pub mod fleet;
pub mod ids;
pub mod instance;
pub mod limits;
pub mod metrics;
pub mod network;
pub mod notify;
mod open_operations;
mod project;
pub mod request;
pub mod resources;
pub mod rows;
pub mod settings;
pub mod setup;
pub mod store;
pub mod writes;

pub use agent::Agent;
pub use backend::Backend;
pub use error::ServiceError;
pub use store::Store;
