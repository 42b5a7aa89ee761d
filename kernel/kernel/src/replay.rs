//! Replay of recorded decisions.

mod difference;
mod recording;
mod result;

use std::collections::BTreeSet;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::arbiter::{Arbiter, ArbiterInput};
use crate::core::{abandoned_reason, decide_catching_panics, timeout_message};
use crate::decision::{Decision, DecisionId, RunOutcome};
use crate::journal::{Journal, MAX_CONTENTS, RecordedDecision};
use crate::object::Object;
use crate::operator::{DecideError, Operator, is_unrecorded};
use crate::topology::{ClusterName, Topology};
use crate::view::View;

pub use difference::lines;
pub use recording::Recording;
pub use result::ReplayResult;

/// Comparison of a recorded decision with its replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "replay")]
pub enum ReplayComparison {
    /// Both results are equal.
    Same,
    /// The results differ.
    Different {
        /// Redacted recorded result.
        before: ReplayResult,
        /// Redacted result of the replay.
        after: ReplayResult,
        /// Differences, for users.
        lines: Vec<String>,
    },
    /// The decision read Secrets, whose values are not recorded, so the replay used redacted values.
    Redacted {
        /// Redacted objects.
        objects: Vec<String>,
        /// Whether the results are equal as far as known.
        equal: bool,
        /// Differences, for users.
        lines: Vec<String>,
    },
    /// The recorded run or the replay timed out, or a recorded answer has another form than the operator expects, so there
    /// is nothing to compare.
    Undecided {
        /// Run and reason, for users.
        why: String,
    },
    /// The decision read more than is recorded of one decision.
    TooMuch {
        /// Limit, for users.
        why: String,
    },
    /// The decision, or what it read, is not recorded any more.
    Gone,
}

/// Replays a decision. An object in `live` replaces a redacted one in the record if it still has the revision that was
/// read.
///
/// # Caveats
/// An operator that hangs blocks the caller; use [`replay_within`] to avoid that.
pub fn replay(operator: &dyn Operator, journal: &Journal, id: DecisionId, live: &[Object]) -> ReplayComparison {
    replay_by(journal, id, live, |run| run.decide(operator))
}

/// Replays a decision on a thread of its own. After `timeout` the thread is abandoned; it continues until the process
/// ends.
pub fn replay_within(
    operator: Arc<dyn Operator>,
    journal: &Journal,
    id: DecisionId,
    live: &[Object],
    timeout: Duration,
) -> ReplayComparison {
    replay_by(journal, id, live, |run| {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new().name(operator.name().to_string());
        // After a timeout the receiver is dropped.
        let begun = thread.spawn(move || drop(sender.send(run.decide(&*operator))));
        begun.map_err(|error| format!("could not start a thread: {error}"))?;
        receiver.recv_timeout(timeout).map_err(|_| timeout_message(timeout))?
    })
}

fn replay_by(
    journal: &Journal,
    id: DecisionId,
    live: &[Object],
    decide: impl FnOnce(ReplayRun) -> Result<(ReplayResult, Vec<String>), String>,
) -> ReplayComparison {
    let Some(recorded) = journal.recorded(id) else { return ReplayComparison::Gone };
    if recorded.reads.partial {
        return too_many_reads(&recorded).map_or(ReplayComparison::Gone, |why| ReplayComparison::TooMuch { why });
    }
    if let Some(why) = abandoned_reason(&recorded.decision) {
        return ReplayComparison::Undecided { why: format!("recorded run: {why}") };
    }
    let recording = Recording::of(&recorded, live);
    let mut masked: Vec<String> = recording.redacted().map(ToString::to_string).collect();
    if recorded.reads.redacted && recorded.decision.external_queries.iter().any(result::is_redacted) {
        masked.push("an external answer".to_string());
    }
    let topology = Arc::new(recorded.topology.clone().unwrap_or_else(|| standalone(&recorded.decision)));
    let run = ReplayRun { topology, decision: recorded.decision.clone(), recording: Arc::new(recording) };
    let (after, unread) = match decide(run) {
        Ok(decided) => decided,
        Err(why) => return ReplayComparison::Undecided { why: format!("replay: {why}") },
    };
    // Recorded decisions have redacted messages; those of older versions do not.
    let digests = [after.clone(), after.clone().with_redacted_messages()].map(|result| journal.digest(&result));
    if unread.is_empty() && digests.contains(&recorded.digest) {
        return ReplayComparison::Same;
    }
    if matches!(&after, ReplayResult::Failed { message } if is_unrecorded(message)) {
        masked.push("data that is not recorded".to_string());
    }
    let (before, after) =
        (ReplayResult::of(&recorded.decision.unit.operator, &recorded.decision.outcome), after.redacted());
    let mut lines = difference::lines(&before, &after);
    lines.extend(unread.iter().map(|what| format!("the replay also reads {what}")));
    if lines.is_empty() && masked.is_empty() {
        lines.push("a redacted value differs".to_string());
    }
    match masked.is_empty() {
        true => ReplayComparison::Different { before, after, lines },
        false => ReplayComparison::Redacted { objects: masked, equal: lines.is_empty(), lines },
    }
}

/// Returns why the reads of a decision were not recorded completely; `None` if they were, and are damaged.
fn too_many_reads(recorded: &RecordedDecision) -> Option<String> {
    if recorded.reads.trimmed {
        let share = "one sixteenth of `journal.maxBytes`";
        return Some(format!("its reads exceed the maximum size of a recorded decision: {share}"));
    }
    let lists = recorded
        .decision
        .lists
        .iter()
        .flat_map(|(query, listed)| listed.iter().map(move |one| (&query.table, &one.namespace, &one.name)));
    let gets = recorded.decision.gets.iter().map(|(key, _)| (&key.table, &key.namespace, &key.name));
    let read = gets.chain(lists).collect::<BTreeSet<_>>().len();
    (read > MAX_CONTENTS).then(|| format!("it read {read} objects, but at most {MAX_CONTENTS} are recorded"))
}

/// Returns the topology of a decision without a recorded one: all reads and writes are of one cluster.
fn standalone(decision: &Decision) -> Topology {
    let (writes, missing) = match &decision.outcome {
        RunOutcome::Decided { writes, .. } => (writes.as_slice(), [].as_slice()),
        // If nothing was read, the missing kinds show the cluster.
        RunOutcome::NotCached { missing } => ([].as_slice(), missing.as_slice()),
        RunOutcome::Failed { .. } => ([].as_slice(), [].as_slice()),
    };
    let gets = decision.gets.iter().map(|(key, _)| &key.table);
    let lists = decision.lists.iter().map(|(query, _)| &query.table);
    let written = writes.iter().map(|write| &write.object.table);
    let table = gets.chain(lists).chain(written).chain(missing).next();
    Topology::standalone(&table.map_or_else(|| ClusterName::new("default"), |table| table.cluster.clone()))
}

/// Recorded decision to replay.
struct ReplayRun {
    topology: Arc<Topology>,
    decision: Decision,
    recording: Arc<Recording>,
}

impl ReplayRun {
    /// Returns the operator's result, and what it read in addition to the recorded reads; the reason if a recorded answer
    /// is not of the type that the operator expects.
    fn decide(&self, operator: &dyn Operator) -> Result<(ReplayResult, Vec<String>), String> {
        let Self { topology, decision, recording } = self;
        let declaration = operator.declaration();
        let inputs = Arc::new(declaration.readable());
        let view = View::new(recording.clone(), topology.clone(), inputs, decision.started)
            .with_rejected_writes(decision.rejected_writes.clone());
        let decided = decide_catching_panics(operator, &decision.unit.unit, &view);
        if let Some(why) = view.unanswered() {
            return Err(why);
        }
        let reads = view.into_reads();
        let name = &decision.unit.operator;
        let result = match decided {
            Ok(plan) => {
                // The recorded result passed the arbiter, which assigned names and squashed writes.
                let result = Arbiter::default().arbitrate(ArbiterInput {
                    unit: &decision.unit,
                    declaration: &declaration,
                    topology,
                    decision: decision.id,
                    mutations: plan.mutations,
                    ordered: plan.ordered,
                    reads: &reads,
                    reader: &**recording,
                });
                let writes = result.writes.into_iter().chain(result.refused).collect();
                ReplayResult::of(name, &RunOutcome::Decided { writes, status: plan.status })
            }
            Err(DecideError::Failed(message)) => ReplayResult::of(name, &RunOutcome::Failed { message }),
            Err(DecideError::NotCached(_)) => {
                ReplayResult::of(name, &RunOutcome::NotCached { missing: reads.missing.into_iter().collect() })
            }
        };
        Ok((result, recording.new_reads()))
    }
}

#[cfg(test)]
mod tests;
