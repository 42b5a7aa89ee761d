//! Opening a data directory: lock, newest snapshot, the logs after it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::commit::Committer;
use super::frame::FrameError;
use super::log::{Log, Medium};
use super::replay::{self, Broken, LogEnd, Wrong};
use super::{OpenError, failed, log_path, snapshot, snapshot_path};
use crate::store::state::State;
use crate::store::{Bounds, Shared};

/// What the lock file says once the store has its first log.
const BEGUN: &[u8] = b"a store begins with its first log\n";

/// A file of the store by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    Snapshot(u64),
    Log(u64),
    Unfinished,
}

/// The store's files in `dir`, in order; others are none of its business.
pub(super) fn names(dir: &Path) -> io::Result<Vec<(PathBuf, Name)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some((kind, rest)) = name.split_once('-') else { continue };
        let revision = rest.parse::<u64>();
        let name = match (kind, revision) {
            ("snapshot", Ok(revision)) => Name::Snapshot(revision),
            ("log", Ok(revision)) => Name::Log(revision),
            ("snapshot" | "log", Err(_)) if rest.ends_with(".tmp") => Name::Unfinished,
            _ => continue,
        };
        found.push((entry.path(), name));
    }
    found.sort_by_key(|(_, name)| *name);
    Ok(found)
}

/// Opens or creates the store in `dir`.
pub(in crate::store) fn open(dir: &Path, bounds: Bounds) -> Result<(Arc<Shared>, Committer), OpenError> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed("create", dir))?;
    let (lock, begun) = lock(dir)?;
    let mut found = names(dir).map_err(failed("read", dir))?;
    for (path, _) in found.extract_if(.., |(_, name)| *name == Name::Unfinished) {
        std::fs::remove_file(&path).map_err(failed("remove", &path))?;
    }
    let newest =
        found.iter().filter_map(|(_, name)| if let Name::Snapshot(at) = name { Some(*at) } else { None }).max();
    let mut state = match newest {
        Some(revision) => read_snapshot(&snapshot_path(dir, revision), revision, &bounds)?,
        None => State::new(),
    };
    let log = read_logs(dir, &found, begun, &mut state, &bounds)?;
    if !begun {
        mark(&lock).map_err(failed("write the lock of", dir))?;
    }
    if let Some(revision) = newest {
        snapshot::remove_replaced(dir, revision);
    }
    let shared = Arc::new(Shared::new(state, bounds, true));
    let committer = Committer::start(shared.clone(), dir.to_owned(), log, Some(lock))
        .map_err(failed("start the writer of", dir))?;
    Ok((shared, committer))
}

/// The lock, and whether the store it guards was begun: from then on a missing log is a loss and no beginning.
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

/// Notes in the lock file that there is a log now.
fn mark(mut lock: &File) -> io::Result<()> {
    lock.write_all(BEGUN)?;
    lock.sync_all()
}

fn read_snapshot(path: &Path, revision: u64, bounds: &Bounds) -> Result<State, OpenError> {
    let file = File::open(path).map_err(failed("open", path))?;
    let state = replay::snapshot(&mut BufReader::new(file), bounds).map_err(|broken| refused(path, broken))?;
    if state.revision != revision {
        let what = format!("it holds revision {}, not the one of its name", state.revision);
        return Err(OpenError::Damaged { path: path.to_owned(), offset: 0, what });
    }
    Ok(state)
}

/// Applies the logs from the snapshot on and opens the newest for writing.
fn read_logs(
    dir: &Path,
    found: &[(PathBuf, Name)],
    begun: bool,
    state: &mut State,
    bounds: &Bounds,
) -> Result<Log, OpenError> {
    let start = state.revision;
    let logs: Vec<_> = found
        .iter()
        .filter(|(_, name)| matches!(name, Name::Log(after) if *after >= start))
        .map(|(path, _)| path)
        .collect();
    let Some((newest, older)) = logs.split_last() else {
        // A snapshot gets its name after the log that follows it.
        if begun || !found.is_empty() {
            return Err(OpenError::Missing { path: log_path(dir, start) });
        }
        return Log::create(dir, start).map_err(failed("create a log in", dir));
    };
    for path in older {
        read_log(path, false, state, bounds)?;
    }
    let end = read_log(newest, true, state, bounds)?;
    let mut file = OpenOptions::new().append(true).open(newest).map_err(failed("open", newest))?;
    if end.torn > 0 {
        tracing::warn!(path = %newest.display(), bytes = end.torn, "cut a write that was never acknowledged off the log");
        file.cut(end.good).map_err(failed("cut", newest))?;
    }
    Ok(Log::new(newest.to_path_buf(), Box::new(file), end.header, end.good))
}

fn read_log(path: &Path, newest: bool, state: &mut State, bounds: &Bounds) -> Result<LogEnd, OpenError> {
    let file = File::open(path).map_err(failed("open", path))?;
    replay::log(&mut BufReader::new(file), newest, state, bounds).map_err(|broken| refused(path, broken))
}

fn refused(path: &Path, broken: Broken) -> OpenError {
    let path = path.to_owned();
    match broken.what {
        Wrong::Frame(FrameError::Newer(found)) => OpenError::Newer { path, found },
        Wrong::Frame(FrameError::Io(source)) => OpenError::Io { act: "read", path, source },
        what => OpenError::Damaged { path, offset: broken.offset, what: what.to_string() },
    }
}
