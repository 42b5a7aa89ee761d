//! `switchboard test`: declarative test cases of operators.

mod apply_configuration;
mod suite;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::failure::CommandError;

/// Run the test cases of a directory
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct TestArgs {
    #[command(subcommand)]
    command: Option<TestCommand>,
    /// Directory with the cases; each is a directory with a test.yaml
    #[arg(value_name = "DIR", required = true)]
    directory: Option<PathBuf>,
    #[command(flatten)]
    options: suite::SuiteArgs,
}

#[derive(Subcommand)]
enum TestCommand {
    /// Run tests like `multi-operator-manager test apply-configuration`, as a replacement
    ApplyConfiguration(apply_configuration::ApplyConfigurationTest),
}

impl TestArgs {
    /// Prints the report. Returns whether every case passed.
    pub async fn run(self) -> Result<bool, CommandError> {
        // Programs block, so they run outside the runtime's threads.
        tokio::task::spawn_blocking(move || match (self.command, self.directory) {
            (Some(TestCommand::ApplyConfiguration(command)), _) => command.run(),
            (None, directory) => suite::run(&directory.unwrap_or_default(), &self.options),
        })
        .await?
    }
}
