//! Operators that are programs of their own, in any language, hosted by the kernel.
//!
//! ```text
//! start   <program> input-resources, output-resources ──▶ Declaration
//! change  view ──▶ input folder ──▶ <program> apply-configuration, in a sandbox ──▶ output folder ──▶ plan
//!                  (what changed)    (outside: asked and answered, so that it can be replayed)
//! ```
//!
//! The program is a function from a folder to a folder, and knows nothing of us: the contract is that of
//! multi-operator-manager. It is woken by what it declared, its whole work is one unit, and what it leaves is judged like any
//! plan. Its exit code says little: what its controllers say of themselves counts, and a run that was cut short counts for
//! nothing.
//!
//! [`Guest::learn`] asks a program what it reads and writes; the result is an [`Operator`] for the kernel.
//!
//! It never lets a program near a cluster: the offline command has no network, the live one an identity of its own and a
//! proxy with an allow list.
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
pub use hosted_operator::{HostedOperator, HostingError, ProgramSpec, resolve_program};
pub use live::{WorkloadAccess, WorkloadAccessError};
