//! Flags of the commands for administrators of the service: the database, and the cluster of the Argo CD instances.

use clap::Args;
use switchboard_runtime::state_dir::StateDir;
use switchboard_sql::Ledger;

use super::existing_database::ExistingDatabaseArgs;
use crate::cluster_args::ClusterArgs;
use crate::failure::CommandError;
use crate::output_format::OutputFormat;

/// Database, cluster and output format of an administrative command.
#[derive(Args)]
#[command(mut_arg("kubeconfig", |arg| arg.help("Kubeconfig of the cluster with the Argo CD instances [default: as kubectl does]")))]
pub struct AdminArgs {
    #[command(flatten)]
    database: ExistingDatabaseArgs,
    #[command(flatten)]
    cluster_args: ClusterArgs,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: OutputFormat,
}

impl AdminArgs {
    /// Returns the state directory, to complete commands in hints.
    pub fn state(&self) -> StateDir {
        self.database.state()
    }

    /// Opens the database, which must exist.
    pub async fn open_ledger(&self) -> Result<Ledger, CommandError> {
        self.database.open(self.cluster_args.kubeconfig.as_deref()).await
    }

    /// Opens the database; creates a missing file.
    pub async fn open_or_create_ledger(&self) -> Result<Ledger, CommandError> {
        self.database.open_or_create(self.cluster_args.kubeconfig.as_deref()).await
    }

    /// Builds a client for the cluster of the Argo CD instances.
    pub async fn client(&self) -> Result<kube::Client, CommandError> {
        Ok(self.cluster_args.access().or_up_cluster().client().await?)
    }
}
