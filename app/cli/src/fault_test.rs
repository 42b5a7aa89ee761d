//! `switchboard fault-test`: runs an operator under every fault of a schedule, on an embedded cluster.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use switchboard_probe::{CaseError, Fault, ProbeCase, ProbeReport};

use crate::explain::{OutputFormat, print};
use crate::failure::CommandError;
use crate::operator_name;
use crate::own_operators::families;
use crate::progress::ProgressLine;

/// Test an operator under crashes, stale reads, missed events and lost responses
#[derive(Args)]
pub struct FaultTestCommand {
    /// Operator name
    #[arg(value_name = "OPERATOR", value_parser = operator_name::name_parser())]
    operator: String,
    /// Case file: initial objects and the changes a user makes
    #[arg(long, value_name = "FILE")]
    case: PathBuf,
    /// Run only this fault, as named in a failure
    #[arg(long, value_name = "FAULT")]
    fault: Option<Fault>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
}

/// Error of a case file.
#[derive(Debug, thiserror::Error)]
enum CaseFileError {
    #[error("could not read the case `{}`", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("could not parse the case `{}`\nhint: a case has `operator`, `given` and `script`", path.display())]
    Understand { path: PathBuf, source: CaseError },
    #[error("the case `{}` is for the operator `{wanted}`, not for `{given}`\nhint: run `switchboard fault-test {wanted} --case {}`", path.display(), path.display())]
    Other { path: PathBuf, wanted: String, given: String },
}

impl FaultTestCommand {
    /// Prints the report. Returns whether the operator passed every fault.
    pub async fn run(self) -> Result<bool, CommandError> {
        let case = self.read()?;
        let output = self.output;
        // The runs use their own threads and clock, and block.
        let report = tokio::task::spawn_blocking(move || self.probe(case)).await?;
        print(&report, output)?;
        Ok(report.is_ok())
    }

    fn read(&self) -> Result<ProbeCase, CaseFileError> {
        let path = self.case.clone();
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|source| CaseFileError::Read { path: path.clone(), source })?;
        let case = ProbeCase::read(&text).map_err(|source| CaseFileError::Understand { path: path.clone(), source })?;
        if !case.operator.is_empty() && case.operator != self.operator {
            return Err(CaseFileError::Other { path, wanted: case.operator, given: self.operator.clone() });
        }
        Ok(case)
    }

    fn probe(self, case: ProbeCase) -> ProbeReport {
        let name = self.operator;
        let factory = move || families().operator(&name).expect("the command line takes known operators only");
        let line = Arc::new(Mutex::new(Some(ProgressLine::begin())));
        let shown = line.clone();
        let probe = switchboard_probe::Probe::of(factory).case(case).read_from(&self.case);
        let probe = match self.fault {
            Some(fault) => probe.only([fault]),
            None => probe,
        };
        let probe = probe.on_progress(move |done, all| {
            if let Some(line) = shown.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                line.count("faults", done, all);
            }
        });
        let report = probe.run();
        if let Some(line) = line.lock().unwrap_or_else(PoisonError::into_inner).take() {
            line.end();
        }
        report
    }
}
