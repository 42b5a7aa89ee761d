//! Why the work on a plug goes no further in this run.

use switchboard_kernel::operator::Stop;

use crate::coupling::Stand;
use crate::render::Trouble;

/// Where the work stops.
#[derive(Clone, Debug)]
pub(crate) enum Halt {
    /// Not all was read yet: nothing is written either.
    Stop(Stop),
    /// The plug stands so. What was planned before is carried out.
    Here(Stand, Onward),
}

/// What has to happen before it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Onward {
    /// Something else, which is noticed.
    Waits(String),
    /// A person must act.
    Blocked(String),
    /// It is tried again by and by.
    Retries(String),
    /// The next run, which the writes of this one bring about.
    NextRun,
}

impl Halt {
    /// Something must be changed, or come.
    pub fn of(trouble: Trouble, stand: impl FnOnce(String) -> Stand) -> Self {
        match trouble {
            Trouble::Stop(stop) => Halt::Stop(stop),
            Trouble::Missing(words) => Halt::Here(stand(words.clone()), Onward::Waits(words)),
            Trouble::Wrong(words) => Halt::Here(stand(words.clone()), Onward::Blocked(words)),
        }
    }
}

impl From<Stop> for Halt {
    fn from(stop: Stop) -> Self {
        Halt::Stop(stop)
    }
}

impl From<Trouble> for Halt {
    fn from(trouble: Trouble) -> Self {
        Halt::of(trouble, Stand::Failing)
    }
}
