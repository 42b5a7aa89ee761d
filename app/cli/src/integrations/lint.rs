//! `switchboard integrations lint`.

use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use switchboard_integrations::lint::{LintFinding, Severity, lint};
use switchboard_runtime::count::counted;
use switchboard_runtime::integrations::{bundle_source, meta};
use switchboard_runtime::stderr::print_stderr;

use crate::failure::CommandError;
use crate::output_format::{OutputFormat, print};

/// Check the data and print problems
#[derive(Args)]
pub struct IntegrationsLint {
    /// Data: a directory, a bundle, the URL of a qontract-server, or a commit as git:REV[:FOLDER]
    #[arg(long, value_name = "DIR|BUNDLE|URL")]
    from: String,
    /// File with options of integrations outside qontract-reconcile: JSON, lists of options by name
    #[arg(long, value_name = "FILE")]
    options: Option<PathBuf>,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
}

/// All findings.
#[derive(Serialize)]
#[serde(transparent)]
struct LintReport(Vec<LintFinding>);

impl fmt::Display for LintReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}

impl IntegrationsLint {
    /// Prints the findings to stdout and their number to stderr.
    pub fn run(self) -> Result<ExitCode, CommandError> {
        let report = LintReport(lint(&bundle_source::read(&self.from)?, &meta(self.options.as_deref())?));
        print(&report, self.output)?;
        let errors = report.0.iter().filter(|finding| finding.severity == Severity::Error).count();
        let warnings = report.0.len() - errors;
        print_stderr(format_args!("{}, {}", counted(errors, "error"), counted(warnings, "warning")));
        let failed = errors > 0 || (self.strict && warnings > 0);
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}
