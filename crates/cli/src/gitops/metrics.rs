//! `switchboard gitops metrics`: what Prometheus reads of the GitOps Service, printed once.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use switchboard_service::fleet::Engine;
use switchboard_service::metrics;

use super::database::Database;
use crate::failure::Failure;
use crate::reach::Reach;

/// Prints what both roles serve at /metrics: counts of deployments, Operations, instances and moves.
#[derive(Args)]
pub struct Metrics {
    #[command(flatten)]
    database: Database,

    /// The cluster of the Argo CD instances; without it what is counted there is left out
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

impl Metrics {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let (ledger, _) = self.database.open(true).await?;
        ledger.check_schema().await?;
        let engine = match self.kubeconfig {
            Some(file) => {
                let reach = Reach { kubeconfig: Some(file), context: None };
                Some(Engine::new(reach.client().await?))
            }
            None => None,
        };
        let page = metrics::text(&metrics::count(&ledger, engine.as_ref()).await?);
        std::io::stdout().lock().write_all(page.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
