//! `switchboard integrations diff`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use switchboard_integrations::diff::DiffReport;
use switchboard_runtime::integrations::bundle_source;

use super::BuildArgs;
use crate::DIFFERS;
use crate::explain::{self, print};
use crate::failure::CommandError;

/// Output format of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    /// Markdown for a pull request
    #[default]
    #[value(alias = "table")]
    Markdown,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

/// Compare two directories, bundles or commits
#[derive(Args)]
pub struct IntegrationsDiff {
    /// Old data: a directory, a bundle, or a commit as git:REV[:FOLDER]
    #[arg(long, value_name = "DIR|BUNDLE|COMMIT")]
    from: String,
    /// New data
    #[arg(long, value_name = "DIR|BUNDLE|COMMIT")]
    to: String,
    #[command(flatten)]
    what: BuildArgs,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: DiffFormat,
}

impl IntegrationsDiff {
    /// Prints the report.
    pub fn run(self) -> Result<ExitCode, CommandError> {
        let mut builder = self.what.builder()?;
        let (before, after) = (bundle_source::read(&self.from)?, bundle_source::read(&self.to)?);
        // One of them is enough: the environment may be new.
        self.what.check(&[&before, &after])?;
        let (before, after) = (builder.build(&before), builder.build(&after));
        let report = DiffReport::compare(&before, &after);
        let form = match self.output {
            DiffFormat::Markdown => explain::OutputFormat::Table,
            DiffFormat::Json => explain::OutputFormat::Json,
            DiffFormat::Yaml => explain::OutputFormat::Yaml,
        };
        print(&report, form)?;
        Ok(match (report.changes(), report.new_problems.is_empty()) {
            (true, _) => ExitCode::from(DIFFERS),
            (false, true) => ExitCode::SUCCESS,
            (false, false) => ExitCode::FAILURE,
        })
    }
}
