//! GitOps Service: tenants declare deployments, Argo CD instances execute them, and a database connects both.
//!
//! ```text
//!  GitOpsDeployment ─▶ flow ─▶ rows (database) ─▶ flow ─▶ Application, AppProject, Secrets ─▶ Argo CD
//!       .status ◀── report ◀── ApplicationState ◀── pack ◀──── .status ◀───────────────────┘
//!             backend                                      agent
//! ```
//!
//! All functions are pure: they take resources, rows and Argo CD's objects, and return row changes and Kubernetes
//! writes. The crate `switchboard_service` reads and writes them.
//!
//! ```
//! use switchboard_gitops::repository::normalize;
//!
//! assert_eq!(normalize("https://Git.Example/Shop/Web.git"), "https://git.example/Shop/Web");
//! assert_eq!(normalize("git@git.example:Shop/Web.git"), "ssh://git@git.example/Shop/Web");
//! ```
//!
//! This crate never opens a connection, reads a clock or generates an id.

pub mod argo;
pub mod database;
pub mod fleet;
pub mod flow;
pub mod ids;
pub mod kinds;
pub mod kubeconfig;
pub mod repository;
pub mod rows;
pub mod state;

pub use database::SCHEMA;
