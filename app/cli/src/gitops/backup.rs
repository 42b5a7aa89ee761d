//! `switchboard gitops backup`: every row of the database in a file.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use switchboard_service::backup;

use super::database::Database;
use crate::failure::Failure;
use crate::talk::say;

/// Writes every row of the database into a file, as one state.
#[derive(Args)]
pub struct Backup {
    /// Where to; `-` is standard output
    file: PathBuf,

    /// Replace a file that is there
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    database: Database,
}

/// A file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("could not write the backup `{}`", path.display())]
struct Unwritten {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

/// A file is there that may be an older backup.
#[derive(Debug, thiserror::Error)]
#[error("could not write the backup `{}`: there is such a file\nhint: give another name, or --force to replace it", path.display())]
struct Taken {
    path: PathBuf,
}

/// What is written so far: whole or not at all it takes the place of the backup, and whatever else happens it goes.
struct Part {
    path: PathBuf,
}

impl Part {
    /// A new file beside another, under a name that is nobody's, and for its owner alone: credentials may be in it.
    fn beside(file: &Path) -> std::io::Result<(Part, File)> {
        let mut path = file.as_os_str().to_os_string();
        path.push(format!(".{}.part", std::process::id()));
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok((Part { path: path.into() }, made))
    }

    fn becomes(self, file: &Path) -> std::io::Result<()> {
        std::fs::rename(&self.path, file)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Gone if it has taken its place; that it stays is not what went wrong.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Backup {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let is_stdout = self.file.as_os_str() == "-";
        if !is_stdout && !self.force && self.file.symlink_metadata().is_ok() {
            return Err(Taken { path: self.file }.into());
        }
        let ledger = self.database.open_there().await?;
        ledger.check_schema().await?;
        let rows = if is_stdout {
            backup::backup(&ledger, &mut std::io::stdout().lock()).await?
        } else {
            let unwritten = |source| Unwritten { path: self.file.clone(), source };
            let (part, file) = Part::beside(&self.file).map_err(unwritten)?;
            let mut file = BufWriter::new(file);
            let rows = backup::backup(&ledger, &mut file).await?;
            file.flush().and_then(|()| file.get_ref().sync_all()).map_err(unwritten)?;
            part.becomes(&self.file).map_err(unwritten)?;
            rows
        };
        ledger.close().await;
        say(format_args!("{rows} rows; credentials are in it as they are stored: keep the key file elsewhere"));
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_half_written_is_beside_everybody_elses_files_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (target, neighbour) = (folder.path().join("rows.backup"), folder.path().join("rows.part"));
        std::fs::write(&neighbour, "somebody else's").unwrap();
        let (part, mut file) = Part::beside(&target).unwrap();
        assert_eq!(part.path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        file.write_all(b"half").unwrap();
        assert!(Part::beside(&target).is_err(), "it is nobody else's");
        let path = part.path.clone();
        drop(part);
        assert!(!path.exists() && !target.exists(), "nothing is left of what was not finished");
        let (part, _) = Part::beside(&target).unwrap();
        part.becomes(&target).unwrap();
        assert!(target.exists() && !path.exists());
        assert_eq!(std::fs::read_to_string(&neighbour).unwrap(), "somebody else's");
    }
}
