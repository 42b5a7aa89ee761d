//! A native operator in the multi-operator contract: declared as resource lists, run once over a directory.
//!
//! ```text
//! Declaration ─▶ input-resources, output-resources
//! directory ─▶ view ─▶ Operator::decide, for each unit ─▶ plan ─▶ mutations, controller results
//! ```
//!
//! An operator is one controller here, of its own name; its units are what it does in one run. Nothing is squashed, ordered or
//! left out: as in the original, the directory says what was wanted, and who carries it out decides the rest.

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

/// What a panic's message begins with once it is caught.
const PANICKED: &str = "panicked: ";

/// How an operator is run once.
#[derive(Clone, Debug)]
pub struct RunOnceOptions {
    /// The time it is told.
    pub now: Timestamp,
    /// Which controllers run.
    pub controllers: ControllerSelection,
    /// Whether it may reach outside: `apply-configuration-live`.
    pub live: bool,
}

/// What a run wants, and how it went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOutput {
    /// In the order the units named them; what is not declared is at no place.
    pub mutations: Vec<Mutation>,
    /// How the controller did.
    pub results: ControllerResults,
}

/// Why an operator cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NativeRunError {
    /// A controller is asked for that there is none of.
    #[error("could not choose the controllers")]
    Controllers(#[source] UnknownController),
    /// The directory has what it reads in another version.
    #[error("could not read the operator's input")]
    Input(#[source] MustGatherError),
}

/// Lets every unit of an operator decide on a directory.
///
/// # Errors
/// When the controllers are not known or the input cannot be read. That an operator fails is in the results.
pub fn run_once(operator: &dyn Operator, input: MustGather, how: &RunOnceOptions) -> Result<RunOutput, NativeRunError> {
    run(operator, input, None, how)
}

/// The same with the user workload cluster as it is now in the place of what the directory says of it.
///
/// # Errors
/// As [`run_once`].
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
            // What cannot be listed has no units: the directory answers every list.
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
