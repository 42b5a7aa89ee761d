//! `switchboard integrations list`.

use std::process::ExitCode;

use clap::Args;
use switchboard_runtime::integrations::bundle_source;

use super::{BuildArgs, report_problems};
use crate::explain::{OutputFormat, print};
use crate::failure::CommandError;

/// List the shards of integrations with their clusters and overrides
#[derive(Args)]
pub struct IntegrationsList {
    /// Data: a directory, a bundle, or a commit as git:REV[:FOLDER]
    #[arg(long, value_name = "DIR|BUNDLE")]
    from: String,
    #[command(flatten)]
    what: BuildArgs,
    /// Text that the names of listed integrations contain
    #[arg(long, value_name = "TEXT")]
    integration: Option<String>,
    /// List only shards with overrides
    #[arg(long)]
    different: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
}

impl IntegrationsList {
    /// Prints the table.
    pub fn run(self) -> Result<ExitCode, CommandError> {
        let bundle = bundle_source::read(&self.from)?;
        self.what.check(&[&bundle])?;
        let desired = self.what.builder()?.build(&bundle);
        let mut workloads = switchboard_integrations::workload_list::WorkloadList::from_desired(&desired);
        if let Some(text) = &self.integration {
            workloads.only(text);
        }
        if self.different {
            workloads.only_different();
        }
        print(&workloads, self.output)?;
        Ok(if report_problems(&desired) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
