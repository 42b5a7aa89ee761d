//! Runs a program that is not trusted.
//!
//! ```text
//!  host ──spec──▶ outer ──unshare──▶ inner (PID 1) ──confined──▶ program
//!   ▲  ▲           own user, mount, network, process namespaces     │
//!   │  └── output folder, exit, cost ◀── inner watches time and memory
//!   └───── egress: a listener inside, answered outside, within an allow list
//! ```
//!
//! The binary starts itself again as a launcher, which has one thread and may therefore change what it is: it enters
//! namespaces of its own, builds a root that holds the system's libraries, the program and its input, all read-only, and
//! a small file system in memory for output and temporary files; drops every privilege, and only then starts the program.
//! Whatever the program starts dies with it.
//!
//! A [`Job`] says what is run within which [`Bounds`]; [`Sandbox::run`] gives what came of it. A binary that runs jobs
//! hands its first arguments to [`launched`] before it does anything else:
//!
//! ```no_run
//! use switchboard_sandbox::{Job, Sandbox};
//!
//! if let Some(code) = switchboard_sandbox::launched(std::env::args_os()) {
//!     std::process::exit(code);
//! }
//! let sandbox = Sandbox::new("work".as_ref())?;
//! let finished = sandbox.run(&Job::new("/usr/bin/true"))?;
//! assert!(finished.end.is_success());
//! # Ok::<(), switchboard_sandbox::SandboxError>(())
//! ```
//!
//! It never runs anything unconfined unless [`Job::unconfined`] says so.

mod direct;
pub mod egress;
mod job;
mod launcher;
mod run;
mod stream;
mod wire;

pub use direct::RunFolder;
pub use job::{
    INPUT, JobOutcome, KUBECONFIG, OUTPUT, OutputError, OutputFolder, PROXY, RunEnd, RunUsage, SCRATCH, SandboxJob,
    SandboxLimits,
};
pub use launcher::{LAUNCH_ARGUMENT, launcher_main};
pub use run::{PreparedSandbox, Sandbox, SandboxError};
