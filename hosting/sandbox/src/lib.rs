//! Sandbox for untrusted programs.
//!
//! ```text
//!  host ──spec──▶ outer ──unshare──▶ inner (PID 1) ──confined──▶ program
//!   ▲  ▲           own user, mount, network, process namespaces     │
//!   │  └── output folder, exit, usage ◀── inner monitors time and memory
//!   └───── egress: a listener in the sandbox, served by the host with an allow list
//! ```
//!
//! The binary executes itself again as a launcher. The launcher has a single thread and can therefore enter new
//! namespaces. It builds a root with the system's libraries, the program and its input, all read-only, and a small file
//! system in memory for output and temporary files. Then it drops all privileges and starts the program. All
//! descendants of the program are killed with it.
//!
//! A [`SandboxJob`] describes the program and its [`SandboxLimits`], and [`Sandbox::run`] returns the outcome. A binary
//! that runs jobs must pass its arguments to [`launcher_main`] first:
//!
//! ```no_run
//! use std::time::Duration;
//! use switchboard_sandbox::{STDOUT_BYTES, Sandbox, SandboxJob, SandboxLimits};
//!
//! if let Some(code) = switchboard_sandbox::launcher_main(std::env::args_os()) {
//!     std::process::exit(code);
//! }
//! let sandbox = Sandbox::new("work".as_ref())?;
//! let limits = SandboxLimits {
//!     wall: Duration::from_secs(10),
//!     memory_bytes: 64 << 20,
//!     disk_bytes: 1 << 20,
//!     processes: 16,
//!     stdout_bytes: STDOUT_BYTES,
//! };
//! let outcome = sandbox.run(&SandboxJob::new("/usr/bin/true", limits))?;
//! assert!(outcome.end.is_success());
//! # Ok::<(), switchboard_sandbox::SandboxError>(())
//! ```
//!
//! No program runs unconfined unless [`SandboxJob::unconfined`] is set.

mod direct;
pub mod egress;
mod job;
mod launcher;
mod run;
mod stream;
mod wire;

pub use direct::RunFolder;
pub use job::{
    INPUT, JobOutcome, KUBECONFIG, OUTPUT, OutputError, OutputFolder, PROXY, ProgramEnd, RunUsage, SCRATCH,
    STDOUT_BYTES, SandboxJob, SandboxLimits,
};
pub use launcher::{LAUNCH_ARGUMENT, launcher_main};
pub use run::{PreparedSandbox, Sandbox, SandboxError};
