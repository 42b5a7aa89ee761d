//! What is written, when, and what goes for it.

use crate::decision::DecisionId;
use crate::moment::Moment;

use super::record::{self, Record};
use super::{Journal, JournalError};

impl Journal {
    /// Writes those of the decisions that are only remembered: somebody was told their numbers, and asks the disk for them.
    ///
    /// # Errors
    /// When they cannot be written; they are remembered as before.
    pub fn keep(&mut self, ids: &[DecisionId]) -> Result<(), JournalError> {
        let repeats = self.quiet.unwritten(ids);
        let Some(now) = repeats.iter().map(|repeat| repeat.at).max() else { return Ok(()) };
        self.write(repeats.into_iter().map(Record::Repeat).collect(), now)?;
        self.quiet.written(ids);
        Ok(())
    }

    /// Lets go of what is too old, though nothing is written: what was decided on a quiet cluster goes in its time as well.
    ///
    /// # Errors
    /// When files cannot be made or removed.
    pub fn expire(&mut self, now: Moment) -> Result<(), JournalError> {
        if self.read_only || !self.index.is_overdue(self.bounds, now) {
            return Ok(());
        }
        self.write(Vec::new(), now)
    }

    pub(super) fn reserve(&mut self, now: Moment) -> Result<(), JournalError> {
        match self.index.reservation() {
            Some(next) => self.write(vec![Record::Ids { next }], now),
            None => Ok(()),
        }
    }

    pub(super) fn write(&mut self, mut records: Vec<Record>, now: Moment) -> Result<(), JournalError> {
        if self.read_only {
            return Err(JournalError::ReadOnly);
        }
        self.index.make_room(self.disk.as_ref(), self.bounds, now)?;
        let mut lines = record::lines(&records)?;
        if record::trim(&mut records, &lines, self.bounds.segment_bytes()) {
            lines = record::lines(&records)?;
        }
        self.index.append_lines(&records, &lines)?;
        let oldest = self.index.prune(self.bounds, now)?;
        self.quiet.forget_before(oldest);
        Ok(())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Best effort: what is lost is that nothing happened.
        if !self.read_only {
            let mut last: Vec<Record> = self.quiet.drain().map(Record::Repeat).collect();
            last.push(Record::Ids { next: self.index.next });
            if self.index.append(&last).and_then(|()| self.sync()).is_err() {
                tracing::warn!("the end of the journal could not be written");
            }
        }
    }
}
