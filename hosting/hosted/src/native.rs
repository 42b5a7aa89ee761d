//! Native operators as programs of the multi-operator contract: declared as resource lists, and run once over a
//! directory.
//!
//! ```text
//! Declaration ─▶ input-resources, output-resources
//! directory ─▶ view ─▶ Operator::decide, for each unit ─▶ plan ─▶ mutations, controller results
//! ```
//!
//! An operator is a single controller with the operator's name, and all its units run. Mutations are neither merged nor
//! ordered nor filtered: as in multi-operator-manager, the directory contains the requested writes, and the tool that
//! applies them decides the rest.

mod controllers;
mod must_gather_reader;
mod mutation;
mod resource_lists;

use std::sync::Arc;

use switchboard_gather::contract::{ControllerError, ControllerResult, ControllerResults, ControllerStatus};
use switchboard_gather::must_gather::{MustGather, MustGatherError};
use switchboard_gather::mutation::Mutation;

use switchboard_kernel::core::decide_catching_panics;
use switchboard_kernel::operator::{DecideError, Operator, Unit, Units};
use switchboard_kernel::timestamp::Timestamp;
use switchboard_kernel::view::{Reader, View};

pub use controllers::{ControllerSelection, UnknownController};
pub use resource_lists::{input_resources, output_resources};

use must_gather_reader::MustGatherReader;

/// Prefix of the message of a caught panic.
const PANICKED: &str = "panicked: ";

/// Options of a single run.
#[derive(Clone, Debug)]
pub struct RunOnceOptions {
    /// Time of the run.
    pub now: Timestamp,
    /// Controllers to run.
    pub controllers: ControllerSelection,
    /// Whether external requests are allowed, as in `apply-configuration-live`.
    pub live: bool,
}

/// Output of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutput {
    /// Mutations in the order of the units. Undeclared ones have no cluster type.
    pub mutations: Vec<Mutation>,
    /// Result of the controller.
    pub results: ControllerResults,
}

/// Error of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NativeRunError {
    /// A selected controller does not exist.
    #[error("could not choose the controllers")]
    Controllers(#[source] UnknownController),
    /// The input is invalid or has another version.
    #[error("could not read the operator's input")]
    Input(#[source] MustGatherError),
}

/// Runs every unit of an operator over a directory.
///
/// # Errors
/// If a controller is unknown or the input is invalid. A failure of the operator is part of the results.
pub fn run_once(operator: &dyn Operator, input: MustGather, how: &RunOnceOptions) -> Result<RunOutput, NativeRunError> {
    run(operator, input, None, how)
}

/// Runs every unit, reading the user workload cluster from `workload` instead of the directory.
///
/// # Errors
/// Same as [`run_once`].
pub fn run_with_workload(
    operator: &dyn Operator,
    input: MustGather,
    workload: MustGather,
    how: &RunOnceOptions,
) -> Result<RunOutput, NativeRunError> {
    run(operator, input, Some(workload), how)
}

fn run(
    operator: &dyn Operator,
    input: MustGather,
    workload: Option<MustGather>,
    how: &RunOnceOptions,
) -> Result<RunOutput, NativeRunError> {
    let declaration = operator.declaration();
    let enabled = how.controllers.enabled(&[operator.name()]).map_err(NativeRunError::Controllers)?;
    let mut result = ControllerResult {
        controller_name: operator.name().to_string(),
        status: ControllerStatus::Skipped,
        ..ControllerResult::default()
    };
    let mut ran = RunOutput::default();
    if !enabled.is_empty() {
        let readable = Arc::new(declaration.readable());
        let directory = MustGatherReader::of(input, workload, &readable, how.live).map_err(NativeRunError::Input)?;
        let topology = Arc::new(directory.topology());
        let picture: Arc<dyn Reader> = Arc::new(directory);
        let view = || View::new(picture.clone(), topology.clone(), readable.clone(), how.now);
        result.status = ControllerStatus::Succeeded;
        for unit in units(&declaration.units, &view()) {
            let view = view();
            let wanted = decide_catching_panics(operator, &unit, &view).and_then(|plan| {
                let made = plan
                    .mutations
                    .iter()
                    .map(|wanted| mutation::to_contract(wanted, operator.name(), &declaration, &view));
                made.collect::<Result<Vec<_>, _>>().map_err(DecideError::failed)
            });
            match wanted {
                Ok(mutations) => ran.mutations.extend(mutations),
                Err(stop) => record_failure(&mut result, &unit, &stop),
            }
        }
    }
    ran.results.controller_results.push(result);
    Ok(ran)
}

fn units(units: &Units, view: &View) -> Vec<Unit> {
    match units {
        Units::Whole => vec![Unit::Whole],
        Units::External(units) => units.iter().cloned().collect(),
        Units::Each { cluster_type: place, resource, selection } => {
            // A list never fails here: the directory answers every list.
            let found = view.on(*place).list(resource, selection).unwrap_or_default();
            found.iter().map(|object| Unit::object(&object.key.namespace, &object.key.name)).collect()
        }
    }
}

fn record_failure(result: &mut ControllerResult, unit: &Unit, stop: &DecideError) {
    let text = stop.to_string();
    let about = |message: &str| match unit {
        Unit::Whole => message.to_string(),
        Unit::Object { .. } => format!("{unit}: {message}"),
    };
    match text.strip_prefix(PANICKED) {
        Some(message) => {
            result.status = ControllerStatus::Panicked;
            result.panic_stack = about(message);
        }
        None => {
            if result.status != ControllerStatus::Panicked {
                result.status = ControllerStatus::Failed;
            }
            result.errors.push(ControllerError { message: about(&text) });
        }
    }
}

#[cfg(test)]
mod tests;
