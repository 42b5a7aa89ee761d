//! `switchboard gitops backup`: every row of the database in a file.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
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

impl Backup {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let is_stdout = self.file.as_os_str() == "-";
        if !is_stdout && !self.force && self.file.symlink_metadata().is_ok() {
            return Err(Taken { path: self.file }.into());
        }
        let (ledger, _) = self.database.open(true).await?;
        ledger.check_schema().await?;
        let rows = if is_stdout {
            backup::backup(&ledger, &mut std::io::stdout().lock()).await?
        } else {
            // Whole or not at all; and for its owner alone: credentials may be in it.
            let part = self.file.with_extension("part");
            let unwritten = |source| Unwritten { path: self.file.clone(), source };
            let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part);
            let mut file = BufWriter::new(file.map_err(unwritten)?);
            let rows = backup::backup(&ledger, &mut file).await?;
            file.flush().and_then(|()| file.get_ref().sync_all()).map_err(unwritten)?;
            if let Err(source) = std::fs::rename(&part, &self.file) {
                // What cannot take its place is of no use; that it stays is not what went wrong.
                let _ = std::fs::remove_file(&part);
                return Err(unwritten(source).into());
            }
            rows
        };
        ledger.close().await;
        say(format_args!("{rows} rows; credentials are in it as they are stored: keep the key file elsewhere"));
        Ok(ExitCode::SUCCESS)
    }
}
