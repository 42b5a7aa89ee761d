//! `switchboard plan`: what would be written now, and nothing is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use futures::future::join_all;
use switchboard_kernel::config::Config;
use switchboard_kernel::core::Closed;
use switchboard_kernel::decision::{Outcome, WriteResult};
use switchboard_kernel::diff::diff;
use switchboard_kernel::explain::{LeftOut, PlanReport, Planned};
use switchboard_kernel::host::{Host, Settings, Unsettled};
use switchboard_kernel::journal::{Bounds, Journal};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::operator::Operator;
use switchboard_kernel::place::{ClusterName, Place};
use switchboard_kernel::plan::Standing;

use crate::explain::{Form, print};
use crate::failure::{self, Failure};
use crate::gitops::engine::Embedded;
use crate::guests::{self, Clusters};
use crate::integrations::hosting::Manager;
use crate::kernel::{self, StateDir};
use crate::reach::Reach;
use crate::{limits, own, run};

/// A day: who waits longer does not look.
const MAX_TIMEOUT: u64 = 24 * 60 * 60;
/// What cannot be planned, as `run` names it.
const GITOPS: &str = "gitops";

/// Shows what the operators would write now, against the clusters.
#[derive(Args)]
#[command(mut_arg("state_dir", |arg| arg.help("The state directory of the `up` whose cluster it is: the engine there reads this machine's repositories [default: kernel in the user's data directory]")))]
pub struct Plan {
    /// What is hosted, and where
    #[arg(long, value_name = "FILE", default_value = "switchboard.yaml")]
    config: PathBuf,
    /// Only this operator
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// How long everything may take to be read and decided
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=MAX_TIMEOUT))]
    timeout: u64,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    state: StateDir,
}

/// Why nothing is planned, though perhaps something is to be done.
#[derive(Debug, thiserror::Error)]
enum PlanError {
    #[error("could not plan {0} of the units, so it is not known whether something would be written")]
    Undecided(usize),
    #[error(
        "could not plan {}, so it is not known whether something would be written\nhint: `--operator NAME` plans one operator alone", .0.join(", ")
    )]
    LeftOut(Vec<String>),
    #[error("{file} hosts no operator {name}\nhint: it hosts {known}")]
    Unknown { file: String, name: String, known: String },
}

/// Operators that are looked at apart from others: a cluster that does not answer loses itself.
#[derive(Default)]
struct Apart {
    operators: Vec<Arc<dyn Operator>>,
    /// A cluster that the configuration does not name.
    cluster: Option<(ClusterName, kube::Client)>,
}

impl Plan {
    /// Prints the report. True when something would be written.
    pub async fn run(self) -> Result<bool, Failure> {
        let mut config = kernel::read_config(&self.config)?;
        self.reach.fill(&mut config);
        let clusters = guests::clusters(&config).await?;
        let folder = tempfile::tempdir()?;
        let (mut all, mut left_out) = self.all(&config, &clusters, folder.path()).await?;
        if let Some(name) = &self.operator {
            let known = names(&all, &left_out);
            all.iter_mut().for_each(|apart| apart.operators.retain(|one| is_meant(name, one.name())));
            left_out.retain(|left| is_meant(name, &left.what));
            if all.iter().all(|apart| apart.operators.is_empty()) && left_out.is_empty() {
                let (file, name) = (self.config.display().to_string(), name.clone());
                return Err(PlanError::Unknown { file, name, known }.into());
            }
        }
        all.retain(|apart| !apart.operators.is_empty());
        let mut report = self.look(&config, &clusters, all).await?;
        report.left_out.splice(0..0, left_out);
        print(&report, self.output)?;
        if !report.changes() && !report.left_out.is_empty() {
            let left = report.left_out.into_iter().map(|left| left.what).collect();
            return Err(PlanError::LeftOut(left).into());
        }
        if !report.changes() && !report.undecided.is_empty() {
            return Err(PlanError::Undecided(report.undecided.len()).into());
        }
        Ok(report.changes())
    }

    /// All that the configuration has hosted, and what of it cannot be planned.
    async fn all(
        &self,
        config: &Config,
        clusters: &Clusters,
        folder: &Path,
    ) -> Result<(Vec<Apart>, Vec<LeftOut>), Failure> {
        let mut left_out = Vec::new();
        let mut first = Apart::default();
        first.operators.extend(run::hosted(config).into_iter().map(|(operator, _)| operator));
        first.operators.extend(guests::learn(config, clusters, folder).await?.operators());
        let mut further = Vec::new();
        if let Some(engine) = Embedded::new(config, clusters, folder, self.is_own(config, clusters), true).await? {
            first.operators.push(engine.operator());
            further.extend(engine.once().await?);
        }
        if let Some(section) = &config.integrations {
            let (operators, failed) = Manager::new(section, &config.topology, clusters.clone())?.once().await?;
            further.extend(operators);
            let why = |told: String| told.trim_start_matches("error: ").to_string();
            left_out
                .extend(failed.into_iter().map(|told| LeftOut { what: "integrations".to_string(), why: why(told) }));
        }
        if config.gitops.is_some() {
            let why = "its decisions are made with its database, and only clusters can be asked to pretend".to_string();
            left_out.push(LeftOut { what: GITOPS.to_string(), why });
        }
        let apart = |(operator, name, client)| Apart { operators: vec![operator], cluster: Some((name, client)) };
        Ok((std::iter::once(first).chain(further.into_iter().map(apart)).collect(), left_out))
    }

    /// Whether Applications live on the cluster of an `up` of this user: only then does the engine there read this machine's repositories.
    fn is_own(&self, config: &Config, clusters: &Clusters) -> bool {
        let there = clusters.configs.get(config.topology.cluster(Place::Management));
        there.zip(self.state.path().ok()).is_some_and(|(there, dir)| own::is_own(&dir, there))
    }

    async fn look(&self, config: &Config, clusters: &Clusters, all: Vec<Apart>) -> Result<PlanReport, Failure> {
        let looks = all.into_iter().map(|apart| async {
            let name = apart.cluster.as_ref().and(apart.operators.first()).map(|one| one.name().to_string());
            (name, once(config, clusters, apart, Duration::from_secs(self.timeout)).await)
        });
        let (mut decided, mut left_out) = (Vec::new(), Vec::new());
        for (name, looked) in join_all(looks).await {
            match (looked, name) {
                (Ok(closed), _) => decided.extend(closed),
                (Err(error), Some(what)) => {
                    let why = failure::tell(&error).trim_start_matches("error: ").to_string();
                    left_out.push(LeftOut { what, why });
                }
                (Err(error), None) => return Err(error.into()),
            }
        }
        Ok(PlanReport { left_out, ..report(&decided) })
    }
}

/// One look, at once: limits are for those who stay. A unit that fails is not tried again.
async fn once(
    config: &Config,
    clusters: &Clusters,
    apart: Apart,
    patience: Duration,
) -> Result<Vec<Closed>, Unsettled> {
    let never = patience * 2;
    let with_limits = |operator: Arc<dyn Operator>| {
        let timeout = limits::of(config, operator.name()).timeout;
        (operator, Limits { timeout, backoff_first: never, backoff_max: never, ..Limits::none() })
    };
    let settings = Settings {
        clusters: clusters.clients.clone().into_iter().chain(apart.cluster).collect(),
        topology: config.topology.clone(),
        global: GlobalLimits { requests_per_second: u32::MAX, ..config.limits.clone() },
        journal: Journal::in_memory(Bounds::default()),
        dry_run: true,
    };
    let (host, _handle) = Host::new(settings, apart.operators.into_iter().map(with_limits).collect());
    host.once(patience).await
}

/// Whether somebody who names an operator means this one: one that there is for each cluster is named by its first word, too.
fn is_meant(name: &str, one: &str) -> bool {
    one == name || one.strip_prefix(name).is_some_and(|rest| rest.starts_with('@'))
}

fn names(all: &[Apart], left_out: &[LeftOut]) -> String {
    let planned = all.iter().flat_map(|apart| apart.operators.iter().map(|one| one.name().to_string()));
    let mut known: Vec<String> = planned.chain(left_out.iter().map(|left| left.what.clone())).collect();
    known.sort();
    known.dedup();
    if known.is_empty() { "none".to_string() } else { known.join(", ") }
}

/// What was decided, as a report.
pub fn report(closed: &[Closed]) -> PlanReport {
    let mut report = PlanReport::default();
    let mut runs: Vec<&Closed> = closed.iter().collect();
    // A unit may have been parked before it decided; its last word counts.
    runs.sort_by_key(|closed| (closed.decision.unit.clone(), std::cmp::Reverse(closed.decision.id)));
    runs.dedup_by_key(|closed| closed.decision.unit.clone());
    for closed in runs {
        let unit = &closed.decision.unit;
        match &closed.decision.outcome {
            Outcome::Failed { message } => report.undecided.push((unit.clone(), message.clone())),
            Outcome::Parked { .. } => report.undecided.push((unit.clone(), "what it reads is not known".to_string())),
            Outcome::Decided { writes, standing } => {
                if let Standing::Failing(why) = standing {
                    report.undecided.push((unit.clone(), why.clone()));
                }
                report.writes.extend(closed.carried.iter().filter_map(|carried| planned(closed, carried)));
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

fn planned(closed: &Closed, carried: &switchboard_kernel::applier::Carried) -> Option<Planned> {
    if carried.write.result != WriteResult::Pretended {
        return None;
    }
    let delete = carried.write.mutation.verb() == "delete";
    let after = carried.after.as_ref().filter(|_| !delete);
    let lines = diff(carried.before.as_ref(), after);
    Some(Planned {
        unit: closed.decision.unit.clone(),
        write: carried.write.mutation.to_string(),
        diff: lines.iter().map(ToString::to_string).collect(),
        unchecked: carried.unchecked.clone(),
    })
}
