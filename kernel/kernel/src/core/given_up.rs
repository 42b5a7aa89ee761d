//! Runs that the kernel gave up: what is recorded of them are its own words, not the operator's.

use std::time::Duration;

use crate::decision::{Decision, Outcome};

const LATE: &str = "did not decide within ";
const STUCK: &str = " do not come to an end";

/// A thread that did not come back in time.
pub(crate) fn late(timeout: Duration) -> String {
    format!("{LATE}{timeout:?}")
}

/// An operator that was not asked any more.
pub(crate) fn stuck(hanging: usize, operator: impl std::fmt::Display) -> String {
    format!("{hanging} runs of {operator}{STUCK}")
}

/// Why a run was given up, for one that was. What it had read is not known, so a failure that follows from reads is none.
pub(crate) fn given_up(decision: &Decision) -> Option<&str> {
    let Outcome::Failed { message } = &decision.outcome else { return None };
    let unread = decision.gets.is_empty() && decision.lists.is_empty() && decision.asked.is_empty();
    let of_ours = message.starts_with(LATE) || message.ends_with(STUCK);
    (unread && of_ours).then_some(message)
}
