//! `switchboard gitops metrics`: prints the Prometheus metrics of the GitOps Service once.

use std::process::ExitCode;

use clap::Args;
use switchboard_gitops::instance::fleet::EngineClient;
use switchboard_gitops::metrics;

use super::existing_database::ExistingDatabaseArgs;
use crate::cluster_args::ClusterArgs;
use crate::failure::CommandError;
use crate::output_format;

/// Print the metrics that both roles serve at /metrics
#[derive(Args)]
#[command(mut_arg("kubeconfig", |arg| {
    arg.help("Kubeconfig of the cluster with the Argo CD instances; without it and --context, metrics of that cluster are omitted")
}))]
pub struct MetricsCommand {
    #[command(flatten)]
    pub database: ExistingDatabaseArgs,

    #[command(flatten)]
    cluster_args: ClusterArgs,
}

impl MetricsCommand {
    /// Runs the command.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        let ledger = self.database.open(self.cluster_args.kubeconfig.as_deref()).await?;
        ledger.check_schema().await?;
        let named = self.cluster_args.kubeconfig.is_some() || self.cluster_args.context.is_some();
        let engine = if named { Some(EngineClient::new(self.cluster_args.access().client().await?)) } else { None };
        let page = metrics::text(&metrics::count(&ledger, engine.as_ref()).await?);
        output_format::write(&page)?;
        Ok(ExitCode::SUCCESS)
    }
}
