//! `switchboard gather apply`.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use switchboard_gather::mutation::{Action, Directory, Mutation, Place as Folder, read_directory};
use switchboard_kernel::applier::{Carried, KubeWriter, carry_out};
use switchboard_kernel::arbiter::{Arbiter, Judged, Judging};
use switchboard_kernel::decision::{DecisionId, WriteResult};
use switchboard_kernel::operator::{Declaration, Declared, OperatorName, Unit, UnitId, Units};
use switchboard_kernel::place::{ClusterName, Topology};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::scene::Scene;
use switchboard_kernel::view::Reads;

use super::live::Live;
use super::resumed::Resumed;
use super::{MAX_PROBLEMS_SHOWN, carry, present, told, warn, whole};
use crate::failure::Failure;
use crate::reach::Reach;
use crate::talk::say;

/// Who writes what does not say so itself.
const MANAGER: &str = "switchboard-gather";

/// Carries a mutation directory out against a cluster: namespaces first, status late, deletions last.
#[derive(Args)]
pub struct Apply {
    /// The mutation directory
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// Only what is meant for these clusters
    #[arg(long, value_name = "CLUSTER", value_delimiter = ',')]
    only: Vec<Only>,
    /// Ask the server, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Also carry out what was cut short: output without controller-results.yaml, and what panicked controllers wrote
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    reach: Reach,
}

/// A cluster of an operator.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    Configuration,
    Management,
    UserWorkload,
}

/// Mutations that cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[error("could not carry the directory out; nothing was written\n  {}", shown(.0))]
struct Unfit(Vec<String>);

fn shown(problems: &[String]) -> String {
    let more = problems.len().saturating_sub(MAX_PROBLEMS_SHOWN);
    let rest = (more > 0).then(|| format!("and {more} more"));
    let first = problems.iter().take(MAX_PROBLEMS_SHOWN).cloned();
    first.chain(rest).collect::<Vec<_>>().join("\n  ")
}

/// A folder that no operator wrote.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is no mutation directory\nhint: --from takes the directory that an operator was given as --output-dir", .0.display())]
struct NoMutations(PathBuf);

impl Apply {
    /// Carries it out. False when something was not.
    pub async fn run(self) -> Result<bool, Failure> {
        present(&self.from, "the directory that an operator was given as --output-dir")?;
        let directory = read_directory(&self.from)?;
        // One that has nothing to write says at least how its controllers did.
        if directory.mutations.is_empty() && directory.results.is_none() && !directory.ordered {
            return Err(NoMutations(self.from).into());
        }
        if !directory.problems.is_empty() {
            return Err(Unfit(directory.problems.iter().map(told).collect()).into());
        }
        let directory = if self.partial { directory } else { whole::of(directory)? };
        let chosen = self.chosen(directory);
        warn(fights(&chosen));
        let live = Live::connect(&self.reach).await?;
        let judged = judge(&chosen, &live)?;
        let cluster = ClusterName::new(MANAGER);
        let writer = Resumed(KubeWriter::new(BTreeMap::from([(cluster, live.client)])));
        let carried = carry_out(&writer, judged.writes, None, MANAGER, self.dry_run).await;
        report(&carried)
    }

    /// What is to be carried out. What an operator did not declare is not, unless the directory knows no clusters at all.
    fn chosen(&self, directory: Directory) -> Vec<Mutation> {
        let undeclared = self.from.join(Folder::Unspecified.to_string()).is_dir();
        let wanted = |mutation: &Mutation| match mutation.place {
            Folder::Unspecified => !undeclared && self.only.is_empty(),
            Folder::Configuration => self.takes(Only::Configuration),
            Folder::Management => self.takes(Only::Management),
            Folder::UserWorkload => self.takes(Only::UserWorkload),
        };
        let (chosen, left): (Vec<_>, Vec<_>) = directory.mutations.into_iter().partition(wanted);
        let left = left.iter().filter(|mutation| mutation.place == Folder::Unspecified);
        warn(left.map(|mutation| format!("{mutation} is not declared and is left out")));
        // Without an index the order is lost; the arbiter's is the one that works.
        chosen
    }

    fn takes(&self, cluster: Only) -> bool {
        self.only.is_empty() || self.only.contains(&cluster)
    }
}

/// Objects that are replaced as a whole more than once: each was made from the same one, so the last undoes the others.
fn fights(mutations: &[Mutation]) -> Vec<String> {
    let mut writers: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for mutation in mutations.iter().filter(|m| matches!(m.action, Action::Update | Action::UpdateStatus)) {
        writers.entry(mutation.to_string()).or_default().insert(&mutation.controller_instance_name);
    }
    let several = writers.into_iter().filter(|(_, writers)| writers.len() > 1);
    several
        .map(|(what, writers)| {
            format!("{what} is replaced by several: {}", writers.into_iter().collect::<Vec<_>>().join(", "))
        })
        .collect()
}

/// The applier's order, by the arbiter itself.
fn judge(mutations: &[Mutation], live: &Live) -> Result<Judged, Failure> {
    let (mut plan, mut unfit) = (Plan::nothing(), Vec::new());
    for mutation in mutations {
        if mutation.is_dry_run() {
            warn([format!("{mutation} was a dry run and is left out")]);
            continue;
        }
        match carry::planned(mutation, &live.discovery) {
            Ok(planned) => drop(plan.push(planned)),
            Err(why) => unfit.push(format!("{mutation}: {why}")),
        }
    }
    let outputs = plan.mutations.iter().map(|m| Declared::every(&m.resource).at(m.place)).collect();
    let declaration = Declaration { inputs: BTreeSet::new(), outputs, service_account: None, units: Units::Whole };
    let judging = Judging {
        unit: &UnitId { operator: OperatorName::new(MANAGER), unit: Unit::Whole },
        declaration: &declaration,
        topology: &Topology::standalone(&ClusterName::new(MANAGER)),
        decision: DecisionId(fingerprint(mutations)),
        mutations: plan.mutations,
        ordered: false,
        reads: &Reads::default(),
        picture: &Scene::default(),
    };
    let judged = Arbiter::default().judge(judging);
    unfit.extend(judged.refused.iter().map(|write| match &write.result {
        WriteResult::Refused { reason } => reason.clone(),
        _ => format!("{} is refused", write.mutation),
    }));
    if unfit.is_empty() { Ok(judged) } else { Err(Unfit(unfit).into()) }
}

/// The same directory makes the same generated names, so that carrying it out twice makes nothing twice.
fn fingerprint(mutations: &[Mutation]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for mutation in mutations {
        hasher.write(mutation.id().as_bytes());
        hasher.write(&mutation.body);
    }
    hasher.finish()
}

fn report(carried: &[Carried]) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    let (mut done, mut failed) = (0, 0);
    for Carried { write, .. } in carried {
        let came = match &write.result {
            WriteResult::Written { .. } => "written",
            WriteResult::Unchanged => "unchanged",
            WriteResult::Pretended => "would be written",
            WriteResult::Skipped | WriteResult::Held => "not tried",
            WriteResult::Stale { .. }
            | WriteResult::Failed { .. }
            | WriteResult::Unheard { .. }
            | WriteResult::Refused { .. } => "failed",
        };
        writeln!(out, "{came}\t{}", write.mutation)?;
        match &write.result {
            WriteResult::Stale { message }
            | WriteResult::Failed { message }
            | WriteResult::Unheard { message }
            | WriteResult::Refused { reason: message } => {
                say(format_args!("error: could not {}\n  {message}", write.mutation));
                failed += 1;
            }
            WriteResult::Skipped | WriteResult::Held => failed += 1,
            _ => done += 1,
        }
    }
    out.flush()?;
    say(format_args!("{done} of {} carried out", carried.len()));
    Ok(failed == 0)
}
