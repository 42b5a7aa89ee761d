//! `switchboard gitops backup`: writes every row of the database to a file.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use switchboard_gitops::backup;
use switchboard_runtime::stderr::print_stderr;

use super::existing_database::ExistingDatabaseArgs;
use crate::failure::CommandError;

/// Back up all rows of the database to a file
#[derive(Args)]
pub struct Backup {
    /// Output file; `-` is stdout
    file: PathBuf,

    /// Replace an existing file
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    pub database: ExistingDatabaseArgs,
}

/// The file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("could not write the backup `{}`", path.display())]
struct BackupWriteError {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

/// The file exists; it may be an older backup.
#[derive(Debug, thiserror::Error)]
#[error("could not write the backup `{}`: file already exists\nhint: choose another name, or replace it with --force", path.display())]
struct BackupExistsError {
    path: PathBuf,
}

/// Temporary file of a backup. It replaces the target when it is complete, and is deleted otherwise.
struct PartialFile {
    path: PathBuf,
}

impl PartialFile {
    /// Creates a file next to another, with a unique name and readable by its owner only: the backup may hold
    /// credentials.
    fn create_beside(file: &Path) -> std::io::Result<(PartialFile, File)> {
        let mut path = file.as_os_str().to_os_string();
        path.push(format!(".{}.part", std::process::id()));
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok((PartialFile { path: path.into() }, created))
    }

    fn rename_to(self, file: &Path) -> std::io::Result<()> {
        std::fs::rename(&self.path, file)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // The file does not exist after a rename. A failed deletion does not matter.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Backup {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        let is_stdout = self.file.as_os_str() == "-";
        if !is_stdout && !self.force && self.file.symlink_metadata().is_ok() {
            return Err(BackupExistsError { path: self.file }.into());
        }
        let ledger = self.database.open(None).await?;
        ledger.check_schema().await?;
        let rows = if is_stdout {
            backup::backup(&ledger, &mut std::io::stdout().lock()).await?
        } else {
            let unwritten = |source| BackupWriteError { path: self.file.clone(), source };
            let (part, file) = PartialFile::create_beside(&self.file).map_err(unwritten)?;
            let mut file = BufWriter::new(file);
            let rows = backup::backup(&ledger, &mut file).await?;
            file.flush().and_then(|()| file.get_ref().sync_all()).map_err(unwritten)?;
            part.rename_to(&self.file).map_err(unwritten)?;
            rows
        };
        ledger.close().await;
        print_stderr(format_args!("{rows} rows; the file holds credentials as stored: keep the key file elsewhere"));
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_partial_file_is_private_and_deleted_unless_finished() {
        let folder = tempfile::tempdir().unwrap();
        let (target, neighbour) = (folder.path().join("rows.backup"), folder.path().join("rows.part"));
        std::fs::write(&neighbour, "another file").unwrap();
        let (part, mut file) = PartialFile::create_beside(&target).unwrap();
        assert_eq!(part.path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        file.write_all(b"half").unwrap();
        assert!(PartialFile::create_beside(&target).is_err(), "it belongs to one process");
        let path = part.path.clone();
        drop(part);
        assert!(!path.exists() && !target.exists(), "an unfinished file is deleted");
        let (part, _) = PartialFile::create_beside(&target).unwrap();
        part.rename_to(&target).unwrap();
        assert!(target.exists() && !path.exists());
        assert_eq!(std::fs::read_to_string(&neighbour).unwrap(), "another file");
    }
}
