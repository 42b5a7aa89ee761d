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

    #[command(flatten)]
    database: Database,
}

impl Backup {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let (ledger, _) = self.database.open(true).await?;
        ledger.check_schema().await?;
        let rows = if self.file.as_os_str() == "-" {
            backup::backup(&ledger, &mut std::io::stdout().lock()).await?
        } else {
            // Whole or not at all; and for its owner alone: credentials may be in it.
            let part = self.file.with_extension("part");
            let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
            let mut file = BufWriter::new(file);
            let rows = backup::backup(&ledger, &mut file).await?;
            file.flush()?;
            file.get_ref().sync_all()?;
            std::fs::rename(&part, &self.file)?;
            rows
        };
        ledger.close().await;
        say(format_args!("{rows} rows; credentials are in it as they are stored: keep the key file elsewhere"));
        Ok(ExitCode::SUCCESS)
    }
}
