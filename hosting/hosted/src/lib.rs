//! Hosting of operators that are separate programs, in any language.
//!
//! ```text
//! start   <program> input-resources, output-resources ──▶ Declaration
//! change  view ──▶ input folder ──▶ <program> apply-configuration, in a sandbox ──▶ output folder ──▶ plan
//!                  (only changes)    (external request, recorded for replay)
//! ```
//!
//! The program is a function from a folder to a folder and does not depend on Switchboard: the contract is that of
//! multi-operator-manager. Declared inputs trigger the program, its whole work is one unit, and its writes are
//! validated like any plan. The exit code matters little: the controller results decide, and an incomplete run has no
//! effect.
//!
//! [`HostedOperator::load`] queries the contract of a program and returns an [`Operator`] for the kernel.
//!
//! A program never gets direct access to a cluster: the offline command has no network, and the live command uses its
//! own service account and a proxy with an allow list.
//!
//! [`Operator`]: switchboard_kernel::operator::Operator

mod contract;
mod declaration;
mod discovery;
mod events;
mod generated;
mod hosted_operator;
mod inputs;
mod known_errors;
mod live;
pub mod native;
mod plan;
mod recorded_contract;
mod run;
mod run_result;

pub use contract::Contract;
pub use discovery::{DiscoveryError, discover};
pub use hosted_operator::{HostedOperator, HostingError, ProgramSpec, default_limits, resolve_program};
pub use live::{WorkloadAccess, WorkloadAccessError};
