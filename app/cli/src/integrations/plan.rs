//! `switchboard integrations plan`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use futures::future::join_all;
use switchboard_integrations::config::IntegrationsConfig;
use switchboard_kernel::config::Config;
use switchboard_kernel::core::FinishedRun;
use switchboard_kernel::host::{Host, HostSettings};
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::operator::Operator;
use switchboard_kernel::topology::ClusterName;
use switchboard_runtime::integrations::hosting::IntegrationsManager;
use switchboard_runtime::stderr::print_stderr;
use switchboard_runtime::{config_file, hosted};

use crate::cluster_args::ClusterArgs;
use crate::explain::{OutputFormat, print};
use crate::failure::{self, CommandError};
use crate::own_operators::families;
use crate::state_args::StateArgs;
use crate::{DIFFERS, flag_duration};

/// Show what would be written on the live clusters of a configuration; write nothing
#[derive(Args)]
#[command(mut_arg("state_dir", |arg| arg.help("State directory of the `up` that serves the clusters [default: kernel in the user's data directory]")))]
pub struct IntegrationsPlan {
    /// Configuration file with the section `integrations`
    #[arg(long, value_name = "FILE", default_value = "switchboard.yaml")]
    config: PathBuf,
    /// Timeout for reading the clusters and planning
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = flag_duration::parse)]
    timeout: Duration,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    cluster_args: ClusterArgs,
    #[command(flatten)]
    state: StateArgs,
}

impl IntegrationsPlan {
    /// Prints the report; exits with 2 if something would be written, and with 1 if a part could not be planned.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        let mut config = config_file::read_config(families(), &self.config)?;
        self.cluster_args.access().apply_with_up(&mut config, &self.state.dir());
        let Some(section) = config.section::<IntegrationsConfig>() else {
            let file = self.config.display();
            return Err(format!(
                "{file} has no section `integrations`\nhint: add it; `switchboard init --config -` prints an example"
            )
            .into());
        };
        let clusters = hosted::connect(&config).await?.with_local_up(&config, &self.state.dir());
        let mut manager = IntegrationsManager::new(section, &config.topology, clusters)?;
        let (operators, mut failed) = manager.load_operators().await?;
        let plans =
            operators.into_iter().map(|(operator, name, client)| self.plan_cluster(&config, operator, name, client));
        let mut decided = Vec::new();
        for planned in join_all(plans).await {
            match planned {
                Ok(all) => decided.extend(all),
                Err(error) => failed.push(failure::message(&*error)),
            }
        }
        let report = crate::plan::report(&decided);
        failed.iter().for_each(print_stderr);
        // "Nothing would be written" is known only if everything could be planned.
        let known = report.has_changes() || !report.undecided.is_empty() || failed.is_empty();
        if known || self.output != OutputFormat::Table {
            print(&report, self.output)?;
        }
        Ok(match (report.has_changes(), report.undecided.is_empty() && failed.is_empty()) {
            (true, _) => ExitCode::from(DIFFERS),
            (false, true) => ExitCode::SUCCESS,
            (false, false) => ExitCode::FAILURE,
        })
    }

    /// Plans one cluster on its own, so that an unreachable cluster does not affect the others.
    async fn plan_cluster(
        &self,
        config: &Config,
        operator: Arc<dyn Operator>,
        cluster: ClusterName,
        client: kube::Client,
    ) -> Result<Vec<FinishedRun>, CommandError> {
        let never = self.timeout * 2;
        let limits = Limits { backoff_first: never, backoff_max: never, ..Limits::none() };
        let settings = HostSettings {
            clusters: BTreeMap::from([(cluster.clone(), client)]),
            topology: config.topology.clone(),
            global: GlobalLimits { requests_per_second: Some(u32::MAX), ..config.limits.clone() },
            journal: Journal::in_memory(JournalLimits::default()),
            dry_run: true,
        };
        let (host, _handle) = Host::new(settings, vec![(operator, limits)]);
        let decided = host.run_until_settled(self.timeout).await;
        decided.map_err(|error| format!("could not plan for cluster {cluster}\n  {error}").into())
    }
}
