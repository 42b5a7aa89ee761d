//! Recovery of a data directory: lock, newest snapshot, and the logs after it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::commit::Committer;
use super::frame::FrameError;
use super::log::{LogMedium, WriteAheadLog};
use super::replay::{self, LogEnd, ReplayError, ReplayErrorKind};
use super::{OpenError, failed, log_path, snapshot, snapshot_path};
use crate::store::state::StoreState;
use crate::store::{SharedStore, StoreLimits};

/// Content of the lock file once the store has its first log.
const LOCK_FILE_TEXT: &[u8] = b"a store begins with its first log\n";

/// File of the store, parsed from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StoreFile {
    Snapshot(u64),
    Log(u64),
    Unfinished,
}

/// Returns the store's files in `dir`, in order; other files are ignored.
pub(super) fn names(dir: &Path) -> io::Result<Vec<(PathBuf, StoreFile)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some((kind, rest)) = name.split_once('-') else { continue };
        let revision = rest.parse::<u64>();
        let name = match (kind, revision) {
            ("snapshot", Ok(revision)) => StoreFile::Snapshot(revision),
            ("log", Ok(revision)) => StoreFile::Log(revision),
            ("snapshot" | "log", Err(_)) if rest.ends_with(".tmp") => StoreFile::Unfinished,
            _ => continue,
        };
        found.push((entry.path(), name));
    }
    found.sort_by_key(|(_, name)| *name);
    Ok(found)
}

/// Opens or creates the store in `dir`.
pub(in crate::store) fn open(dir: &Path, bounds: StoreLimits) -> Result<(Arc<SharedStore>, Committer), OpenError> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed("create", dir))?;
    let (lock, begun) = lock(dir)?;
    let mut found = names(dir).map_err(failed("read", dir))?;
    for (path, _) in found.extract_if(.., |(_, name)| *name == StoreFile::Unfinished) {
        std::fs::remove_file(&path).map_err(failed("remove", &path))?;
    }
    let newest =
        found.iter().filter_map(|(_, name)| if let StoreFile::Snapshot(at) = name { Some(*at) } else { None }).max();
    let mut state = match newest {
        Some(revision) => read_snapshot(&snapshot_path(dir, revision), revision, &bounds)?,
        None => StoreState::new(),
    };
    let log = read_logs(dir, &found, begun, &mut state, &bounds)?;
    if !begun {
        mark_begun(&lock).map_err(failed("write the lock file in", dir))?;
    }
    if let Some(revision) = newest {
        snapshot::remove_replaced(dir, revision);
    }
    let shared = Arc::new(SharedStore::new(state, bounds, true));
    let committer = Committer::start(shared.clone(), dir.to_owned(), log, Some(lock))
        .map_err(failed("start the writer thread for", dir))?;
    Ok((shared, committer))
}

/// Takes the lock. Also returns whether the store was begun: from then on a missing log is a loss.
fn lock(dir: &Path) -> Result<(File, bool), OpenError> {
    let path = dir.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = file.map_err(failed("open", &path))?;
    match file.try_lock() {
        Ok(()) => {
            let length = file.metadata().map_err(failed("read", &path))?.len();
            Ok((file, length > 0))
        }
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { path }),
        Err(TryLockError::Error(source)) => Err(failed("lock", &path)(source)),
    }
}

/// Records in the lock file that a log exists.
fn mark_begun(mut lock: &File) -> io::Result<()> {
    lock.write_all(LOCK_FILE_TEXT)?;
    lock.sync_all()
}

fn read_snapshot(path: &Path, revision: u64, bounds: &StoreLimits) -> Result<StoreState, OpenError> {
    let file = File::open(path).map_err(failed("open", path))?;
    let state = replay::snapshot(&mut BufReader::new(file), bounds).map_err(|broken| open_error(path, broken))?;
    if state.revision != revision {
        let what = format!("revision {} does not match the file name", state.revision);
        return Err(OpenError::Damaged { path: path.to_owned(), offset: 0, what });
    }
    Ok(state)
}

/// Applies the logs after the snapshot and opens the newest for writing.
fn read_logs(
    dir: &Path,
    found: &[(PathBuf, StoreFile)],
    begun: bool,
    state: &mut StoreState,
    bounds: &StoreLimits,
) -> Result<WriteAheadLog, OpenError> {
    let start = state.revision;
    let logs: Vec<_> = found
        .iter()
        .filter(|(_, name)| matches!(name, StoreFile::Log(after) if *after >= start))
        .map(|(path, _)| path)
        .collect();
    let Some((newest, older)) = logs.split_last() else {
        // A snapshot gets its name after the log that follows it.
        if begun || !found.is_empty() {
            return Err(OpenError::Missing { path: log_path(dir, start) });
        }
        return WriteAheadLog::create(dir, start).map_err(failed("create a log in", dir));
    };
    for path in older {
        read_log(path, false, state, bounds)?;
    }
    let end = read_log(newest, true, state, bounds)?;
    let mut file = OpenOptions::new().append(true).open(newest).map_err(failed("open", newest))?;
    if end.torn_bytes > 0 {
        tracing::warn!(path = %newest.display(), bytes = end.torn_bytes, "removed an unacknowledged write from the end of the log");
        file.cut(end.acknowledged_bytes).map_err(failed("cut", newest))?;
    }
    Ok(WriteAheadLog::new(newest.to_path_buf(), Box::new(file), end.header, end.acknowledged_bytes))
}

fn read_log(path: &Path, newest: bool, state: &mut StoreState, bounds: &StoreLimits) -> Result<LogEnd, OpenError> {
    let file = File::open(path).map_err(failed("open", path))?;
    replay::log(&mut BufReader::new(file), newest, state, bounds).map_err(|broken| open_error(path, broken))
}

fn open_error(path: &Path, broken: ReplayError) -> OpenError {
    let path = path.to_owned();
    match broken.what {
        ReplayErrorKind::Frame(FrameError::Newer(found)) => OpenError::Newer { path, found },
        ReplayErrorKind::Frame(FrameError::Io(source)) => OpenError::Io { operation: "read", path, source },
        what => OpenError::Damaged { path, offset: broken.offset, what: what.to_string() },
    }
}
