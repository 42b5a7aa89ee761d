//! `switchboard gather`: directories of inputs and mutations, made, cut down and carried out.

mod apply;
mod carry;
mod collect;
mod declared;
pub mod live;
pub mod name_key;
mod prune;
pub mod recording;
mod resumed;
mod whole;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use switchboard_gather::contract::Rules;

use crate::failure::Failure;
use crate::talk::say;

/// How many problems are shown before only their number is.
const MAX_PROBLEMS_SHOWN: usize = 20;

/// Works on directories of inputs and mutations.
#[derive(Args)]
pub struct Gather {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Cuts a dump down to the inputs an operator declares.
    Prune(prune::Prune),
    /// Gathers the inputs an operator declares from a live cluster.
    Collect(collect::Collect),
    /// Carries a mutation directory out against a cluster.
    Apply(apply::Apply),
}

impl Gather {
    /// Runs the command. False when something was not carried out.
    pub async fn run(self) -> Result<bool, Failure> {
        match self.command {
            Command::Prune(prune) => prune.run().map(|()| true),
            Command::Collect(collect) => collect.run().await.map(|()| true),
            Command::Apply(apply) => apply.run().await,
        }
    }
}

/// Whose rules count where ours deviate.
#[derive(Args, Clone, Copy)]
pub struct Compat {
    /// Behave as multi-operator-manager does, gaps included; docs/GATHER.md lists them
    #[arg(long)]
    compat: bool,
}

impl Compat {
    /// The rules asked for.
    pub fn rules(self) -> Rules {
        if self.compat { Rules::Original } else { Rules::Native }
    }
}

/// A target that holds something already.
#[derive(Debug, thiserror::Error)]
#[error("could not write into `{}`: it is not empty\nhint: give a fresh directory, or empty this one", .0.display())]
struct NotEmpty(PathBuf);

/// Nothing where something is to be read.
#[derive(Debug, thiserror::Error)]
#[error("there is no `{}`\nhint: --from takes {}", .0.display(), .1)]
struct Missing(PathBuf, &'static str);

/// What is to be read must be there; an empty place is not taken for an empty dump.
fn present(path: &Path, what: &'static str) -> Result<(), Missing> {
    if path.exists() { Ok(()) } else { Err(Missing(path.into(), what)) }
}

/// A target must be ours: what else stands in it would be taken for input.
fn fresh(path: &Path) -> Result<(), Failure> {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().map_or(Ok(()), |_| Err(NotEmpty(path.into()).into())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Says what is not as it should be and does not end the work.
fn warn(problems: impl IntoIterator<Item = String>) {
    let problems: Vec<String> = problems.into_iter().collect();
    problems.iter().take(MAX_PROBLEMS_SHOWN).for_each(|problem| say(format_args!("warning: {problem}")));
    if let Some(more) = problems.len().checked_sub(MAX_PROBLEMS_SHOWN).filter(|more| *more > 0) {
        say(format_args!("warning: and {more} more"));
    }
}

/// A problem with the file it is in.
fn told(problem: &switchboard_gather::Problem) -> String {
    match problem.line {
        Some(line) => format!("{}:{line}: {}", problem.file, problem.message),
        None => format!("{}: {}", problem.file, problem.message),
    }
}
