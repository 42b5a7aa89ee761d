//! Commit of a plan's rows, before its objects are written.

use serde_json::Value;

use super::{CommitOutcome, RowStore};
use crate::applier::ExecutedWrite;
use crate::decision::{Write, WriteResult};
use crate::row::{RowOperation, RowWrite, revision};

/// Row change of a plan, checked by the arbiter.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRow {
    /// Change with its resolved precondition.
    pub change: RowWrite,
    /// Change as it is recorded: `Skipped` until it is committed, or `Unchanged`.
    pub write: Write,
    /// Row before the change as fields, as the run read it.
    pub before: Option<Value>,
}

/// Commits the rows of a plan in one transaction. If the commit does not succeed, no object of the plan may be written.
///
/// # Errors
/// The rows with the reason as their result.
pub async fn commit_rows(
    store: Option<&dyn RowStore>,
    rows: Vec<PlannedRow>,
    dry_run: bool,
) -> Result<Vec<ExecutedWrite>, Vec<ExecutedWrite>> {
    let Some(store) = store else {
        let message = "no such store is connected".to_string();
        return Err(rows
            .into_iter()
            .map(|row| row.executed(WriteResult::Failed { message: message.clone() }))
            .collect());
    };
    let changes: Vec<RowWrite> = rows.iter().map(|row| row.change.clone()).collect();
    let outcome = match dry_run && !store.supports_dry_run() {
        true => CommitOutcome::Done,
        false => store.commit(&changes, dry_run).await,
    };
    finish_commit(rows, outcome, dry_run)
}

/// Returns the rows of a plan with the result of their commit.
///
/// # Errors
/// The rows with the reason as their result, if they were not committed.
pub fn finish_commit(
    rows: Vec<PlannedRow>,
    outcome: CommitOutcome,
    dry_run: bool,
) -> Result<Vec<ExecutedWrite>, Vec<ExecutedWrite>> {
    let failure = match outcome {
        CommitOutcome::Done => return Ok(rows.into_iter().map(|row| row.committed(dry_run)).collect()),
        CommitOutcome::Conflict(message) => WriteResult::Stale { message },
        CommitOutcome::Failed(message) => WriteResult::Failed { message },
    };
    Err(rows.into_iter().map(|row| row.executed(failure.clone())).collect())
}

/// Commits the rows of a plan, and executes the writes of its objects only if that succeeded.
pub async fn commit_then_write(
    store: Option<&dyn RowStore>,
    rows: Vec<PlannedRow>,
    dry_run: bool,
    objects: impl Future<Output = Vec<ExecutedWrite>>,
    unwritten: Vec<Write>,
) -> Vec<ExecutedWrite> {
    match commit_rows(store, rows, dry_run).await {
        Ok(mut executed) => {
            executed.extend(objects.await);
            executed
        }
        Err(mut executed) => {
            let skipped = |write| ExecutedWrite { write, before: None, after: None, unchecked: None };
            executed.extend(unwritten.into_iter().map(skipped));
            executed
        }
    }
}

impl PlannedRow {
    fn committed(self, dry_run: bool) -> ExecutedWrite {
        let is_check = matches!(self.change.operation, RowOperation::Check(_));
        let result = match self.write.result {
            WriteResult::Skipped if is_check => WriteResult::Unchanged,
            WriteResult::Skipped if dry_run => WriteResult::DryRun,
            WriteResult::Skipped => {
                let values = self.change.values();
                WriteResult::Written { revision: values.map_or(0, |values| revision(&self.change.key.name, values)) }
            }
            _ => WriteResult::Unchanged,
        };
        self.executed(result)
    }

    fn executed(self, result: WriteResult) -> ExecutedWrite {
        let is_known = matches!(result, WriteResult::Written { .. } | WriteResult::DryRun);
        let after = self.change.fields_after().filter(|_| is_known);
        let before = self.before.filter(|_| is_known);
        ExecutedWrite { write: Write { result, ..self.write }, before, after, unchecked: None }
    }
}
