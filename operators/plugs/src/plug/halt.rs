//! Early ends of a run for a plug.

use switchboard_kernel::operator::DecideError;

use crate::coupling::PlugState;
use crate::render::ComputeError;

/// Reason to end a run early.
#[derive(Clone, Debug)]
pub(crate) enum Halt {
    /// Objects are not cached yet: nothing is written.
    Decide(DecideError),
    /// The plug has this state, and the writes so far are carried out.
    At(PlugState, Continuation),
}

/// Condition for the next run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Continuation {
    /// A change of other objects triggers the unit.
    Waiting(String),
    /// The user must act.
    Blocked(String),
    /// The run is retried with backoff.
    Retry(String),
    /// The writes of this run trigger the next one.
    NextRun,
}

impl Halt {
    /// Converts an error to a halt with a state.
    pub fn of(error: ComputeError, state: impl FnOnce(String) -> PlugState) -> Self {
        match error {
            ComputeError::Decide(stop) => Halt::Decide(stop),
            ComputeError::Missing(words) => Halt::At(state(words.clone()), Continuation::Waiting(words)),
            ComputeError::Invalid(words) => Halt::At(state(words.clone()), Continuation::Blocked(words)),
        }
    }
}

impl From<DecideError> for Halt {
    fn from(stop: DecideError) -> Self {
        Halt::Decide(stop)
    }
}

impl From<ComputeError> for Halt {
    fn from(error: ComputeError) -> Self {
        Halt::of(error, PlugState::Failing)
    }
}
