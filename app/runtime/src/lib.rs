//! Composition root: hosts the operators of a configuration in one process, and checks what they need.
//!
//! ```text
//!  switchboard.yaml ──▶ config_file ─┐
//!  kubeconfigs ──────▶ cluster_access┼─▶ run ─▶ kernel, listener, console
//!  operators, programs, services ────┘    └─▶ reload: changed limits
//!                                       up = embedded cluster + run
//! ```
//!
//! [`families::FAMILIES`] lists the operators of the `switchboard` binary; another binary passes its own list.
//!
//! A binary calls [`run::run`] or [`up::up`]; both return when a signal has stopped the process. The words that users
//! type and the formats of reports are in the binary. This crate parses no arguments and prints messages on stderr only.
//!
//! ```no_run
//! # async fn example() -> Result<(), switchboard_runtime::failure::CommandError> {
//! use switchboard_runtime::families::FAMILIES;
//! use switchboard_runtime::run::{RunOptions, run};
//! use switchboard_runtime::state_dir::StateDir;
//!
//! let file = std::path::Path::new("switchboard.yaml");
//! let state = StateDir::default();
//! run(RunOptions { families: FAMILIES, config: Some(file), adapt: &Ok, state, is_alone: false, dry_run: false }).await
//! # }
//! ```

pub mod cases;
pub mod cluster_access;
pub mod config_file;
pub mod contexts;
pub mod count;
pub mod doctor;
pub mod failure;
pub mod families;
pub mod gitops;
pub mod hosted;
pub mod integrations;
pub mod limits;
pub mod listen_address;
mod local_ca;
mod local_pods;
pub mod log;
pub mod object_apply;
pub mod program_name;
pub mod run;
mod service_account;
pub mod state_dir;
pub mod stderr;
mod storage_location;
pub mod temporary_dir;
pub mod up;
