//! Pending writes: expectations are checked against the newest write, visible or not.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::{
    ExpectedState, MAX_OBJECT_BYTES, SharedStore, StoreChange, StoreKey, StoredObject, WriteError, notify_watchers,
};

/// Reason for which all further writes fail.
#[derive(Clone, Debug)]
pub(super) enum WriteRefusal {
    ReadOnly(Arc<str>),
    Closed,
}

impl From<WriteRefusal> for WriteError {
    fn from(refusal: WriteRefusal) -> WriteError {
        match refusal {
            WriteRefusal::ReadOnly(reason) => WriteError::ReadOnly { reason },
            WriteRefusal::Closed => WriteError::Closed,
        }
    }
}

/// Job of the disk's thread: a change to make durable, or a barrier after all earlier changes.
#[derive(Debug)]
pub(super) struct CommitJob {
    pub(super) change: Option<Arc<StoreChange>>,
    pub(super) answer: oneshot::Sender<Result<(), WriteRefusal>>,
}

/// Writes that are not durable yet. Empty without a disk: then a write is visible before the lock is released.
#[derive(Debug)]
pub(super) struct PendingWrites {
    /// Newest assigned revision.
    pub(super) revision: u64,
    /// Whether writes wait for a disk.
    pub(super) durable: bool,
    pub(super) queue: Vec<CommitJob>,
    /// Newest pending change of each object.
    pub(super) newest: HashMap<StoreKey, Arc<StoreChange>>,
    pub(super) refusal: Option<WriteRefusal>,
    /// Whether the last handle was dropped: remaining writes are written, then the thread ends.
    pub(super) closing: bool,
}

impl PendingWrites {
    pub(super) fn new(revision: u64, durable: bool) -> PendingWrites {
        PendingWrites { revision, durable, queue: Vec::new(), newest: HashMap::new(), refusal: None, closing: false }
    }

    fn enqueue(&mut self, change: Option<Arc<StoreChange>>) -> oneshot::Receiver<Result<(), WriteRefusal>> {
        let (answer, answered) = oneshot::channel();
        self.queue.push(CommitJob { change, answer });
        answered
    }
}

/// Result of a write that may not be durable yet. A conflict with a pending write waits as well: no client learns of an
/// object that a crash could undo.
#[derive(Debug)]
pub(super) struct StagedWrite {
    outcome: Result<Arc<StoreChange>, WriteError>,
    answered: Option<oneshot::Receiver<Result<(), WriteRefusal>>>,
}

impl StagedWrite {
    pub(super) async fn durable(self) -> Result<Arc<StoreChange>, WriteError> {
        if let Some(answered) = self.answered {
            answered.await.unwrap_or(Err(WriteRefusal::Closed))?;
        }
        self.outcome
    }
}

impl SharedStore {
    /// Checks the expectation, assigns a revision and hands the write to the disk, or makes it visible if there is no
    /// disk.
    pub(super) fn stage(
        &self,
        key: StoreKey,
        expect: ExpectedState,
        make: impl FnOnce(u64) -> (Option<StoredObject>, Bytes),
    ) -> Result<StagedWrite, WriteError> {
        let mut pending = self.pending();
        if let Some(refusal) = &pending.refusal {
            return Err(refusal.clone().into());
        }
        if pending.queue.len() >= self.limits.pending_writes {
            return Err(WriteError::Overloaded);
        }
        let waiting = pending.newest.get(&key).map(|change| change.after.clone());
        let is_waiting = waiting.is_some();
        let before = waiting.unwrap_or_else(|| self.read().objects.get(&key).cloned());
        let met = match expect {
            ExpectedState::Absent => before.is_none(),
            ExpectedState::Revision(revision) => before.as_ref().is_some_and(|before| before.revision == revision),
        };
        if !met {
            let outcome = Err(WriteError::Conflict { current: before });
            let answered = is_waiting.then(|| pending.enqueue(None));
            self.work.notify_one();
            return Ok(StagedWrite { outcome, answered });
        }
        let revision = pending.revision + 1;
        let (after, last) = make(revision);
        let bytes = after.as_ref().map_or(last.len(), |after| after.bytes.len());
        if bytes > MAX_OBJECT_BYTES {
            return Err(WriteError::TooLarge { bytes, limit: MAX_OBJECT_BYTES });
        }
        pending.revision = revision;
        let change = Arc::new(StoreChange { revision, key, before, after, last });
        if !pending.durable {
            let groups = self.write().publish(std::slice::from_ref(&change), &self.limits);
            drop(pending);
            notify_watchers(groups, revision);
            return Ok(StagedWrite { outcome: Ok(change), answered: None });
        }
        pending.newest.insert(change.key.clone(), change.clone());
        let answered = pending.enqueue(Some(change.clone()));
        self.work.notify_one();
        Ok(StagedWrite { outcome: Ok(change), answered: Some(answered) })
    }
}
