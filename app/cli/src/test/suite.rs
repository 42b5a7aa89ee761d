//! `switchboard test DIR`: runs every case of a directory, several at a time.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use switchboard_runtime::cases::suite::{self, SuiteOptions};

use crate::explain::{OutputFormat, print};
use crate::failure::CommandError;
use crate::flag_duration;
use crate::gather::name_key::NameKeyArg;
use crate::own_operators::families;
use crate::progress::ProgressLine;

/// Maximum number of runs of a case.
const MAX_REPEAT: u32 = 10_000;

/// Flags for running the cases.
#[derive(Args)]
pub struct SuiteArgs {
    /// Compare bytes instead of meaning
    #[arg(long)]
    strict: bool,
    /// Run each case N times; a run that differs from the first fails the case
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_REPEAT)))]
    repeat: u32,
    /// Also test native operators under every fault, starting from the input of the case
    #[arg(long)]
    fault_test: bool,
    /// Number of cases that run at the same time
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
    /// Timeout of a run
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = flag_duration::parse)]
    timeout: Duration,
    /// Run operators without a sandbox, with network access and the permissions of this user
    #[arg(long)]
    no_sandbox: bool,
    /// Directory to keep the output of the operators in, one folder for each case
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Metadata key for object names that native operators write; both keys are accepted on input
    #[arg(long, value_name = "KEY", default_value = "name")]
    name_key: NameKeyArg,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
}

impl SuiteArgs {
    fn options(&self) -> SuiteOptions {
        SuiteOptions {
            families: families(),
            strict: self.strict,
            repeat: self.repeat,
            fault_test: self.fault_test,
            jobs: self.jobs,
            timeout: self.timeout,
            sandbox: !self.no_sandbox,
            output_dir: self.output_dir.clone(),
            name_key: self.name_key.as_str(),
        }
    }
}

/// Runs the cases and prints the report. Returns whether all passed.
pub fn run(directory: &Path, flags: &SuiteArgs) -> Result<bool, CommandError> {
    // A bar on a terminal, lines elsewhere. The report lists the results.
    let line = Mutex::new(ProgressLine::begin());
    let on_progress = |done: usize, all: usize| {
        line.lock().unwrap_or_else(PoisonError::into_inner).count("cases", done, all);
    };
    let report = suite::run(directory, &flags.options(), &on_progress);
    line.into_inner().unwrap_or_else(PoisonError::into_inner).end();
    let report = report?;
    print(&report, flags.output)?;
    Ok(report.passed())
}
