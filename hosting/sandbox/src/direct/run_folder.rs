//! Folders of runs without a sandbox, and cleanup of folders that were left behind.
//!
//! A run holds a lock on its folder, which the system releases when the process exits. A folder without a lock is
//! unused. Process ids are not sufficient, because they are reused, in containers with every start.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// Prefix of run folders.
const RUN_PREFIX: &str = "run-";
/// File with the process group of a run.
const GROUP_FILE: &str = "group";
/// Maximum number of attempts to remove a folder that does not stay empty.
const REMOVALS: usize = 50;
/// Delay between attempts.
const BETWEEN_REMOVALS: Duration = Duration::from_millis(10);

/// Folder of a run on the disk, removed when dropped.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _held: File,
}

impl RunFolder {
    /// Creates a folder with subfolders for output and temporary files.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let mut number = 0;
        loop {
            let path = folder.join(format!("{RUN_PREFIX}{}-{number}", std::process::id()));
            number += 1;
            match std::fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let held = File::open(&path)?;
            match held.try_lock() {
                Ok(()) => {}
                // A concurrent cleanup holds the lock.
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let work = Self { path, _held: held };
            let made = ["output", "tmp"].into_iter().try_for_each(|part| std::fs::create_dir(work.path.join(part)));
            match made {
                Ok(()) => return Ok(work),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Records the process group, for the cleanup after a crash of this process.
    pub(crate) fn record_group(&self, group: Pid) -> io::Result<()> {
        let Some(began) = start_ticks(group) else { return Ok(()) };
        std::fs::write(self.path.join(GROUP_FILE), format!("{} {began}", group.as_raw_nonzero()))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // A folder that cannot be removed is cleaned up by the next start.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Kills and removes the runs that crashed processes left in a folder. Folders that cannot be removed are ignored.
pub(crate) fn clean_up(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if !name.to_string_lossy().starts_with(RUN_PREFIX) || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let Ok(left) = File::open(&path) else { continue };
        if left.try_lock().is_err() {
            continue;
        }
        if let Some(group) = running_group(&path) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        remove(&path);
    }
}

/// Removes a folder while its processes are being killed; they may still create files.
pub(crate) fn remove(folder: &Path) {
    for _ in 0..REMOVALS {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => std::thread::sleep(BETWEEN_REMOVALS),
            _ => return,
        }
    }
}

/// Returns the process group of a folder if it still runs. The id alone may belong to another group.
fn running_group(path: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(path.join(GROUP_FILE)).ok()?;
    let (number, then) = text.split_once(' ')?;
    let group = Pid::from_raw(number.parse().ok()?)?;
    (start_ticks(group)? == then.parse::<u64>().ok()?).then_some(group)
}

/// Returns the start time of a process in ticks since boot.
fn start_ticks(process: Pid) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // After the command name, which may contain any character: the start time is field 22, and the remainder begins
    // with field 3.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}
