//! `switchboard gitops metrics`: what Prometheus reads of the GitOps Service, printed once.

use std::process::ExitCode;

use clap::Args;
use switchboard_service::fleet::Engine;
use switchboard_service::metrics;

use super::database::Database;
use crate::failure::Failure;
use crate::form;
use crate::reach::Reach;

/// Prints what both roles serve at /metrics: counts of deployments, Operations, instances and moves.
#[derive(Args)]
#[command(mut_arg("kubeconfig", |arg| {
    arg.help("The cluster of the Argo CD instances; without it and --context what is counted there is left out")
}))]
pub struct Metrics {
    #[command(flatten)]
    database: Database,

    #[command(flatten)]
    reach: Reach,
}

impl Metrics {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let ledger = self.database.open_there().await?;
        ledger.check_schema().await?;
        let named = self.reach.kubeconfig.is_some() || self.reach.context.is_some();
        let engine = if named { Some(Engine::new(self.reach.client().await?)) } else { None };
        let page = metrics::text(&metrics::count(&ledger, engine.as_ref()).await?);
        form::write(&page)?;
        Ok(ExitCode::SUCCESS)
    }
}
