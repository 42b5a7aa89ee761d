//! The GitOps Service at work: two roles, each a few operators of the kernel, joined by the database and Operation resources.
//!
//! ```text
//!  tenants' cluster                                                        engine cluster
//!  GitOpsDeployment, SyncRun, … ─▶ backend ─▶ rows ─▶ agent ─▶ Application, AppProject, Secrets
//!        .status ◀──────────────── (units)  ◀─ rows ◀ (units) ◀──── .status        │
//!                                     └─ Operation, where nobody hears ─▶          ▼  Argo CD
//! ```
//!
//! What is decided is decided in `switchboard-gitops`. Here it is read, asked, committed and written: a unit of an operator
//! reads objects from the kernel's view, its rows in one view of the database, has both decided on, commits, and gives the
//! kernel what is to be written. Nothing is remembered between two runs of a unit but answers from clusters and git servers,
//! and those are asked for again when they are lost.
//!
//! It will never decide what a row or an object should say, and never wait for a cluster or a git server while a unit runs.

pub mod agent;
pub mod asked;
pub mod backend;
pub mod backup;
pub mod desk;
pub mod doorbell;
pub mod error;
pub mod fleet;
pub mod ids;
pub mod instance;
pub mod limits;
pub mod metrics;
pub mod network;
mod open;
mod project;
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
