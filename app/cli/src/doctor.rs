//! `switchboard doctor`: checks everything `run` needs and prints hints for what is missing.

mod cluster;
mod database;
mod machine;
mod permissions;
mod report;
mod services;

use std::path::PathBuf;

use clap::Args;

use crate::cluster_args::ClusterArgs;
use crate::failure::CommandError;
use crate::kernel::{self, StateDir};
use crate::output_format::{OutputFormat, counted, print};
use database::DatabaseTarget;
use report::{DoctorCheck, DoctorReport};

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
    state: StateDir,
}

impl Doctor {
    /// Prints the results. Returns whether there is no error.
    pub async fn run(self) -> Result<bool, CommandError> {
        let mut report = DoctorReport::default();
        let config = match kernel::read_config(&self.config) {
            Ok(mut config) => {
                self.cluster_args.apply_with_up(&mut config, &self.state);
                let operators = config.operators.values().filter(|one| one.enabled).count();
                let (file, clusters) = (self.config.display(), config.clusters.len());
                let found = format!("{file}: {}, {}", counted(operators, "operator"), counted(clusters, "cluster"));
                report.add(DoctorCheck::ok("configuration", found));
                for warning in config.warnings() {
                    report.add(DoctorCheck::warning(
                        "configuration",
                        warning,
                        "`switchboard init --config -` prints every setting with a comment",
                    ));
                }
                Some(config)
            }
            Err(error) => {
                DoctorCheck::config_errors("configuration", &*error).into_iter().for_each(|check| report.add(check));
                None
            }
        };
        machine::check(&self.state, config.as_ref(), &mut report).await;
        match &self.database {
            Some(url) => database::check(DatabaseTarget::of_url(url), &mut report).await,
            None if config.as_ref().is_none_or(|config| config.gitops.is_none()) => {
                database::not_configured(&mut report)
            }
            None => {}
        }
        if let Some(config) = &config {
            let mut clusters = cluster::check(config, &mut report).await.with_local_up(config, &self.state);
            let dir = self.state.path().ok();
            let beside = services::check(config, &mut clusters, dir.as_deref(), &mut report).await;
            permissions::check(config, &clusters, beside, &mut report).await;
        }
        print(&report, self.output)?;
        Ok(report.passed())
    }
}
