//! The folder of a run without a sandbox, and what is done about those that were left behind.
//!
//! A run holds a lock on its folder, which the system lets go with the process, however that ends: a folder without one is
//! nobody's any more. Process numbers would not do, since they come again, in containers with every start.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// How the folders of runs begin.
const RUN_PREFIX: &str = "run-";
/// In it: which process group works there.
const GROUP_FILE: &str = "group";
/// How often a folder is removed that does not stay empty.
const REMOVALS: usize = 50;
/// And how long after the time before.
const BETWEEN_REMOVALS: Duration = Duration::from_millis(10);

/// A folder on the disk that is a run's own; removed when dropped.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _held: File,
}

impl RunFolder {
    /// A new one, with folders for output and temporary files.
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
                // Somebody who clears up was here in between.
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

    /// Writes down who works there, for whoever finds it when this process is gone.
    pub(crate) fn record_group(&self, group: Pid) -> io::Result<()> {
        let Some(began) = start_ticks(group) else { return Ok(()) };
        std::fs::write(self.path.join(GROUP_FILE), format!("{} {began}", group.as_raw_nonzero()))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // What cannot be removed stays until the next start, which clears up.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Ends and removes what runs of processes that are gone left in a folder. What cannot be removed is in nobody's way.
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

/// Removes a folder from under processes that are being killed: until they are dead they may still put something there.
pub(crate) fn remove(folder: &Path) {
    for _ in 0..REMOVALS {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => std::thread::sleep(BETWEEN_REMOVALS),
            _ => return,
        }
    }
}

/// The group that was at work in a folder, if it still is. A number alone could be somebody else's by now.
fn running_group(path: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(path.join(GROUP_FILE)).ok()?;
    let (number, then) = text.split_once(' ')?;
    let group = Pid::from_raw(number.parse().ok()?)?;
    (start_ticks(group)? == then.parse::<u64>().ok()?).then_some(group)
}

/// When a process began, in ticks since the machine did.
fn start_ticks(process: Pid) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // Behind the name, which may hold anything; the beginning is the 22nd field, and the third is the first behind it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}
