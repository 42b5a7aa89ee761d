//! A watcher: a place in the shared history and a way to be woken.

use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use tokio::sync::watch::Receiver;

use super::hub::Group;
use super::{Change, ReadError, Shared};

/// Changes in revision order, and how far they reach.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The changes, oldest first; empty when this is mere progress.
    pub changes: Vec<Arc<Change>>,
    /// Every change of the watched prefix up to here has been handed out: what a bookmark may say.
    pub revision: u64,
}

/// More than this is made anew by each watcher: a burst must not stay in memory for a group that has gone quiet.
const MAX_SHARED_BYTES: usize = 64 << 10;

/// The changes of a batch in some form, and what they were made of.
#[derive(Debug)]
pub(super) struct Encoded {
    prefix: Box<str>,
    /// The revisions of the first and the last change.
    span: (u64, u64),
    form: Box<str>,
    bytes: Bytes,
}

/// A watch of one prefix. Dropping it ends it.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    prefix: Box<str>,
    /// Everything up to here has been handed out.
    revision: u64,
    group: Arc<Group>,
    /// `None` only while dropping, so that the group can tell whether this was its last watcher.
    woken: Option<Receiver<u64>>,
}

impl Watch {
    pub(super) fn new(shared: Arc<Shared>, prefix: &str, after: u64, group: Arc<Group>) -> Watch {
        let woken = Some(group.sender.subscribe());
        Watch { shared, prefix: prefix.into(), revision: after, group, woken }
    }

    /// The next changes: waits until there is at least one. May be cancelled and called again without loss.
    ///
    /// # Errors
    /// `Compacted` when the history no longer holds what comes next, `Closed` when the store was closed.
    pub async fn next(&mut self) -> Result<Batch, ReadError> {
        loop {
            // Seen first, read then: what is published after the read wakes the wait below.
            self.receiver().mark_unchanged();
            let batch = self.progress()?;
            if !batch.changes.is_empty() {
                return Ok(batch);
            }
            if self.receiver().changed().await.is_err() {
                return Err(ReadError::Closed);
            }
        }
    }

    /// What there is now, possibly nothing, and up to which revision that is complete.
    ///
    /// # Errors
    /// As [`Watch::next`].
    pub fn progress(&mut self) -> Result<Batch, ReadError> {
        let state = self.shared.read();
        if state.closed {
            return Err(ReadError::Closed);
        }
        // Changes of others may have been forgotten since this watcher last looked; only its own matter.
        if self.revision < self.group.forgotten() {
            return Err(ReadError::Compacted { oldest: state.compacted });
        }
        let limit = self.shared.bounds.watch_batch.max(1);
        let changes: Vec<_> = state.changes_after(&self.prefix, self.revision).take(limit).cloned().collect();
        self.revision = match changes.last() {
            Some(last) if changes.len() == limit => last.revision,
            _ => state.revision,
        };
        Ok(Batch { changes, revision: self.revision })
    }

    /// What `encode` makes of the batch, made once for all watchers that wait together and want the same `form`.
    ///
    /// `form` must say everything that `encode` depends on beside the changes.
    pub fn encoded(&self, batch: &Batch, form: &str, encode: impl FnOnce() -> Bytes) -> Bytes {
        let (Some(first), Some(last)) = (batch.changes.first(), batch.changes.last()) else { return encode() };
        let span = (first.revision, last.revision);
        // Others wait while it is made: they need it next.
        let mut shared = self.group.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |made: &&Encoded| made.span == span && *made.form == *form && made.prefix == self.prefix;
        if let Some(made) = shared.as_ref().filter(same) {
            return made.bytes.clone();
        }
        let bytes = encode();
        *shared = (bytes.len() <= MAX_SHARED_BYTES).then(|| Encoded {
            prefix: self.prefix.clone(),
            span,
            form: form.into(),
            bytes: bytes.clone(),
        });
        bytes
    }

    /// Everything up to here has been handed out.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    fn receiver(&mut self) -> &mut Receiver<u64> {
        self.woken.as_mut().expect("taken only by drop")
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.shared.write();
        self.woken = None;
        state.hub.leave(&self.prefix);
    }
}
