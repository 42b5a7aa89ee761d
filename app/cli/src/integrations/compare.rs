//! `switchboard integrations diff`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use switchboard_integrations::diff::Report;

use super::{What, from};
use crate::DIFFERS;
use crate::explain::{self, print};
use crate::failure::Failure;

/// How a report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For a pull request
    #[default]
    #[value(alias = "table")]
    Markdown,
    /// For programs
    Json,
    /// For programs and people
    Yaml,
}

/// Tells what changes.
#[derive(Args)]
pub struct Diff {
    /// What is: a directory, a bundle, or a commit as git:REV[:FOLDER]
    #[arg(long, value_name = "DIR|BUNDLE|COMMIT")]
    from: String,
    /// What is to be
    #[arg(long, value_name = "DIR|BUNDLE|COMMIT")]
    to: String,
    #[command(flatten)]
    what: What,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

impl Diff {
    /// Prints the report.
    pub fn run(self) -> Result<ExitCode, Failure> {
        let mut builder = self.what.builder()?;
        let (before, after) = (from::read(&self.from)?, from::read(&self.to)?);
        // One of them is enough: an environment may be new.
        self.what.check(&[&before, &after])?;
        let (before, after) = (builder.build(&before), builder.build(&after));
        let report = Report::of(&before, &after);
        let form = match self.output {
            Form::Markdown => explain::Form::Table,
            Form::Json => explain::Form::Json,
            Form::Yaml => explain::Form::Yaml,
        };
        print(&report, form)?;
        Ok(match (report.changes(), report.new_problems.is_empty()) {
            (true, _) => ExitCode::from(DIFFERS),
            (false, true) => ExitCode::SUCCESS,
            (false, false) => ExitCode::FAILURE,
        })
    }
}
