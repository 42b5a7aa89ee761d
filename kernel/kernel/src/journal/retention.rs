//! Writing of records, and removal of old ones.

use crate::decision::DecisionId;
use crate::timestamp::Timestamp;

use super::record::{self, JournalRecord};
use super::{Journal, JournalError};

impl Journal {
    /// Writes those of the decisions that are only in memory, because their numbers are about to be returned to a
    /// client.
    ///
    /// # Errors
    /// When they cannot be written; they stay in memory.
    pub fn flush(&mut self, ids: &[DecisionId]) -> Result<(), JournalError> {
        let repeats = self.quiet.unwritten(ids);
        let Some(now) = repeats.iter().map(|repeat| repeat.at).max() else { return Ok(()) };
        self.write(repeats.into_iter().map(JournalRecord::Repeat).collect(), now)?;
        self.quiet.mark_written(ids);
        Ok(())
    }

    /// Removes expired entries, even if nothing is written because the cluster is quiet.
    ///
    /// # Errors
    /// When files cannot be created or removed.
    pub fn expire(&mut self, now: Timestamp) -> Result<(), JournalError> {
        if self.read_only || !self.index.is_overdue(self.bounds, now) {
            return Ok(());
        }
        self.write(Vec::new(), now)
    }

    pub(super) fn reserve(&mut self, now: Timestamp) -> Result<(), JournalError> {
        match self.index.reservation() {
            Some(next) => self.write(vec![JournalRecord::Ids { next }], now),
            None => Ok(()),
        }
    }

    pub(super) fn write(&mut self, mut records: Vec<JournalRecord>, now: Timestamp) -> Result<(), JournalError> {
        if self.read_only {
            return Err(JournalError::ReadOnly);
        }
        self.index.make_room(self.disk.as_ref(), self.bounds, now)?;
        let mut lines = record::encode(&records)?;
        if record::trim(&mut records, &lines, self.bounds.segment_bytes()) {
            lines = record::encode(&records)?;
        }
        self.index.append_lines(&records, &lines)?;
        let oldest = self.index.prune(self.bounds, now)?;
        self.quiet.forget_before(oldest);
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Best effort: only quiet runs would be lost.
        if !self.read_only {
            let mut last: Vec<JournalRecord> = self.quiet.drain().map(JournalRecord::Repeat).collect();
            last.push(JournalRecord::Ids { next: self.index.next });
            if self.index.append(&last).and_then(|()| self.sync()).is_err() {
                tracing::warn!("could not write the end of the journal");
            }
        }
    }
}
