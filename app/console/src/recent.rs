//! What was decided lately, in brief: timelines, histories and the sparkline come from it.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use switchboard_kernel::decision::{Decision, DecisionId, Outcome, WriteResult};
use switchboard_kernel::explain;
use switchboard_kernel::host::{Handle, Stopped};
use switchboard_kernel::journal::Entry;
use switchboard_kernel::moment::Moment;
use switchboard_kernel::resource::ObjectKey;
use tokio::sync::Mutex;

/// How many decisions are remembered in brief.
pub const MAX_BRIEFS: usize = 2_000;
/// How many objects of a decision its brief names.
const MAX_OBJECTS: usize = 50;

/// A decision in brief.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Brief {
    /// Its number.
    pub id: DecisionId,
    /// Whose.
    pub operator: String,
    /// Of which unit.
    pub unit: String,
    /// When.
    pub at: Moment,
    /// Why it ran, in words.
    pub because: String,
    /// How long it took to decide.
    pub decide_us: u64,
    /// How long its writes took.
    pub write_us: u64,
    /// Writes that changed something.
    pub written: usize,
    /// Writes that did not come to be.
    pub undone: usize,
    /// What came of it.
    pub outcome: Came,
    /// In more words: what failed, what is awaited.
    pub said: String,
    /// What it wrote.
    #[serde(skip)]
    pub wrote: Vec<ObjectKey>,
    /// What it read by name.
    #[serde(skip)]
    pub read: Vec<ObjectKey>,
    /// What it looked for and did not find.
    #[serde(skip)]
    pub missed: Vec<ObjectKey>,
}

/// What came of a run, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Came {
    /// It wrote.
    Wrote,
    /// It wrote nothing.
    Nothing,
    /// Some of its writes did not come to be.
    Refused,
    /// Some of its writes wait for room or a newer view, and it decides again: nothing is wrong.
    PutOff,
    /// It waits for a kind.
    Parked,
    /// It failed.
    Failed,
}

impl Brief {
    /// Of a decision.
    pub fn of(decision: &Decision) -> Self {
        let mut brief = Self {
            id: decision.id,
            operator: decision.unit.operator.to_string(),
            unit: decision.unit.unit.to_string(),
            at: decision.started,
            because: explain::causes(&decision.causes),
            decide_us: decision.decide_us,
            write_us: decision.write_us,
            written: 0,
            undone: 0,
            outcome: Came::Nothing,
            said: String::new(),
            wrote: Vec::new(),
            read: gets(decision, true),
            missed: gets(decision, false),
        };
        match &decision.outcome {
            Outcome::Failed { message } => (brief.outcome, brief.said) = (Came::Failed, message.clone()),
            Outcome::Parked { missing } => {
                let kinds: Vec<String> = missing.iter().map(|table| table.resource.to_string()).collect();
                (brief.outcome, brief.said) = (Came::Parked, format!("cannot read {} yet", kinds.join(", ")));
            }
            Outcome::Decided { writes, standing } => {
                let mut wrong = false;
                for write in writes {
                    match &write.result {
                        WriteResult::Written { .. } => {
                            brief.written += 1;
                            brief.wrote.push(write.object.clone());
                        }
                        WriteResult::Unchanged | WriteResult::Pretended => {}
                        // Nothing waits for an Event, so that nothing is left undone either.
                        unheard @ WriteResult::Unheard { .. } => {
                            brief.said = format!("could not {}: {}", write.mutation, explain::result(unheard));
                        }
                        other => {
                            wrong |= matches!(other, WriteResult::Refused { .. } | WriteResult::Failed { .. });
                            brief.undone += 1;
                            brief.said = format!("could not {}: {}", write.mutation, explain::result(other));
                        }
                    }
                }
                brief.wrote.truncate(MAX_OBJECTS);
                brief.outcome = match (brief.undone, brief.written) {
                    (0, 0) => Came::Nothing,
                    (0, _) => Came::Wrote,
                    _ if wrong => Came::Refused,
                    _ => Came::PutOff,
                };
                if brief.said.is_empty() {
                    brief.said = standing_words(standing);
                }
            }
        }
        brief
    }
}

fn gets(decision: &Decision, found: bool) -> Vec<ObjectKey> {
    let gets = decision.gets.iter().filter(|(_, revision)| revision.is_some() == found);
    gets.map(|(key, _)| key.clone()).take(MAX_OBJECTS).collect()
}

fn standing_words(standing: &switchboard_kernel::plan::Standing) -> String {
    use switchboard_kernel::plan::Standing;
    match standing {
        Standing::Ready => String::new(),
        Standing::Waiting(on) => format!("waits for {on}"),
        Standing::Blocked(needs) => format!("blocked: {needs}"),
        Standing::Failing(why) => why.clone(),
    }
}

/// The newest decisions, newest first.
pub struct Recent {
    handle: Handle,
    known: Mutex<Arc<VecDeque<Brief>>>,
}

impl Recent {
    /// Of this kernel's journal.
    pub fn new(handle: Handle) -> Self {
        Self { handle, known: Mutex::default() }
    }

    /// What is known by now.
    pub async fn briefs(&self) -> Result<Arc<VecDeque<Brief>>, Stopped> {
        let mut known = self.known.lock().await;
        let last = known.front().map(|brief| brief.id);
        let fresh = self.handle.journal(move |journal| {
            let decisions = journal.newest().filter_map(|entry| match entry {
                Entry::Decision(decision) => Some(Brief::of(&decision)),
                Entry::Finding(_) => None,
            });
            decisions.take_while(|brief| last.is_none_or(|last| brief.id > last)).take(MAX_BRIEFS).collect::<Vec<_>>()
        });
        let fresh = fresh.await?;
        if !fresh.is_empty() {
            let all = Arc::make_mut(&mut known);
            fresh.into_iter().rev().for_each(|brief| all.push_front(brief));
            all.truncate(MAX_BRIEFS);
        }
        Ok(known.clone())
    }
}

/// How many decisions each span of time saw, oldest first: all, and those that failed.
pub fn spans(briefs: &VecDeque<Brief>, now: Moment, span_ms: u64, count: usize) -> Vec<(u32, u32)> {
    let mut spans = vec![(0, 0); count];
    for brief in briefs {
        let age = usize::try_from(now.0.saturating_sub(brief.at.0) / span_ms.max(1)).unwrap_or(usize::MAX);
        if let Some((all, failed)) =
            count.checked_sub(1).and_then(|last| last.checked_sub(age)).map(|at| &mut spans[at])
        {
            *all += 1;
            *failed += u32::from(matches!(brief.outcome, Came::Failed | Came::Refused));
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use switchboard_kernel::decision::{Cause, Write};
    use switchboard_kernel::operator::{OperatorName, Unit, UnitId};
    use switchboard_kernel::place::ClusterName;
    use switchboard_kernel::plan::{Mutation, Standing};
    use switchboard_kernel::resource::{Resource, TableKey};

    use super::*;

    const MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");

    fn decided(results: &[WriteResult]) -> Brief {
        let table = TableKey { cluster: ClusterName::new("main"), resource: Arc::new(MAPS) };
        let write = |result: &WriteResult| Write {
            mutation: Mutation::apply(&MAPS, serde_json::json!({"metadata": {"namespace": "shop", "name": "web"}})),
            object: ObjectKey { table: table.clone(), namespace: "shop".into(), name: "web".into() },
            result: result.clone(),
        };
        Brief::of(&Decision {
            id: DecisionId(1),
            unit: UnitId { operator: OperatorName::new("web"), unit: Unit::object("shop", "web") },
            causes: vec![Cause::Resync],
            woken: Moment(0),
            started: Moment(0),
            decide_us: 0,
            write_us: 0,
            gets: vec![],
            lists: vec![],
            asked: vec![],
            refused: vec![],
            settings: serde_json::Value::Null,
            outcome: Outcome::Decided { writes: results.iter().map(write).collect(), standing: Standing::Ready },
        })
    }

    #[test]
    fn what_is_put_off_is_no_failure() {
        let (held, refused) = (WriteResult::Held, WriteResult::Refused { reason: "no".into() });
        let stale = WriteResult::Stale { message: "newer".into() };
        for (results, outcome, failed) in [
            (vec![WriteResult::Written { revision: 1 }], Came::Wrote, 0),
            (vec![WriteResult::Written { revision: 1 }, held.clone()], Came::PutOff, 0),
            (vec![stale, WriteResult::Skipped], Came::PutOff, 0),
            (vec![held, refused], Came::Refused, 1),
        ] {
            let brief = decided(&results);
            assert_eq!(brief.outcome, outcome, "{results:?}");
            assert_eq!(spans(&VecDeque::from([brief]), Moment(0), 1000, 1), [(1, failed)], "{results:?}");
        }
    }
}
