//! `switchboard gather`: create, prune and apply directories of inputs and mutations.

mod apply;
mod collect;
mod completeness;
mod conversion;
mod declared_inputs;
mod idempotent_writer;
pub mod live_cluster;
pub mod name_key;
mod prune;
pub mod recording;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use switchboard_gather::contract::ContractRules;
use switchboard_runtime::stderr::print_stderr;

use crate::failure::CommandError;

/// Maximum number of problems printed in full; the rest is counted.
const MAX_PROBLEMS_SHOWN: usize = 20;

/// Work with directories of inputs and mutations
#[derive(Args)]
pub struct Gather {
    #[command(subcommand)]
    command: GatherCommand,
}

#[derive(Subcommand)]
enum GatherCommand {
    /// Reduce a dump to the inputs that an operator declares
    Prune(prune::Prune),
    /// Collect the inputs that an operator declares from a live cluster
    Collect(collect::Collect),
    /// Apply a mutation directory to a cluster
    Apply(apply::GatherApply),
}

impl Gather {
    /// Runs the command. Returns whether everything was carried out.
    pub async fn run(self) -> Result<bool, CommandError> {
        match self.command {
            GatherCommand::Prune(prune) => prune.run().map(|()| true),
            GatherCommand::Collect(collect) => collect.run().await.map(|()| true),
            GatherCommand::Apply(apply) => apply.run().await,
        }
    }
}

/// Flag for the rules of multi-operator-manager.
#[derive(Args, Clone, Copy)]
pub struct CompatArgs {
    /// Behave like multi-operator-manager, including its gaps; see docs/reference/gather.md
    #[arg(long)]
    compat: bool,
}

impl CompatArgs {
    /// Returns the selected rules.
    pub fn rules(self) -> ContractRules {
        if self.compat { ContractRules::MultiOperatorManager } else { ContractRules::Native }
    }
}

/// The target directory is not empty.
#[derive(Debug, thiserror::Error)]
#[error("could not write to `{}`: the directory is not empty\nhint: pass a new directory, or empty this one", .0.display())]
struct NotEmptyError(PathBuf);

/// The source path does not exist.
#[derive(Debug, thiserror::Error)]
#[error("could not find `{}`\nhint: pass {} with --from", .0.display(), .1)]
struct NotFoundError(PathBuf, &'static str);

/// Checks that a source exists; a missing path must not count as an empty dump.
fn check_exists(path: &Path, what: &'static str) -> Result<(), NotFoundError> {
    if path.exists() { Ok(()) } else { Err(NotFoundError(path.into(), what)) }
}

/// Checks that a target is empty; other files in it would be read as input later.
fn check_empty(path: &Path) -> Result<(), CommandError> {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().map_or(Ok(()), |_| Err(NotEmptyError(path.into()).into())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Prints problems as warnings.
fn warn(problems: impl IntoIterator<Item = String>) {
    let problems: Vec<String> = problems.into_iter().collect();
    problems.iter().take(MAX_PROBLEMS_SHOWN).for_each(|problem| print_stderr(format_args!("warning: {problem}")));
    if let Some(more) = problems.len().checked_sub(MAX_PROBLEMS_SHOWN).filter(|more| *more > 0) {
        print_stderr(format_args!("warning: and {more} more"));
    }
}

/// Formats a problem with its file and line.
fn problem_line(problem: &switchboard_gather::ReadProblem) -> String {
    match problem.line {
        Some(line) => format!("{}:{line}: {}", problem.file, problem.message),
        None => format!("{}: {}", problem.file, problem.message),
    }
}
