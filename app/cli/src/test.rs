//! `switchboard test`: declarative test cases of operators.

mod attempt;
mod original;
mod program;
mod report;
mod suite;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Runs the test cases of a directory.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Test {
    #[command(subcommand)]
    command: Option<TestCommand>,
    /// Where the cases are; each is a directory with a test.yaml
    #[arg(value_name = "DIR", required = true)]
    directory: Option<PathBuf>,
    #[command(flatten)]
    options: suite::Options,
}

#[derive(Subcommand)]
enum TestCommand {
    /// As `multi-operator-manager test apply-configuration` does it, to be used in its place
    ApplyConfiguration(original::Original),
}

impl Test {
    /// Prints the report. True when every case passed.
    pub async fn run(self) -> Result<bool, Failure> {
        // Programs are waited for on threads.
        tokio::task::spawn_blocking(move || match (self.command, self.directory) {
            (Some(TestCommand::ApplyConfiguration(original)), _) => original.run(),
            (None, directory) => suite::run(&directory.unwrap_or_default(), &self.options),
        })
        .await?
    }
}
