//! Launcher: this binary, executed again to become a sandbox.
//!
//! ```text
//! outer   enters new namespaces, waits for their user mapping, starts inner, waits for it
//! inner   is process 1 of the sandbox: builds the root, drops all privileges, waits for its input, starts the program,
//!         monitors it
//! ```
//!
//! Only children enter a new process namespace, so there are two processes. If either exits, the kernel kills the whole
//! sandbox.

mod filter;
mod inherited_files;
mod inner;
mod loopback;
mod memory_usage;
mod mounts;
mod outer;
mod root;
mod watcher;

use std::ffi::OsString;

use rustix::io::Errno;

use crate::wire::{self, LauncherMessage};

/// Hidden first argument that turns this binary into a launcher.
pub const LAUNCH_ARGUMENT: &str = "__launch";

/// `PATH` of programs.
pub(crate) const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs the launcher if the arguments request it, and returns its exit code.
///
/// # Assumptions
/// The process has a single thread, so this must be called first.
pub fn launcher_main(arguments: impl IntoIterator<Item = OsString>) -> Option<i32> {
    let mut arguments = arguments.into_iter().skip(1);
    if arguments.next()? != LAUNCH_ARGUMENT {
        return None;
    }
    let stage = arguments.next()?;
    let run = match stage.to_str() {
        Some("outer") => outer::run,
        Some("inner") => inner::run,
        _ => return None,
    };
    Some(match inherited_files::close_inherited().and_then(|()| run()) {
        Ok(code) => code,
        Err(message) => {
            // Without a host, the error cannot be reported.
            let _ = wire::send(std::io::stdin(), &message, &[]);
            1
        }
    })
}

/// Adds the failed step to an error.
fn try_step<T, E: Into<std::io::Error>>(act: &str, result: Result<T, E>) -> Result<T, LauncherMessage> {
    result.map_err(|error| LauncherMessage::Failed { act: act.to_string(), error: error.into().to_string() })
}

/// Like [`try_step`], for steps that fail if the kernel does not support them.
fn require<T>(what: &str, result: Result<T, Errno>) -> Result<T, LauncherMessage> {
    result.map_err(|error| LauncherMessage::Unsupported { what: format!("{what} ({error})") })
}
