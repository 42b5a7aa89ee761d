//! `switchboard gitops restore`: the rows of a backup in place of those there are.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use switchboard_service::backup;
use switchboard_service::fleet::Engine;

use super::database::Database;
use crate::failure::Failure;
use crate::reach::Reach;

/// Puts the rows of a backup in place of those there are. Stop backends and agents first.
#[derive(Args)]
pub struct Restore {
    /// The backup
    file: PathBuf,

    #[command(flatten)]
    database: Database,

    /// The cluster of the Argo CD instances, where is looked what has moved since [default: as kubectl does]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// The context in it
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// A backup cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("could not open `{}`", path.display())]
struct Unopened {
    path: PathBuf,
    #[source]
    source: std::io::Error,
}

impl Restore {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let file = File::open(&self.file).map_err(|source| Unopened { path: self.file.clone(), source })?;
        let reach = Reach { kubeconfig: self.kubeconfig, context: self.context };
        let engine = Engine::new(reach.client().await?);
        let (ledger, _) = self.database.open(false).await?;
        // Into a new database as well.
        ledger.migrate().await?;
        let (rows, adopted) = backup::restore(&ledger, &engine, &mut BufReader::new(file)).await?;
        ledger.close().await;
        let told = json!({ "rows": rows, "instances": adopted.instances, "moved": adopted.applications });
        writeln!(std::io::stdout().lock(), "{told}")?;
        Ok(ExitCode::SUCCESS)
    }
}
