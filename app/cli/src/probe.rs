//! `switchboard probe`: an operator under every fault of a schedule, on the embedded cluster.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use clap::builder::PossibleValuesParser;
use switchboard_probe::{Case, CaseError, Fault, Report};

use crate::explain::{Form, print};
use crate::failure::Failure;
use crate::operators;
use crate::progress::ProgressLine;

/// Tries an operator under crashes, stale views, missed events and lost answers.
#[derive(Args)]
pub struct Probe {
    /// Which operator
    #[arg(value_name = "OPERATOR", value_parser = PossibleValuesParser::new(operators::names()))]
    operator: String,
    /// What there is at the beginning, and what a user then does
    #[arg(long, value_name = "FILE")]
    case: PathBuf,
    /// Only this fault, as a failure names it
    #[arg(long, value_name = "FAULT")]
    fault: Option<Fault>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

/// Why a case could not be taken.
#[derive(Debug, thiserror::Error)]
enum CaseFileError {
    #[error("could not read the case `{}`", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("could not understand the case `{}`\nhint: a case has `operator`, `given` and `script`; examples/greeter/probe.yaml is one", path.display())]
    Understand { path: PathBuf, source: CaseError },
    #[error("the case `{}` is for the operator `{wanted}`, not for `{given}`\nhint: switchboard probe {wanted} --case {}", path.display(), path.display())]
    Other { path: PathBuf, wanted: String, given: String },
}

impl Probe {
    /// Prints the report. True when the operator bore every fault.
    pub async fn run(self) -> Result<bool, Failure> {
        let case = self.read()?;
        let output = self.output;
        // The runs have threads and a clock of their own, and block.
        let report = tokio::task::spawn_blocking(move || self.probe(case)).await?;
        print(&report, output)?;
        Ok(report.is_ok())
    }

    fn read(&self) -> Result<Case, CaseFileError> {
        let path = self.case.clone();
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|source| CaseFileError::Read { path: path.clone(), source })?;
        let case = Case::read(&text).map_err(|source| CaseFileError::Understand { path: path.clone(), source })?;
        if !case.operator.is_empty() && case.operator != self.operator {
            return Err(CaseFileError::Other { path, wanted: case.operator, given: self.operator.clone() });
        }
        Ok(case)
    }

    fn probe(self, case: Case) -> Report {
        let name = self.operator;
        let factory = move || operators::operator(&name).expect("the command line takes known operators only");
        let line = Arc::new(Mutex::new(Some(ProgressLine::begin())));
        let shown = line.clone();
        let probe = switchboard_probe::Probe::of(factory).case(case).read_from(&self.case);
        let probe = match self.fault {
            Some(fault) => probe.only([fault]),
            None => probe,
        };
        let probe = probe.on_progress(move |done, all| {
            if let Some(line) = shown.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                line.count("probing", done, all);
            }
        });
        let report = probe.run();
        if let Some(line) = line.lock().unwrap_or_else(PoisonError::into_inner).take() {
            line.end();
        }
        report
    }
}
