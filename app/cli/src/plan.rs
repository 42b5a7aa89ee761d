//! `switchboard plan`: shows what would be written, and writes nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use futures::future::join_all;
use switchboard_gitops::config::GitopsConfig;
use switchboard_kernel::config::Config;
use switchboard_kernel::core::FinishedRun;
use switchboard_kernel::decision::{RunOutcome, WriteResult};
use switchboard_kernel::diff::diff;
use switchboard_kernel::explain::{PlanReport, PlannedWrite, SkippedItem};
use switchboard_kernel::host::{Host, HostSettings, SettleTimeout};
use switchboard_kernel::journal::{Journal, JournalLimits};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::operator::Operator;
use switchboard_kernel::plan::UnitStatus;
use switchboard_kernel::topology::{ClusterName, ClusterType};
use switchboard_runtime::gitops::engine::EmbeddedEngine;
use switchboard_runtime::hosted::{self, ClusterClients};
use switchboard_runtime::integrations::hosting::IntegrationsManager;
use switchboard_runtime::{config_file, run};

use crate::cluster_args::ClusterArgs;
use crate::explain::{OutputFormat, print};
use crate::failure::{self, CommandError};
use crate::flag_duration;
use crate::own_operators::families;
use crate::state_args::StateArgs;

/// Name of the part that cannot be planned, as in the output of `run`.
const GITOPS: &str = "gitops";

/// Show what the operators would write to the clusters now; write nothing
#[derive(Args)]
#[command(mut_arg("state_dir", |arg| arg.help("State directory of the `up` that serves the cluster; its engine reads repositories of this machine [default: kernel in the user's data directory]")))]
pub struct PlanCommand {
    /// Configuration file
    #[arg(long, value_name = "FILE", default_value = "switchboard.yaml")]
    config: PathBuf,
    /// Limit the plan to this operator
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Timeout for reading the clusters and planning
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = flag_duration::parse)]
    timeout: Duration,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    cluster_args: ClusterArgs,
    #[command(flatten)]
    pub state: StateArgs,
}

/// The plan is incomplete, so it is unknown whether something would be written.
#[derive(Debug, thiserror::Error)]
enum PlanCommandError {
    #[error("could not plan {}, so it is unknown whether something would be written", units(*.0))]
    Undecided(usize),
    #[error(
        "could not plan {}, so it is unknown whether something would be written\nhint: plan a single operator with `--operator NAME`", .0.join(", ")
    )]
    LeftOut(Vec<String>),
    #[error("{file} has no operator {name}\nhint: operators: {known}")]
    Unknown { file: String, name: String, known: String },
}

fn units(count: usize) -> String {
    if count == 1 { "1 unit".to_string() } else { format!("{count} units") }
}

/// Operators that are planned together; an unreachable cluster fails only its own group.
#[derive(Default)]
struct PlanGroup {
    operators: Vec<Arc<dyn Operator>>,
    /// Cluster that the configuration does not name.
    cluster: Option<(ClusterName, kube::Client)>,
}

impl PlanCommand {
    /// Prints the report. Returns whether something would be written.
    pub async fn run(self) -> Result<bool, CommandError> {
        let mut config = config_file::read_config(families(), &self.config)?;
        self.cluster_args.access().apply_with_up(&mut config, &self.state.dir());
        let clusters = hosted::connect(&config).await?.with_local_up(&config, &self.state.dir());
        let folder = tempfile::tempdir()?;
        let (mut all, mut left_out) = self.all(&config, &clusters, folder.path()).await?;
        if let Some(name) = &self.operator {
            let known = names(&all, &left_out);
            all.iter_mut().for_each(|apart| apart.operators.retain(|one| matches_name(name, one.name())));
            left_out.retain(|left| matches_name(name, &left.name));
            if all.iter().all(|apart| apart.operators.is_empty()) && left_out.is_empty() {
                let (file, name) = (self.config.display().to_string(), name.clone());
                return Err(PlanCommandError::Unknown { file, name, known }.into());
            }
        }
        all.retain(|apart| !apart.operators.is_empty());
        let is_empty = all.is_empty();
        let mut report = self.report(&config, &clusters, all).await?;
        report.skipped.splice(0..0, left_out);
        print(&report, self.output)?;
        // A part without a dry run is reported, but it is an error only if there is nothing else to plan.
        let left_out = report.skipped.iter().filter(|left| left.failed || is_empty);
        let left_out: Vec<String> = left_out.map(|left| left.name.clone()).collect();
        if !report.has_changes() && !left_out.is_empty() {
            return Err(PlanCommandError::LeftOut(left_out).into());
        }
        if !report.has_changes() && !report.undecided.is_empty() {
            return Err(PlanCommandError::Undecided(report.undecided.len()).into());
        }
        Ok(report.has_changes())
    }

    /// Returns all operators of the configuration, and the parts that cannot be planned.
    async fn all(
        &self,
        config: &Config,
        clusters: &ClusterClients,
        folder: &Path,
    ) -> Result<(Vec<PlanGroup>, Vec<SkippedItem>), CommandError> {
        let mut left_out = Vec::new();
        let mut first = PlanGroup::default();
        first.operators.extend(run::configured_operators(config).into_iter().map(|(operator, _)| operator));
        first.operators.extend(hosted::load(config, clusters, folder).await?.operators());
        let mut further = Vec::new();
        if let Some(engine) =
            EmbeddedEngine::new(config, clusters, folder, self.is_local(config, clusters), true).await?
        {
            first.operators.push(engine.operator());
            further.extend(engine.cluster_operators().await?);
        }
        if let Some(section) = config.section() {
            let (operators, failed) =
                IntegrationsManager::new(section, &config.topology, clusters.clone())?.load_operators().await?;
            further.extend(operators);
            let why = |message: String| message.trim_start_matches("error: ").to_string();
            left_out.extend(failed.into_iter().map(|message| SkippedItem {
                name: "integrations".to_string(),
                reason: why(message),
                failed: true,
            }));
        }
        if config.section::<GitopsConfig>().is_some() {
            let why = "its decisions need its database, which has no dry run".to_string();
            left_out.push(SkippedItem { name: GITOPS.to_string(), reason: why, failed: false });
        }
        let apart = |(operator, name, client)| PlanGroup { operators: vec![operator], cluster: Some((name, client)) };
        Ok((std::iter::once(first).chain(further.into_iter().map(apart)).collect(), left_out))
    }

    /// Whether Applications are stored on the cluster of this user's `up`: only then does the engine read repositories
    /// of this machine.
    fn is_local(&self, config: &Config, clusters: &ClusterClients) -> bool {
        clusters.is_local(config.topology.cluster(ClusterType::Management), &self.state.dir())
    }

    async fn report(
        &self,
        config: &Config,
        clusters: &ClusterClients,
        all: Vec<PlanGroup>,
    ) -> Result<PlanReport, CommandError> {
        let looks = all.into_iter().map(|apart| async {
            let name = apart.cluster.as_ref().and(apart.operators.first()).map(|one| one.name().to_string());
            (name, once(config, clusters, apart, self.timeout).await)
        });
        let (mut decided, mut left_out) = (Vec::new(), Vec::new());
        for (name, looked) in join_all(looks).await {
            match (looked, name) {
                (Ok(closed), _) => decided.extend(closed),
                (Err(error), Some(what)) => {
                    let why = failure::message(&error).trim_start_matches("error: ").to_string();
                    left_out.push(SkippedItem { name: what, reason: why, failed: true });
                }
                (Err(error), None) => return Err(error.into()),
            }
        }
        Ok(PlanReport { skipped: left_out, ..report(&decided) })
    }
}

/// Runs all units once without delays. A failed unit is not retried.
async fn once(
    config: &Config,
    clusters: &ClusterClients,
    apart: PlanGroup,
    patience: Duration,
) -> Result<Vec<FinishedRun>, SettleTimeout> {
    let never = patience * 2;
    let with_limits = |operator: Arc<dyn Operator>| {
        let timeout = config.limits_of(operator.name()).timeout;
        (operator, Limits { timeout, backoff_first: never, backoff_max: never, ..Limits::none() })
    };
    let settings = HostSettings {
        clusters: clusters.clients.clone().into_iter().chain(apart.cluster).collect(),
        topology: config.topology.clone(),
        global: GlobalLimits { requests_per_second: Some(u32::MAX), ..config.limits.clone() },
        journal: Journal::in_memory(JournalLimits::default()),
        dry_run: true,
    };
    let (host, _handle) = Host::new(settings, apart.operators.into_iter().map(with_limits).collect());
    host.run_until_settled(patience).await
}

/// Whether a name given by the user selects an operator. The first part of the name selects the instances on all
/// clusters.
fn matches_name(name: &str, one: &str) -> bool {
    one == name || one.strip_prefix(name).is_some_and(|rest| rest.starts_with('@'))
}

fn names(all: &[PlanGroup], left_out: &[SkippedItem]) -> String {
    let planned = all.iter().flat_map(|apart| apart.operators.iter().map(|one| one.name().to_string()));
    let mut known: Vec<String> = planned.chain(left_out.iter().map(|left| left.name.clone())).collect();
    known.sort();
    known.dedup();
    if known.is_empty() { "none".to_string() } else { known.join(", ") }
}

/// Creates the report from the decisions.
pub fn report(closed: &[FinishedRun]) -> PlanReport {
    let mut report = PlanReport::default();
    let mut runs: Vec<&FinishedRun> = closed.iter().collect();
    // A unit may have been parked before it decided; its last decision counts.
    runs.sort_by_key(|closed| (closed.decision.unit.clone(), std::cmp::Reverse(closed.decision.id)));
    runs.dedup_by_key(|closed| closed.decision.unit.clone());
    for closed in runs {
        let unit = &closed.decision.unit;
        match &closed.decision.outcome {
            RunOutcome::Failed { message } => report.undecided.push((unit.clone(), message.clone())),
            RunOutcome::NotCached { .. } => {
                report.undecided.push((unit.clone(), "its inputs have not been read".to_string()))
            }
            RunOutcome::Decided { writes, status: standing } => {
                if let UnitStatus::Failing(why) = standing {
                    report.undecided.push((unit.clone(), why.clone()));
                }
                report.writes.extend(closed.executed.iter().filter_map(|carried| planned(closed, carried)));
                let refused = writes.iter().filter_map(|write| match &write.result {
                    WriteResult::Refused { reason } | WriteResult::Failed { message: reason } => {
                        Some((unit.clone(), format!("could not {}: {reason}", write.mutation)))
                    }
                    _ => None,
                });
                report.undecided.extend(refused);
            }
        }
    }
    report
}

fn planned(closed: &FinishedRun, carried: &switchboard_kernel::applier::ExecutedWrite) -> Option<PlannedWrite> {
    if carried.write.result != WriteResult::DryRun {
        return None;
    }
    let delete = carried.write.mutation.verb() == "delete";
    let after = carried.after.as_ref().filter(|_| !delete);
    let lines = diff(carried.before.as_ref(), after);
    Some(PlannedWrite {
        unit: closed.decision.unit.clone(),
        write: carried.write.mutation.to_string(),
        diff: lines.iter().map(ToString::to_string).collect(),
        unchecked: carried.unchecked.clone(),
    })
}
