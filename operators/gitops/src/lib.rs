//! The GitOps Service: tenants declare deployments, Argo CD instances execute them, and a database connects both.
//!
//! ```text
//!  tenants' cluster                                                        engine cluster
//!  GitOpsDeployment, SyncRun, … ─▶ backend ─▶ rows ─▶ agent ─▶ Application, AppProject, Secrets
//!        .status ◀──────────────── (units)  ◀─ rows ◀ (units) ◀──── .status        │
//!                                     └─ Operation, if events are lost ─▶          ▼  Argo CD
//! ```
//!
//! A module per noun: [`deployment`], [`environment`], [`credential`], [`sync_run`], [`operation`], [`tenant`],
//! [`placement`], [`moves`] and [`instance`]. The module itself decides: it takes resources, rows and Argo CD's objects,
//! and returns row changes and Kubernetes writes. Its folder has the resource (`kind`), the operator of the kernel
//! (`operator`), and the objects of Argo CD.
//!
//! Two roles, [`backend`] and [`agent`], are several operators each. A unit reads objects from the kernel's view and its
//! rows in one view of the database, obtains a decision about both, commits, and returns the writes to the kernel.
//! Between two runs of a unit only caches and the answers of clusters and git servers are kept, and these are requested
//! again when they are lost.
//!
//! ```
//! use switchboard_gitops::repository::normalize;
//!
//! assert_eq!(normalize("https://Git.Example/Shop/Web.git"), "https://git.example/Shop/Web");
//! assert_eq!(normalize("git@git.example:Shop/Web.git"), "ssh://git@git.example/Shop/Web");
//! ```
//!
//! Decisions never open a connection, read a clock or generate an id. A unit never waits for a cluster or a git server.

pub mod agent;
pub mod argocd;
pub mod backend;
pub mod backup;
pub mod config;
pub mod credential;
pub mod database;
pub mod deployment;
pub mod environment;
pub mod error;
pub mod external_checks;
pub mod family;
pub mod flow;
pub mod ids;
pub mod instance;
pub mod kinds;
pub mod limits;
pub mod metrics;
pub mod moves;
pub mod network;
pub mod operation;
pub mod placement;
pub mod random_id;
pub mod recheck;
pub mod related_rows;
pub mod repository;
pub mod request;
pub mod resources;
pub mod rest;
pub mod rows;
pub mod settings;
pub mod setup;
pub mod state;
pub mod store;
pub mod sync_run;
pub mod tenant;
pub mod writes;

pub use agent::Agent;
pub use backend::Backend;
pub use database::SCHEMA;
pub use error::ServiceError;
pub use store::Store;
