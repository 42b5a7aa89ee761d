//! Why the work on a plug goes no further in this run.

use switchboard_kernel::operator::DecideError;

use crate::coupling::PlugState;
use crate::render::ComputeError;

/// Where the work stops.
#[derive(Clone, Debug)]
pub(crate) enum Halt {
    /// Not all was read yet: nothing is written either.
    Decide(DecideError),
    /// The plug stands so. What was planned before is carried out.
    At(PlugState, Continuation),
}

/// What has to happen before it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Continuation {
    /// Something else, which is noticed.
    Waiting(String),
    /// A person must act.
    Blocked(String),
    /// It is tried again by and by.
    Retry(String),
    /// The next run, which the writes of this one bring about.
    NextRun,
}

impl Halt {
    /// Something must be changed, or come.
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
