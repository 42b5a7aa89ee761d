//! Runs that the kernel abandoned: their recorded messages are the kernel's, not the operator's.

use std::time::Duration;

use crate::decision::{Decision, RunOutcome};

const TIMED_OUT: &str = "did not decide within ";
const HUNG: &str = " do not come to an end";

/// Returns the error message of a run that exceeded its timeout.
pub(crate) fn timeout_message(timeout: Duration) -> String {
    format!("{TIMED_OUT}{timeout:?}")
}

/// Returns the error message of an operator with too many hung runs.
pub(crate) fn hung_message(hanging: usize, operator: impl std::fmt::Display) -> String {
    format!("{hanging} runs of {operator}{HUNG}")
}

/// Returns the reason if the kernel abandoned this run. Such a run has no recorded reads, so a failure after reads is
/// none.
pub(crate) fn abandoned_reason(decision: &Decision) -> Option<&str> {
    let RunOutcome::Failed { message } = &decision.outcome else { return None };
    let unread = decision.gets.is_empty() && decision.lists.is_empty() && decision.external_queries.is_empty();
    let of_ours = message.starts_with(TIMED_OUT) || message.ends_with(HUNG);
    (unread && of_ours).then_some(message)
}
