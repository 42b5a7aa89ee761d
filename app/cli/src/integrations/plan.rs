//! `switchboard integrations plan`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use futures::future::join_all;
use switchboard_kernel::config::Config;
use switchboard_kernel::core::Closed;
use switchboard_kernel::host::{Host, Settings};
use switchboard_kernel::journal::{Bounds, Journal};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::operator::Operator;
use switchboard_kernel::place::ClusterName;

use super::hosting::Manager;
use crate::explain::{Form, print};
use crate::failure::{self, Failure};
use crate::reach::Reach;
use crate::talk::say;
use crate::{DIFFERS, guests, kernel};

/// Shows what would be written on live clusters.
#[derive(Args)]
pub struct Plan {
    /// The configuration with the section `integrations`
    #[arg(long, value_name = "FILE", default_value = "switchboard.yaml")]
    config: PathBuf,
    /// How long everything may take to be read and decided
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    reach: Reach,
}

impl Plan {
    /// Prints the report; exits with 2 when something would be written, with 1 when not all could be planned.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let mut config = kernel::read_config(&self.config)?;
        self.reach.fill(&mut config);
        let Some(section) = &config.integrations else {
            let file = self.config.display();
            return Err(format!(
                "{file} has no section `integrations`\nhint: docs/INTEGRATIONS.md says what stands in it"
            )
            .into());
        };
        let clusters = guests::clusters(&config).await?;
        let mut manager = Manager::new(section, &config.topology, clusters)?;
        let (operators, mut failed) = manager.once().await?;
        let looks = operators.into_iter().map(|(operator, name, client)| self.look(&config, operator, name, client));
        let mut decided = Vec::new();
        for looked in join_all(looks).await {
            match looked {
                Ok(all) => decided.extend(all),
                Err(error) => failed.push(failure::tell(&*error)),
            }
        }
        let report = crate::plan::report(&decided);
        failed.iter().for_each(say);
        // That nothing would be written is known only where all could be planned.
        let known = report.changes() || !report.undecided.is_empty() || failed.is_empty();
        if known || self.output != Form::Table {
            print(&report, self.output)?;
        }
        Ok(match (report.changes(), report.undecided.is_empty() && failed.is_empty()) {
            (true, _) => ExitCode::from(DIFFERS),
            (false, true) => ExitCode::SUCCESS,
            (false, false) => ExitCode::FAILURE,
        })
    }

    /// Decides for one cluster, apart from the others: one that does not answer loses itself.
    async fn look(
        &self,
        config: &Config,
        operator: Arc<dyn Operator>,
        cluster: ClusterName,
        client: kube::Client,
    ) -> Result<Vec<Closed>, Failure> {
        let never = Duration::from_secs(self.timeout * 2);
        let limits = Limits { backoff_first: never, backoff_max: never, ..Limits::none() };
        let settings = Settings {
            clusters: BTreeMap::from([(cluster.clone(), client)]),
            topology: config.topology.clone(),
            global: GlobalLimits { requests_per_second: u32::MAX, ..config.limits.clone() },
            journal: Journal::in_memory(Bounds::default()),
            dry_run: true,
        };
        let (host, _handle) = Host::new(settings, vec![(operator, limits)]);
        let decided = host.once(Duration::from_secs(self.timeout)).await;
        decided.map_err(|error| format!("could not plan for cluster {cluster}\n  {error}").into())
    }
}
