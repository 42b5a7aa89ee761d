//! `switchboard integrations lint`.

use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use switchboard_integrations::lint::{Finding, Severity, lint};

use super::{from, meta};
use crate::explain::{Form, print};
use crate::failure::Failure;
use crate::talk::say;

/// Tells what is wrong or questionable in the data.
#[derive(Args)]
pub struct Lint {
    /// A directory, a bundle, the address of a qontract-server, or a commit as git:REV[:FOLDER]
    #[arg(long, value_name = "DIR|BUNDLE|URL")]
    from: String,
    /// Options of integrations that are not qontract-reconcile's: JSON, lists of options by name
    #[arg(long, value_name = "FILE")]
    options: Option<PathBuf>,
    /// What is questionable is wrong as well
    #[arg(long)]
    strict: bool,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// All findings, one after the other.
#[derive(Serialize)]
#[serde(transparent)]
struct Report(Vec<Finding>);

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}

impl Lint {
    /// Prints the findings; their number is talk.
    pub fn run(self) -> Result<ExitCode, Failure> {
        let report = Report(lint(&from::read(&self.from)?, &meta(self.options.as_deref())?));
        print(&report, self.output)?;
        let errors = report.0.iter().filter(|finding| finding.severity == Severity::Error).count();
        let warnings = report.0.len() - errors;
        say(format_args!("{errors} errors, {warnings} warnings"));
        let wrong = errors > 0 || (self.strict && warnings > 0);
        Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
