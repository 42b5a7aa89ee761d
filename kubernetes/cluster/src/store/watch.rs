//! Watches: a position in the shared history and a notification channel.

use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use tokio::sync::watch::Receiver;

use super::watch_groups::WatchGroup;
use super::{ReadError, SharedStore, StoreChange};

/// Changes in revision order, and the revision up to which they are complete.
#[derive(Clone, Debug)]
pub struct ChangeBatch {
    /// Changes, oldest first; empty for mere progress.
    pub changes: Vec<Arc<StoreChange>>,
    /// Revision up to which every change of the watched prefix was delivered, as for a bookmark.
    pub revision: u64,
}

/// Larger encodings are not shared: a burst must not stay in memory for a group without further changes.
const MAX_SHARED_BYTES: usize = 64 << 10;

/// Encoded changes of a batch, with the form and the revisions.
#[derive(Debug)]
pub(super) struct EncodedBatch {
    prefix: Box<str>,
    /// Revisions of the first and the last change.
    span: (u64, u64),
    form: Box<str>,
    bytes: Bytes,
}

/// Watch of one prefix. Dropping it ends the watch.
#[derive(Debug)]
pub struct StoreWatch {
    shared: Arc<SharedStore>,
    prefix: Box<str>,
    /// Revision up to which every change was delivered.
    revision: u64,
    group: Arc<WatchGroup>,
    /// `None` only while dropping, so that the group can detect its last watcher.
    notifications: Option<Receiver<u64>>,
}

impl StoreWatch {
    pub(super) fn new(shared: Arc<SharedStore>, prefix: &str, after: u64, group: Arc<WatchGroup>) -> StoreWatch {
        let receiver = Some(group.sender.subscribe());
        StoreWatch { shared, prefix: prefix.into(), revision: after, group, notifications: receiver }
    }

    /// Waits for at least one change and returns the next changes. Cancel safe.
    ///
    /// # Errors
    /// `Compacted` when the history no longer holds the next changes, `Closed` when the store was closed.
    pub async fn next(&mut self) -> Result<ChangeBatch, ReadError> {
        loop {
            // Marked before the read: a change published after the read ends the wait below.
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

    /// Returns the available changes, possibly none, and the revision up to which they are complete.
    ///
    /// # Errors
    /// As [`StoreWatch::next`].
    pub fn progress(&mut self) -> Result<ChangeBatch, ReadError> {
        let state = self.shared.read();
        if state.closed {
            return Err(ReadError::Closed);
        }
        // The dropped changes may belong to other prefixes; only changes of this watch matter.
        if self.revision < self.group.forgotten() {
            return Err(ReadError::Compacted { oldest: state.compacted });
        }
        let limit = self.shared.limits.watch_batch.max(1);
        let changes: Vec<_> = state.changes_after(&self.prefix, self.revision).take(limit).cloned().collect();
        self.revision = match changes.last() {
            Some(last) if changes.len() == limit => last.revision,
            _ => state.revision,
        };
        Ok(ChangeBatch { changes, revision: self.revision })
    }

    /// Returns the result of `encode` for the batch, computed once for all watchers that wait together for the same
    /// `form`.
    ///
    /// `form` must contain everything besides the changes that `encode` depends on.
    pub fn shared_encoding(&self, batch: &ChangeBatch, form: &str, encode: impl FnOnce() -> Bytes) -> Bytes {
        let (Some(first), Some(last)) = (batch.changes.first(), batch.changes.last()) else { return encode() };
        let span = (first.revision, last.revision);
        // Other watchers wait for the encoding, because they need it next.
        let mut shared = self.group.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |made: &&EncodedBatch| made.span == span && *made.form == *form && made.prefix == self.prefix;
        if let Some(made) = shared.as_ref().filter(same) {
            return made.bytes.clone();
        }
        let bytes = encode();
        *shared = (bytes.len() <= MAX_SHARED_BYTES).then(|| EncodedBatch {
            prefix: self.prefix.clone(),
            span,
            form: form.into(),
            bytes: bytes.clone(),
        });
        bytes
    }

    /// Returns the revision up to which every change was delivered.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    fn receiver(&mut self) -> &mut Receiver<u64> {
        self.notifications.as_mut().expect("taken only by drop")
    }
}

impl Drop for StoreWatch {
    fn drop(&mut self) {
        let mut state = self.shared.write();
        self.notifications = None;
        state.hub.remove_if_empty(&self.prefix);
    }
}
