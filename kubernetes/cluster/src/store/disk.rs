//! The durable half of the store: a log that is flushed before a write is answered, and snapshots that let the log begin afresh.
//!
//! ```text
//! data directory
//!   lock                     held while a process has the store open
//!   snapshot-<revision>      objects and recent changes up to that revision
//!   log-<revision>           the changes after that revision, one frame per flush
//! ```
//!
//! - [`frame`] is the bytes, [`replay`] reads them back, [`recover`] opens a directory, [`commit`] is the thread that writes,
//!   [`snapshot`] writes the state anew.

mod commit;
mod frame;
mod log;
mod recover;
mod replay;
mod snapshot;
#[cfg(test)]
pub(crate) mod tests;

use std::io;
use std::path::{Path, PathBuf};

pub use frame::FORMAT_VERSION;

pub(super) use commit::Committer;
pub(super) use recover::open;

/// Why a data directory could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file system refused.
    #[error("could not {act} {}", path.display())]
    Io {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// The file system's answer.
        source: io::Error,
    },
    /// Another process has the store open.
    #[error("the data directory is in use: another process holds {}", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// A file is not as it was written.
    #[error("{} is damaged at byte {offset}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the first damaged frame begins.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// A file that must be there is not.
    #[error("{} is missing", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version of this program.
    #[error("{} has format version {found}, this program reads up to {FORMAT_VERSION}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

/// Reads arbitrary bytes as store files, for the fuzzer: must neither panic nor take memory beyond a frame's bound.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    replay::fuzz(bytes);
}

fn failed<'a>(act: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> OpenError + 'a {
    move |source| OpenError::Io { act, path: path.to_owned(), source }
}

/// Makes names given or taken in a directory durable.
fn sync_directory(dir: &Path) -> io::Result<()> {
    std::fs::File::open(dir)?.sync_all()
}

fn log_path(dir: &Path, revision: u64) -> PathBuf {
    dir.join(format!("log-{revision:020}"))
}

fn snapshot_path(dir: &Path, revision: u64) -> PathBuf {
    dir.join(format!("snapshot-{revision:020}"))
}
