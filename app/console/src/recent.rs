//! Summaries of recent decisions for timelines, histories and the sparkline.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;
use switchboard_kernel::decision::{Decision, DecisionId, RunOutcome, WriteResult};
use switchboard_kernel::explain;
use switchboard_kernel::host::{Handle, HostStopped};
use switchboard_kernel::journal::JournalEntry;
use switchboard_kernel::resource::ObjectKey;
use switchboard_kernel::timestamp::Timestamp;
use tokio::sync::Mutex;

/// Maximum number of summaries.
pub const MAX_SUMMARIES: usize = 2_000;
/// Maximum number of objects in a summary.
const MAX_OBJECTS: usize = 50;

/// Summary of a decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionSummary {
    /// Number of the decision.
    pub id: DecisionId,
    /// Operator of the decision.
    pub operator: String,
    /// Unit of the decision.
    pub unit: String,
    /// Time of the run.
    pub at: Timestamp,
    /// Causes of the run, as text.
    pub causes: String,
    /// Duration of the decision.
    pub decide_us: u64,
    /// Duration of the writes.
    pub write_us: u64,
    /// Number of writes that changed something.
    pub written: usize,
    /// Number of writes that did not succeed.
    pub failed_writes: usize,
    /// Outcome of the run.
    pub outcome: SummaryOutcome,
    /// Details of the outcome: the error, or the awaited input.
    pub message: String,
    /// Objects that were written.
    #[serde(skip)]
    pub wrote: Vec<ObjectKey>,
    /// Objects that were read by name.
    #[serde(skip)]
    pub read: Vec<ObjectKey>,
    /// Objects that were read but did not exist.
    #[serde(skip)]
    pub missed: Vec<ObjectKey>,
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SummaryOutcome {
    /// The run wrote objects.
    Written,
    /// The run wrote nothing.
    Unchanged,
    /// Some writes failed.
    WritesFailed,
    /// Some writes wait for the rate limiter or a newer cache, and the unit decides again; this is no error.
    Deferred,
    /// The unit waits for a kind.
    NotCached,
    /// The decision failed.
    Failed,
}

impl DecisionSummary {
    /// Summarizes a decision.
    pub fn of(decision: &Decision) -> Self {
        let mut summary = Self {
            id: decision.id,
            operator: decision.unit.operator.to_string(),
            unit: decision.unit.unit.to_string(),
            at: decision.started,
            causes: explain::causes(&decision.causes),
            decide_us: decision.decide_us,
            write_us: decision.write_us,
            written: 0,
            failed_writes: 0,
            outcome: SummaryOutcome::Unchanged,
            message: String::new(),
            wrote: Vec::new(),
            read: gets(decision, true),
            missed: gets(decision, false),
        };
        match &decision.outcome {
            RunOutcome::Failed { message } => {
                (summary.outcome, summary.message) = (SummaryOutcome::Failed, message.clone())
            }
            RunOutcome::NotCached { missing } => {
                let kinds: Vec<String> = missing.iter().map(|table| table.resource.to_string()).collect();
                (summary.outcome, summary.message) =
                    (SummaryOutcome::NotCached, format!("cannot read {} yet", kinds.join(", ")));
            }
            RunOutcome::Decided { writes, status: standing } => {
                let mut wrong = false;
                for write in writes {
                    match &write.result {
                        WriteResult::Written { .. } => {
                            summary.written += 1;
                            summary.wrote.push(write.object.clone());
                        }
                        WriteResult::Unchanged | WriteResult::DryRun => {}
                        // Nothing depends on an Event, so a lost one is not counted.
                        unheard @ WriteResult::EventRejected { .. } => {
                            summary.message = format!("could not {}: {}", write.mutation, explain::result(unheard));
                        }
                        other => {
                            wrong |= matches!(other, WriteResult::Refused { .. } | WriteResult::Failed { .. });
                            summary.failed_writes += 1;
                            summary.message = format!("could not {}: {}", write.mutation, explain::result(other));
                        }
                    }
                }
                summary.wrote.truncate(MAX_OBJECTS);
                summary.outcome = match (summary.failed_writes, summary.written) {
                    (0, 0) => SummaryOutcome::Unchanged,
                    (0, _) => SummaryOutcome::Written,
                    _ if wrong => SummaryOutcome::WritesFailed,
                    _ => SummaryOutcome::Deferred,
                };
                if summary.message.is_empty() {
                    summary.message = status_text(standing);
                }
            }
        }
        summary
    }
}

fn gets(decision: &Decision, found: bool) -> Vec<ObjectKey> {
    let gets = decision.gets.iter().filter(|(_, revision)| revision.is_some() == found);
    gets.map(|(key, _)| key.clone()).take(MAX_OBJECTS).collect()
}

fn status_text(standing: &switchboard_kernel::plan::UnitStatus) -> String {
    use switchboard_kernel::plan::UnitStatus;
    match standing {
        UnitStatus::Ready => String::new(),
        UnitStatus::Waiting(on) => format!("waiting for {on}"),
        UnitStatus::Blocked(needs) => format!("blocked: {needs}"),
        UnitStatus::Failing(why) => why.clone(),
    }
}

/// Summaries of the newest decisions.
pub struct RecentDecisions {
    handle: Handle,
    known: Mutex<Arc<VecDeque<DecisionSummary>>>,
}

impl RecentDecisions {
    /// Creates an empty list for the journal of a kernel.
    pub fn new(handle: Handle) -> Self {
        Self { handle, known: Mutex::default() }
    }

    /// Returns the summaries, newest first, after an update from the journal.
    pub async fn summaries(&self) -> Result<Arc<VecDeque<DecisionSummary>>, HostStopped> {
        let mut known = self.known.lock().await;
        let last = known.front().map(|summary| summary.id);
        let fresh = self.handle.journal(move |journal| {
            let decisions = journal.newest().filter_map(|entry| match entry {
                JournalEntry::Decision(decision) => Some(DecisionSummary::of(&decision)),
                JournalEntry::Finding(_) => None,
            });
            decisions
                .take_while(|summary| last.is_none_or(|last| summary.id > last))
                .take(MAX_SUMMARIES)
                .collect::<Vec<_>>()
        });
        let fresh = fresh.await?;
        if !fresh.is_empty() {
            let all = Arc::make_mut(&mut known);
            fresh.into_iter().rev().for_each(|summary| all.push_front(summary));
            all.truncate(MAX_SUMMARIES);
        }
        Ok(known.clone())
    }
}

/// Counts decisions by interval, oldest first: all, and the failed ones.
pub fn spans(summaries: &VecDeque<DecisionSummary>, now: Timestamp, span_ms: u64, count: usize) -> Vec<(u32, u32)> {
    let mut spans = vec![(0, 0); count];
    for summary in summaries {
        let age = usize::try_from(now.0.saturating_sub(summary.at.0) / span_ms.max(1)).unwrap_or(usize::MAX);
        if let Some((all, failed)) =
            count.checked_sub(1).and_then(|last| last.checked_sub(age)).map(|at| &mut spans[at])
        {
            *all += 1;
            *failed += u32::from(matches!(summary.outcome, SummaryOutcome::Failed | SummaryOutcome::WritesFailed));
        }
    }
    spans
}

/// Returns a summary of a decision that wrote nothing.
#[cfg(test)]
pub(crate) fn sample() -> DecisionSummary {
    DecisionSummary {
        id: DecisionId(7),
        operator: "greeter".into(),
        unit: "default/ada".into(),
        at: Timestamp(1000),
        causes: "a resync".into(),
        decide_us: 10,
        write_us: 0,
        written: 0,
        failed_writes: 0,
        outcome: SummaryOutcome::Unchanged,
        message: String::new(),
        wrote: vec![],
        read: vec![],
        missed: vec![],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use switchboard_kernel::decision::{Cause, Write};
    use switchboard_kernel::operator::{OperatorName, Unit, UnitId};
    use switchboard_kernel::plan::{Mutation, UnitStatus};
    use switchboard_kernel::resource::{Resource, TableKey};
    use switchboard_kernel::topology::ClusterName;

    use super::*;

    const MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");

    fn decided(results: &[WriteResult]) -> DecisionSummary {
        let table = TableKey { cluster: ClusterName::new("main"), resource: Arc::new(MAPS) };
        let write = |result: &WriteResult| Write {
            mutation: Mutation::apply(&MAPS, serde_json::json!({"metadata": {"namespace": "shop", "name": "web"}})),
            object: ObjectKey { table: table.clone(), namespace: "shop".into(), name: "web".into() },
            result: result.clone(),
        };
        DecisionSummary::of(&Decision {
            id: DecisionId(1),
            unit: UnitId { operator: OperatorName::new("web"), unit: Unit::object("shop", "web") },
            causes: vec![Cause::Resync],
            triggered_at: Timestamp(0),
            started: Timestamp(0),
            decide_us: 0,
            write_us: 0,
            gets: vec![],
            lists: vec![],
            rows: Default::default(),
            external_queries: vec![],
            rejected_writes: vec![],
            settings: serde_json::Value::Null,
            outcome: RunOutcome::Decided { writes: results.iter().map(write).collect(), status: UnitStatus::Ready },
        })
    }

    #[test]
    fn summaries_have_the_field_names_of_the_api() {
        let summary = serde_json::to_value(sample()).unwrap();
        let names: Vec<&str> = summary.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = "at causes decideUs failedWrites id message operator outcome unit writeUs written";
        assert_eq!(names, expected.split(' ').collect::<Vec<_>>());
        assert_eq!(summary["outcome"], "unchanged");
    }

    #[test]
    fn deferred_run_is_no_failure() {
        let (held, refused) = (WriteResult::OverBudget, WriteResult::Refused { reason: "no".into() });
        let stale = WriteResult::Stale { message: "newer".into() };
        for (results, outcome, failed) in [
            (vec![WriteResult::Written { revision: 1 }], SummaryOutcome::Written, 0),
            (vec![WriteResult::Written { revision: 1 }, held.clone()], SummaryOutcome::Deferred, 0),
            (vec![stale, WriteResult::Skipped], SummaryOutcome::Deferred, 0),
            (vec![held, refused], SummaryOutcome::WritesFailed, 1),
        ] {
            let summary = decided(&results);
            assert_eq!(summary.outcome, outcome, "{results:?}");
            assert_eq!(spans(&VecDeque::from([summary]), Timestamp(0), 1000, 1), [(1, failed)], "{results:?}");
        }
    }
}
