//! Durability: a log that is flushed before a write is answered, and snapshots after which a new log begins.
//!
//! ```text
//! data directory
//!   lock                     held while a process has the store open
//!   snapshot-<revision>      objects and recent changes up to that revision
//!   log-<revision>           the changes after that revision, one frame per flush
//! ```
//!
//! - [`frame`] is the file format, [`replay`] reads it, [`recover`] opens a directory, [`commit`] is the writer thread,
//!   [`snapshot`] writes snapshots.

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

/// Error of opening a data directory.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file system operation failed.
    #[error("could not {operation} {}", path.display())]
    Io {
        /// Operation.
        operation: &'static str,
        /// Path.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// Another process has the store open.
    #[error("the data directory is in use: another process holds {}", path.display())]
    Locked {
        /// Lock file.
        path: PathBuf,
    },
    /// A file is damaged.
    #[error("{} is damaged at byte {offset}: {what}", path.display())]
    Damaged {
        /// File.
        path: PathBuf,
        /// Offset of the first damaged frame.
        offset: u64,
        /// Description of the damage.
        what: String,
    },
    /// A required file is missing.
    #[error("{} is missing", path.display())]
    Missing {
        /// File.
        path: PathBuf,
    },
    /// A newer version of this crate wrote the file.
    #[error("{} has format version {found}, but this version reads at most {FORMAT_VERSION}", path.display())]
    Newer {
        /// File.
        path: PathBuf,
        /// Format version of the file.
        found: u32,
    },
}

/// Reads arbitrary bytes as store files, for the fuzzer. It must neither panic nor use more memory than a frame's
/// bound.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    replay::fuzz(bytes);
}

fn failed<'a>(operation: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> OpenError + 'a {
    move |source| OpenError::Io { operation, path: path.to_owned(), source }
}

/// Makes created and renamed files in a directory durable.
fn sync_directory(dir: &Path) -> io::Result<()> {
    std::fs::File::open(dir)?.sync_all()
}

fn log_path(dir: &Path, revision: u64) -> PathBuf {
    dir.join(format!("log-{revision:020}"))
}

fn snapshot_path(dir: &Path, revision: u64) -> PathBuf {
    dir.join(format!("snapshot-{revision:020}"))
}
