//! Temporary folder for a kubeconfig, deleted when its server ends.
//!
//! A killed process cannot delete its folder; the next start does. Each folder has a lock file that its process holds
//! and that the system releases with the process: a folder that can be locked is abandoned. Process ids would not work,
//! since containers share folders but not ids.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::state_dir::KERNEL;

const PREFIX: &str = "switchboard-";
const KUBECONFIG: &str = "kubeconfig";
const LOCK: &str = "lock";

/// The folder could not be created.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not create a temporary folder in {}\nhint: set TMPDIR to an existing, writable directory, or pass --kubeconfig FILE",
    within.display()
)]
pub struct TemporaryDirError {
    within: PathBuf,
    source: io::Error,
}

/// Folder that is deleted with the process.
pub struct TemporaryDir {
    folder: TempDir,
    _lock: File,
}

impl TemporaryDir {
    /// Creates a folder in the system's temporary directory, and deletes the folders of killed processes.
    pub fn create() -> Result<Self, TemporaryDirError> {
        Self::create_in(&std::env::temp_dir())
    }

    fn create_in(within: &Path) -> Result<Self, TemporaryDirError> {
        let make = || {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(within)?;
            // The file is locked before it gets its name, so that another process never finds it unlocked.
            let lock = tempfile::NamedTempFile::new_in(folder.path())?;
            lock.as_file().try_lock()?;
            let lock = lock.persist(folder.path().join(LOCK))?;
            Ok(Self { folder, _lock: lock })
        };
        let created = make().map_err(|source| TemporaryDirError { within: within.into(), source })?;
        // A leftover that cannot be deleted must not prevent the start.
        let _ = created.sweep(within);
        Ok(created)
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path for the kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join(KUBECONFIG)
    }

    fn sweep(&self, within: &Path) -> io::Result<()> {
        let owner = self.folder.path().metadata()?.uid();
        for entry in within.read_dir()?.flatten() {
            let name = entry.file_name();
            let ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX));
            // Symbolic links are not followed, and folders of other users are skipped.
            let Ok(facts) = entry.path().symlink_metadata() else { continue };
            if ours && facts.is_dir() && facts.uid() == owner {
                let _ = remove_leftover(&entry.path());
            }
        }
        Ok(())
    }
}

/// Deletes Switchboard's files, and the folder if it is empty then.
fn remove_leftover(folder: &Path) -> io::Result<()> {
    let lock = File::options().write(true).open(folder.join(LOCK))?;
    lock.try_lock()?;
    let absent = |done: io::Result<()>| match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    absent(std::fs::remove_file(folder.join(KUBECONFIG)))?;
    absent(std::fs::remove_dir_all(folder.join(KERNEL)))?;
    std::fs::remove_file(folder.join(LOCK))?;
    std::fs::remove_dir(folder)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn folders(within: &Path) -> usize {
        within.read_dir().unwrap().count()
    }

    #[test]
    fn directory_is_removed_with_its_owner() {
        let within = tempfile::tempdir().unwrap();
        let created = TemporaryDir::create_in(within.path()).unwrap();
        std::fs::write(created.kubeconfig(), "x").unwrap();
        drop(created);
        assert_eq!(folders(within.path()), 0);
    }

    #[test]
    fn only_leftovers_are_removed() {
        let within = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = within.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        let dead = folder("switchboard-dead");
        std::fs::write(dead.join(LOCK), "").unwrap();
        std::fs::write(dead.join(KUBECONFIG), "x").unwrap();
        std::fs::create_dir_all(dead.join(KERNEL).join("journal")).unwrap();
        std::fs::write(dead.join(KERNEL).join("journal/lock"), "").unwrap();
        let foreign = folder("switchboard-data");
        std::fs::write(foreign.join(KUBECONFIG), "x").unwrap();
        let elsewhere = folder("elsewhere");
        std::fs::write(elsewhere.join(LOCK), "").unwrap();
        std::fs::write(elsewhere.join(KUBECONFIG), "x").unwrap();
        std::os::unix::fs::symlink(&elsewhere, within.path().join("switchboard-link")).unwrap();
        let living = TemporaryDir::create_in(within.path()).unwrap();
        std::fs::write(living.kubeconfig(), "x").unwrap();
        assert!(!dead.exists());
        let other = TemporaryDir::create_in(within.path()).unwrap();
        assert!(living.kubeconfig().exists(), "what another process holds stays");
        assert!(foreign.join(KUBECONFIG).exists(), "what has no lock was not made here");
        assert!(elsewhere.join(KUBECONFIG).exists(), "links are not followed");
        drop((living, other));
    }

    #[test]
    fn a_missing_folder_is_named_with_a_hint() {
        let within = tempfile::tempdir().unwrap().path().join("gone");
        let error = TemporaryDir::create_in(&within).err().unwrap();
        assert!(error.to_string().contains(within.to_str().unwrap()), "{error}");
        assert!(error.to_string().contains("hint: set TMPDIR"), "{error}");
    }
}
