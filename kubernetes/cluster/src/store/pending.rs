//! Writes on their way: expectations are checked against the newest write, visible or not.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::{Change, Expect, Key, MAX_OBJECT_BYTES, Record, Shared, WriteError, wake};

/// Why writes fail from now on.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    ReadOnly(Arc<str>),
    Closed,
}

impl From<Refusal> for WriteError {
    fn from(refusal: Refusal) -> WriteError {
        match refusal {
            Refusal::ReadOnly(reason) => WriteError::ReadOnly { reason },
            Refusal::Closed => WriteError::Closed,
        }
    }
}

/// What the disk's thread takes: a change to make durable, or the wish to know that everything before it is.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) change: Option<Arc<Change>>,
    pub(super) answer: oneshot::Sender<Result<(), Refusal>>,
}

/// The writes that are not durable yet. Without a disk it stays empty: a write is visible before the lock is released.
#[derive(Debug)]
pub(super) struct Pending {
    /// The newest revision given out.
    pub(super) revision: u64,
    /// Whether writes wait for a disk.
    pub(super) durable: bool,
    pub(super) queue: Vec<Job>,
    /// The newest waiting change of each object.
    pub(super) newest: HashMap<Key, Arc<Change>>,
    pub(super) refusal: Option<Refusal>,
    /// The last handle is gone: write what waits, then end.
    pub(super) closing: bool,
}

impl Pending {
    pub(super) fn new(revision: u64, durable: bool) -> Pending {
        Pending { revision, durable, queue: Vec::new(), newest: HashMap::new(), refusal: None, closing: false }
    }

    fn enqueue(&mut self, change: Option<Arc<Change>>) -> oneshot::Receiver<Result<(), Refusal>> {
        let (answer, answered) = oneshot::channel();
        self.queue.push(Job { change, answer });
        answered
    }
}

/// The outcome of a write, perhaps not durable yet. A conflict with a write that is still on its way waits as well: nobody is
/// told of an object that a crash could undo.
#[derive(Debug)]
pub(super) struct Staged {
    outcome: Result<Arc<Change>, WriteError>,
    answered: Option<oneshot::Receiver<Result<(), Refusal>>>,
}

impl Staged {
    pub(super) async fn durable(self) -> Result<Arc<Change>, WriteError> {
        if let Some(answered) = self.answered {
            answered.await.unwrap_or(Err(Refusal::Closed))?;
        }
        self.outcome
    }
}

impl Shared {
    /// Checks the expectation, gives the write its revision and hands it to the disk, or makes it visible where there is none.
    pub(super) fn stage(
        &self,
        key: Key,
        expect: Expect,
        make: impl FnOnce(u64) -> (Option<Record>, Bytes),
    ) -> Result<Staged, WriteError> {
        let mut pending = self.pending();
        if let Some(refusal) = &pending.refusal {
            return Err(refusal.clone().into());
        }
        if pending.queue.len() >= self.bounds.pending_writes {
            return Err(WriteError::Overloaded);
        }
        let waiting = pending.newest.get(&key).map(|change| change.after.clone());
        let is_waiting = waiting.is_some();
        let before = waiting.unwrap_or_else(|| self.read().objects.get(&key).cloned());
        let met = match expect {
            Expect::Absent => before.is_none(),
            Expect::Revision(revision) => before.as_ref().is_some_and(|before| before.revision == revision),
        };
        if !met {
            let outcome = Err(WriteError::Conflict { current: before });
            let answered = is_waiting.then(|| pending.enqueue(None));
            self.work.notify_one();
            return Ok(Staged { outcome, answered });
        }
        let revision = pending.revision + 1;
        let (after, last) = make(revision);
        let bytes = after.as_ref().map_or(last.len(), |after| after.bytes.len());
        if bytes > MAX_OBJECT_BYTES {
            return Err(WriteError::TooLarge { bytes, limit: MAX_OBJECT_BYTES });
        }
        pending.revision = revision;
        let change = Arc::new(Change { revision, key, before, after, last });
        if !pending.durable {
            let groups = self.write().publish(std::slice::from_ref(&change), &self.bounds);
            drop(pending);
            wake(groups, revision);
            return Ok(Staged { outcome: Ok(change), answered: None });
        }
        pending.newest.insert(change.key.clone(), change.clone());
        let answered = pending.enqueue(Some(change.clone()));
        self.work.notify_one();
        Ok(Staged { outcome: Ok(change), answered: Some(answered) })
    }
}
