//! The launcher: this binary, started again to become a sandbox.
//!
//! ```text
//! outer   enters namespaces of its own, waits until they have users, starts inner, waits for it
//! inner   is process 1 in there: builds the root, gives up every privilege, waits until its input is there, starts the
//!         program, watches it
//! ```
//!
//! Process namespaces take in children alone, so there are two. When either dies, the kernel kills all that is inside.

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

/// The hidden first argument that makes this binary a launcher.
pub const LAUNCH_ARGUMENT: &str = "__launch";

/// Where programs look for programs.
pub(crate) const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Becomes a launcher when the arguments say so, and gives the code to exit with when it is done.
///
/// # Assumptions
/// The process has one thread: to be called first of all.
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
            // Without a host there is nobody to tell.
            let _ = wire::send(std::io::stdin(), &message, &[]);
            1
        }
    })
}

/// What went wrong with which step.
fn try_step<T, E: Into<std::io::Error>>(act: &str, result: Result<T, E>) -> Result<T, LauncherMessage> {
    result.map_err(|error| LauncherMessage::Failed { act: act.to_string(), error: error.into().to_string() })
}

/// As [`tried`], for steps that fail where the kernel was told not to offer them.
fn require<T>(what: &str, result: Result<T, Errno>) -> Result<T, LauncherMessage> {
    result.map_err(|error| LauncherMessage::Unsupported { what: format!("{what} ({error})") })
}
