//! `switchboard gather apply`.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use switchboard_gather::mutation::{Action, Mutation, MutationDirectory, OutputCluster as Folder, read_directory};
use switchboard_kernel::applier::{ExecutedWrite, KubeWriter, execute};
use switchboard_kernel::arbiter::{Arbiter, ArbiterInput, ArbiterResult};
use switchboard_kernel::decision::{DecisionId, WriteResult};
use switchboard_kernel::fake_view::FakeView;
use switchboard_kernel::operator::{AccessRule, Declaration, OperatorName, Unit, UnitId, Units};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::topology::{ClusterName, Topology};
use switchboard_kernel::view::Reads;
use switchboard_runtime::stderr::print_stderr;

use super::idempotent_writer::IdempotentWriter;
use super::live_cluster::LiveCluster;
use super::{MAX_PROBLEMS_SHOWN, check_exists, completeness, conversion, problem_line, warn};
use crate::cluster_args::ClusterArgs;
use crate::failure::CommandError;

/// Field manager for mutations that name none.
const MANAGER: &str = "switchboard-gather";

/// Apply a mutation directory to a cluster: namespaces first, status late, deletions last
#[derive(Args)]
pub struct GatherApply {
    /// Mutation directory
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// Apply only mutations for these clusters
    #[arg(long, value_name = "CLUSTER", value_delimiter = ',')]
    only: Vec<TargetCluster>,
    /// Send the requests as a dry run; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Also apply incomplete output: without controller-results.yaml, or written by controllers that panicked
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    cluster_args: ClusterArgs,
}

/// Cluster type that a mutation targets.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TargetCluster {
    Configuration,
    Management,
    UserWorkload,
}

/// The directory has mutations that cannot be applied.
#[derive(Debug, thiserror::Error)]
#[error("could not apply the directory; nothing was written\n  {}", problem_list(.0))]
struct InvalidMutations(Vec<String>);

fn problem_list(problems: &[String]) -> String {
    let more = problems.len().saturating_sub(MAX_PROBLEMS_SHOWN);
    let rest = (more > 0).then(|| format!("and {more} more"));
    let first = problems.iter().take(MAX_PROBLEMS_SHOWN).cloned();
    first.chain(rest).collect::<Vec<_>>().join("\n  ")
}

/// The directory is not the output of an operator.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is not a mutation directory\nhint: pass the --output-dir of an operator with --from", .0.display())]
struct NotAMutationDirectory(PathBuf);

impl GatherApply {
    /// Applies the directory. Returns whether every mutation was carried out.
    pub async fn run(self) -> Result<bool, CommandError> {
        check_exists(&self.from, "the --output-dir of an operator")?;
        let directory = read_directory(&self.from)?;
        // Output without mutations still has the results of its controllers.
        if directory.mutations.is_empty() && directory.results.is_none() && !directory.ordered {
            return Err(NotAMutationDirectory(self.from).into());
        }
        if !directory.problems.is_empty() {
            return Err(InvalidMutations(directory.problems.iter().map(problem_line).collect()).into());
        }
        let directory = if self.partial { directory } else { completeness::check(directory)? };
        let chosen = self.selected(directory);
        warn(replace_conflicts(&chosen));
        let live = LiveCluster::connect(&self.cluster_args.access()).await?;
        let judged = order_mutations(&chosen, &live)?;
        let cluster = ClusterName::new(MANAGER);
        let writer = IdempotentWriter(KubeWriter::new(BTreeMap::from([(cluster, live.client)])));
        let carried = execute(&writer, judged.writes, None, MANAGER, self.dry_run).await;
        report(&carried)
    }

    /// Selects the mutations to apply. Undeclared mutations are left out, unless the directory has no cluster folders
    /// at all.
    fn selected(&self, directory: MutationDirectory) -> Vec<Mutation> {
        let undeclared = self.from.join(Folder::Unspecified.to_string()).is_dir();
        let in_scope = |mutation: &Mutation| match mutation.cluster {
            Folder::Unspecified => !undeclared && self.only.is_empty(),
            Folder::Configuration => self.is_selected(TargetCluster::Configuration),
            Folder::Management => self.is_selected(TargetCluster::Management),
            Folder::UserWorkload => self.is_selected(TargetCluster::UserWorkload),
        };
        let (chosen, left): (Vec<_>, Vec<_>) = directory.mutations.into_iter().partition(in_scope);
        let left = left.iter().filter(|mutation| mutation.cluster == Folder::Unspecified);
        warn(left.map(|mutation| format!("{mutation} is not declared and is skipped")));
        // Without an index the order of the requests is unknown; the arbiter orders the mutations.
        chosen
    }

    fn is_selected(&self, cluster: TargetCluster) -> bool {
        self.only.is_empty() || self.only.contains(&cluster)
    }
}

/// Returns warnings for objects that several controllers replace: each started from the same object, so the last one
/// undoes the others.
fn replace_conflicts(mutations: &[Mutation]) -> Vec<String> {
    let mut writers: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for mutation in mutations.iter().filter(|m| matches!(m.action, Action::Update | Action::UpdateStatus)) {
        writers.entry(mutation.to_string()).or_default().insert(&mutation.controller_instance_name);
    }
    let several = writers.into_iter().filter(|(_, writers)| writers.len() > 1);
    several
        .map(|(what, writers)| {
            format!("{what} is replaced by several controllers: {}", writers.into_iter().collect::<Vec<_>>().join(", "))
        })
        .collect()
}

/// Checks and orders the mutations with the kernel's arbiter.
fn order_mutations(mutations: &[Mutation], live: &LiveCluster) -> Result<ArbiterResult, CommandError> {
    let (mut plan, mut unfit) = (Plan::nothing(), Vec::new());
    for mutation in mutations {
        if mutation.is_dry_run() {
            warn([format!("{mutation} was a dry run and is skipped")]);
            continue;
        }
        match conversion::kernel_mutation(mutation, &live.discovery) {
            Ok(planned) => drop(plan.push(planned)),
            Err(why) => unfit.push(format!("{mutation}: {why}")),
        }
    }
    let outputs = plan.mutations.iter().map(|m| AccessRule::every(&m.resource).on(m.cluster_type)).collect();
    let declaration = Declaration { inputs: BTreeSet::new(), outputs, service_account: None, units: Units::Whole };
    let judging = ArbiterInput {
        unit: &UnitId { operator: OperatorName::new(MANAGER), unit: Unit::Whole },
        declaration: &declaration,
        topology: &Topology::standalone(&ClusterName::new(MANAGER)),
        decision: DecisionId(fingerprint(mutations)),
        mutations: plan.mutations,
        ordered: false,
        reads: &Reads::default(),
        reader: &FakeView::default(),
    };
    let judged = Arbiter::default().arbitrate(judging);
    unfit.extend(judged.refused.iter().map(|write| match &write.result {
        WriteResult::Refused { reason } => reason.clone(),
        _ => format!("{} is refused", write.mutation),
    }));
    if unfit.is_empty() { Ok(judged) } else { Err(InvalidMutations(unfit).into()) }
}

/// Returns a hash that seeds generated names, so that applying the same directory twice creates nothing twice.
fn fingerprint(mutations: &[Mutation]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for mutation in mutations {
        hasher.write(mutation.id().as_bytes());
        hasher.write(&mutation.body);
    }
    hasher.finish()
}

fn report(carried: &[ExecutedWrite]) -> Result<bool, CommandError> {
    let mut out = std::io::stdout().lock();
    let (mut done, mut failed) = (0, 0);
    for ExecutedWrite { write, .. } in carried {
        let state = match &write.result {
            WriteResult::Written { .. } => "written",
            WriteResult::Unchanged => "unchanged",
            WriteResult::DryRun => "would be written",
            WriteResult::Skipped | WriteResult::OverBudget => "skipped",
            WriteResult::Stale { .. }
            | WriteResult::Failed { .. }
            | WriteResult::EventRejected { .. }
            | WriteResult::Refused { .. } => "failed",
        };
        writeln!(out, "{state}\t{}", write.mutation)?;
        match &write.result {
            WriteResult::Stale { message }
            | WriteResult::Failed { message }
            | WriteResult::EventRejected { message }
            | WriteResult::Refused { reason: message } => {
                print_stderr(format_args!("error: could not {}\n  {message}", write.mutation));
                failed += 1;
            }
            WriteResult::Skipped | WriteResult::OverBudget => failed += 1,
            _ => done += 1,
        }
    }
    out.flush()?;
    print_stderr(format_args!("applied {done} of {} mutations", carried.len()));
    Ok(failed == 0)
}
