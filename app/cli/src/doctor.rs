//! `switchboard doctor`: checks everything `run` needs and prints hints for what is missing.

use std::path::PathBuf;

use clap::Args;
use switchboard_runtime::doctor;

use crate::cluster_args::ClusterArgs;
use crate::failure::CommandError;
use crate::output_format::{OutputFormat, print};
use crate::own_operators::families;
use crate::state_args::StateArgs;

/// Check configuration, clusters, permissions, database and machine
#[derive(Args)]
pub struct Doctor {
    /// Configuration file
    #[arg(long, value_name = "FILE", default_value = "switchboard.yaml")]
    config: PathBuf,
    /// Database of the GitOps Service: postgres://USER:PASSWORD@HOST/NAME, or sqlite:FILE
    #[arg(long, value_name = "URL", env = "SWITCHBOARD_GITOPS_DATABASE", hide_env_values = true)]
    database: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    cluster_args: ClusterArgs,
    #[command(flatten)]
    state: StateArgs,
}

impl Doctor {
    /// Prints the results. Returns whether there is no error.
    pub async fn run(self) -> Result<bool, CommandError> {
        let (database, access) = (self.database.as_deref(), self.cluster_args.access());
        let report = doctor::check(families(), &self.config, database, &access, &self.state.dir()).await;
        print(&report, self.output)?;
        Ok(report.passed())
    }
}
