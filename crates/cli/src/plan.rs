//! `switchboard plan`: what would be written now, and nothing is.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use switchboard_kernel::core::Closed;
use switchboard_kernel::decision::{Outcome, WriteResult};
use switchboard_kernel::diff::diff;
use switchboard_kernel::explain::{PlanReport, Planned};
use switchboard_kernel::host::{Host, Settings};
use switchboard_kernel::journal::{Bounds, Journal};
use switchboard_kernel::limits::{GlobalLimits, Limits};
use switchboard_kernel::plan::Standing;

use crate::explain::{Form, print};
use crate::failure::Failure;
use crate::guests;
use crate::reach::Reach;
use crate::{kernel, run};

/// A day: who waits longer does not look.
const MAX_TIMEOUT: u64 = 24 * 60 * 60;

/// Shows what the operators would write now, against the clusters.
#[derive(Args)]
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
}

/// Nothing is planned, but not because nothing is to be done.
#[derive(Debug, thiserror::Error)]
#[error("could not plan {0} of the units, so it is not known whether something would be written")]
struct Undecided(usize);

impl Plan {
    /// Prints the report. True when something would be written.
    pub async fn run(self) -> Result<bool, Failure> {
        let mut config = kernel::read_config(&self.config)?;
        self.reach.fill(&mut config);
        let clusters = guests::clusters(&config).await?;
        let folder = tempfile::tempdir()?;
        let mut operators = run::hosted(&config);
        operators.extend(guests::learn(&config, &clusters, folder.path()).await?.operators());
        if let Some(name) = &self.operator {
            operators.retain(|(operator, _)| operator.name() == name);
            if operators.is_empty() {
                let known: Vec<String> = config.operators.keys().map(ToString::to_string).collect();
                return Err(format!(
                    "{} hosts no operator {name}\nhint: it hosts {}",
                    self.config.display(),
                    if known.is_empty() { "none".to_string() } else { known.join(", ") }
                )
                .into());
            }
        }
        // One look, at once: limits are for those who stay. A unit that fails is not tried again.
        let never = Duration::from_secs(self.timeout * 2);
        operators.iter_mut().for_each(|(_, limits)| {
            *limits = Limits { timeout: limits.timeout, backoff_first: never, backoff_max: never, ..Limits::none() };
        });
        let settings = Settings {
            clusters: clusters.clients,
            topology: config.topology.clone(),
            global: GlobalLimits { requests_per_second: u32::MAX, ..config.limits.clone() },
            journal: Journal::in_memory(Bounds::default()),
            dry_run: true,
        };
        let (host, _handle) = Host::new(settings, operators);
        let closed = host.once(Duration::from_secs(self.timeout)).await?;
        let report = report(&closed);
        print(&report, self.output)?;
        if !report.changes() && !report.undecided.is_empty() {
            return Err(Undecided(report.undecided.len()).into());
        }
        Ok(report.changes())
    }
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
