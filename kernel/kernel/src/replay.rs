//! Deciding again from what was recorded.

mod came;
mod difference;
mod recording;

use std::collections::BTreeSet;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::arbiter::{Arbiter, Judging};
use crate::core::{decide_caught, given_up, late};
use crate::decision::{Decision, DecisionId, Outcome};
use crate::journal::{Journal, MAX_CONTENTS, Recorded};
use crate::object::Object;
use crate::operator::{Operator, Stop, is_unrecorded};
use crate::place::{ClusterName, Topology};
use crate::view::View;

pub use came::Came;
pub use difference::lines;
pub use recording::Recording;

/// What came of deciding again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "replay")]
pub enum Replayed {
    /// The same.
    Same,
    /// Something else.
    Different {
        /// What was decided then; masked.
        before: Came,
        /// What is decided now; masked.
        after: Came,
        /// How they differ, for people.
        lines: Vec<String>,
    },
    /// It read Secrets, whose values are not kept, so it was decided with masked ones.
    Redacted {
        /// What is masked.
        objects: Vec<String>,
        /// Whether both are the same as far as can be told.
        alike: bool,
        /// How they differ, for people.
        lines: Vec<String>,
    },
    /// The operator did not come to an end, then or now: there is nothing to compare.
    Undecided {
        /// When, and for how long it was waited, for people.
        why: String,
    },
    /// It read more than is kept of one decision.
    TooMuch {
        /// What is kept of one, for people.
        why: String,
    },
    /// It, or what it read, is not kept any more.
    Gone,
}

/// Decides again. `live` may hold objects as they are now: one that is masked in the record and still at the revision
/// that was read is taken instead.
///
/// # Caveats
/// An operator that does not come back keeps the caller; [`replay_within`] does not.
pub fn replay(operator: &dyn Operator, journal: &Journal, id: DecisionId, live: &[Object]) -> Replayed {
    replay_by(journal, id, live, |asked| Ok(asked.decide(operator)))
}

/// The same on a thread of its own, which is given up after `timeout`: it goes on until the process ends.
pub fn replay_within(
    operator: Arc<dyn Operator>,
    journal: &Journal,
    id: DecisionId,
    live: &[Object],
    timeout: Duration,
) -> Replayed {
    replay_by(journal, id, live, |asked| {
        let (tell, told) = mpsc::channel();
        let thread = std::thread::Builder::new().name(operator.name().to_string());
        // Nobody listens when it took too long.
        let begun = thread.spawn(move || drop(tell.send(asked.decide(&*operator))));
        begun.map_err(|error| format!("could not start a thread: {error}"))?;
        told.recv_timeout(timeout).map_err(|_| late(timeout))
    })
}

fn replay_by(
    journal: &Journal,
    id: DecisionId,
    live: &[Object],
    decide: impl FnOnce(Question) -> Result<(Came, Vec<String>), String>,
) -> Replayed {
    let Some(recorded) = journal.recorded(id) else { return Replayed::Gone };
    if recorded.contents.partial {
        return too_much(&recorded).map_or(Replayed::Gone, |why| Replayed::TooMuch { why });
    }
    if let Some(why) = given_up(&recorded.decision) {
        return Replayed::Undecided { why: format!("then: {why}") };
    }
    let recording = Recording::of(&recorded, live);
    let mut masked: Vec<String> = recording.masked().map(ToString::to_string).collect();
    if recorded.contents.masked && recorded.decision.asked.iter().any(came::holds_mask) {
        masked.push("an answer from outside".to_string());
    }
    let topology = Arc::new(recorded.topology.clone().unwrap_or_else(|| standalone(&recorded.decision)));
    let asked = Question { topology, decision: recorded.decision.clone(), recording: Arc::new(recording) };
    let (after, unread) = match decide(asked) {
        Ok(decided) => decided,
        Err(why) => return Replayed::Undecided { why: format!("now: {why}") },
    };
    // What was decided went into the journal with words that the kernel had masked already; long ago it had not.
    let digests = [after.clone(), after.clone().spoken()].map(|came| journal.digest(&came));
    if unread.is_empty() && digests.contains(&recorded.digest) {
        return Replayed::Same;
    }
    if matches!(&after, Came::Failed { message } if is_unrecorded(message)) {
        masked.push("what is not recorded".to_string());
    }
    let (before, after) = (Came::of(&recorded.decision.unit.operator, &recorded.decision.outcome), after.masked());
    let mut lines = difference::lines(&before, &after);
    lines.extend(unread.iter().map(|what| format!("now reads {what}, which it did not read then")));
    if lines.is_empty() && masked.is_empty() {
        lines.push("a value that is masked here is another".to_string());
    }
    match masked.is_empty() {
        true => Replayed::Different { before, after, lines },
        false => Replayed::Redacted { objects: masked, alike: lines.is_empty(), lines },
    }
}

/// Why what a decision read was never kept whole; nothing when it was, and is damaged.
fn too_much(recorded: &Recorded) -> Option<String> {
    if recorded.contents.trimmed {
        let share = "one part in sixteen of `journal.maxBytes`";
        return Some(format!("what it read takes more bytes than are kept of one decision: {share}"));
    }
    let lists = recorded
        .decision
        .lists
        .iter()
        .flat_map(|(query, listed)| listed.iter().map(move |one| (&query.table, &one.namespace, &one.name)));
    let gets = recorded.decision.gets.iter().map(|(key, _)| (&key.table, &key.namespace, &key.name));
    let read = gets.chain(lists).collect::<BTreeSet<_>>().len();
    (read > MAX_CONTENTS).then(|| format!("it read {read} objects, and {MAX_CONTENTS} are kept of one decision"))
}

/// A topology of several clusters is recorded with the decision; without one, all it read and wrote was of one cluster.
fn standalone(decision: &Decision) -> Topology {
    let (writes, missing) = match &decision.outcome {
        Outcome::Decided { writes, .. } => (writes.as_slice(), [].as_slice()),
        // What it waited for says the cluster when it had read nothing yet.
        Outcome::Parked { missing } => ([].as_slice(), missing.as_slice()),
        Outcome::Failed { .. } => ([].as_slice(), [].as_slice()),
    };
    let gets = decision.gets.iter().map(|(key, _)| &key.table);
    let lists = decision.lists.iter().map(|(query, _)| &query.table);
    let written = writes.iter().map(|write| &write.object.table);
    let table = gets.chain(lists).chain(written).chain(missing).next();
    Topology::standalone(&table.map_or_else(|| ClusterName::new("default"), |table| table.cluster.clone()))
}

/// What an operator is asked once more.
struct Question {
    topology: Arc<Topology>,
    decision: Decision,
    recording: Arc<Recording>,
}

impl Question {
    /// What the operator comes to, and what it read that it had not read then.
    fn decide(&self, operator: &dyn Operator) -> (Came, Vec<String>) {
        let Self { topology, decision, recording } = self;
        let declaration = operator.declaration();
        let inputs = Arc::new(declaration.readable());
        let view =
            View::new(recording.clone(), topology.clone(), inputs, decision.started).after(decision.refused.clone());
        let decided = decide_caught(operator, &decision.unit.unit, &view);
        let reads = view.into_reads();
        let name = &decision.unit.operator;
        let came = match decided {
            Ok(plan) => {
                // What is recorded went through the arbiter: names chosen, writes squashed.
                let judged = Arbiter::default().judge(Judging {
                    unit: &decision.unit,
                    declaration: &declaration,
                    topology,
                    decision: decision.id,
                    mutations: plan.mutations,
                    ordered: plan.ordered,
                    reads: &reads,
                    picture: &**recording,
                });
                let writes = judged.writes.into_iter().chain(judged.refused).collect();
                Came::of(name, &Outcome::Decided { writes, standing: plan.standing })
            }
            Err(Stop::Failed(message)) => Came::of(name, &Outcome::Failed { message }),
            Err(Stop::Parked(_)) => Came::of(name, &Outcome::Parked { missing: reads.missing.into_iter().collect() }),
        };
        (came, recording.unread())
    }
}

#[cfg(test)]
mod tests;
