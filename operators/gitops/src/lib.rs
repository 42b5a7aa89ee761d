//! The GitOps Service: tenants say what they want deployed, Argo CD instances deploy it, a database stands between.
//!
//! ```text
//!  GitOpsDeployment ─▶ flow ─▶ rows (ledger) ─▶ flow ─▶ Application, AppProject, Secrets ─▶ Argo CD
//!       .status ◀──── tell ◀── ApplicationState ◀── pack ◀──── .status ◀───────────────────┘
//!             backend                                      agent
//! ```
//!
//! Everything here is a function of its arguments: resources, rows and Argo CD's objects in; changes of rows and writes to
//! Kubernetes out. Who reads and writes them is somebody else.
//!
//! ```
//! use switchboard_gitops::repository::normalise;
//!
//! assert_eq!(normalise("https://Git.Example/Shop/Web.git"), "https://git.example/Shop/Web");
//! assert_eq!(normalise("git@git.example:Shop/Web.git"), "ssh://git@git.example/Shop/Web");
//! ```
//!
//! It will never open a connection, read a clock or make an id.

pub mod argo;
pub mod fleet;
pub mod flow;
pub mod kinds;
pub mod kubeconfig;
pub mod repository;
