//! `switchboard doctor`: checks what `run` needs, and says what to fix.

mod cluster;
mod database;
mod hosted;
mod machine;
mod report;
mod rights;

use std::path::PathBuf;

use clap::Args;

use crate::failure::{self, Failure};
use crate::form::{Form, print};
use crate::kernel::{self, StateDir};
use crate::reach::Reach;
use database::Which;
use report::{Check, Report};

/// Checks configuration, clusters, rights, database and machine.
#[derive(Args)]
pub struct Doctor {
    /// What is to be hosted
    #[arg(long, value_name = "FILE", default_value = "switchboard.yaml")]
    config: PathBuf,
    /// The GitOps Service's database: postgres://USER:PASSWORD@HOST/NAME, or sqlite:FILE
    #[arg(long, value_name = "URL", env = "SWITCHBOARD_GITOPS_DATABASE", hide_env_values = true)]
    database: Option<String>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    state: StateDir,
}

impl Doctor {
    /// Prints what was found. True when nothing stands in the way.
    pub async fn run(self) -> Result<bool, Failure> {
        let mut report = Report::default();
        let config = match kernel::read_config(&self.config) {
            Ok(mut config) => {
                self.reach.fill(&mut config);
                let operators = config.operators.values().filter(|one| one.enabled).count();
                let (file, clusters) = (self.config.display(), config.clusters.len());
                let counted = format!("{file}: {operators} operators, {clusters} clusters");
                report.add(Check::ok("configuration", counted));
                for warning in config.warnings() {
                    report.add(Check::warning("configuration", warning, "docs/CONFIG.md says what it means"));
                }
                Some(config)
            }
            Err(error) => {
                report.add(Check::failed("configuration", &failure::tell(&*error)));
                None
            }
        };
        machine::check(&self.state, config.as_ref(), &mut report).await;
        match &self.database {
            Some(url) => database::check(&Which { url: url.clone(), is_migrated: false }, &mut report).await,
            None if config.as_ref().is_none_or(|config| config.gitops.is_none()) => database::none(&mut report),
            None => {}
        }
        if let Some(config) = &config {
            let mut clusters = cluster::check(config, &mut report).await;
            let dir = self.state.path().ok();
            let beside = hosted::check(config, &mut clusters, dir.as_deref(), &mut report).await;
            rights::check(config, &clusters, beside, &mut report).await;
        }
        print(&report, self.output)?;
        Ok(report.is_well())
    }
}
