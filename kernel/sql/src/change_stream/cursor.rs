//! Position in the change log. Pure computation over numbers, which are not trusted.

use std::collections::BTreeSet;

use super::ChangeEvent;

/// Position in the log: transactions in the order of their begin, changes in the order of their writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPosition {
    pub made_by: i64,
    pub seq: i64,
}

/// Change in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub position: LogPosition,
    pub table: String,
    pub key: String,
}

/// Snapshot of visible transactions: those before `end`, except for the open ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionSnapshot {
    end: i64,
    open: BTreeSet<i64>,
}

impl TransactionSnapshot {
    /// Parses PostgreSQL's `pg_snapshot` format: `xmin:xmax:xip_list`.
    pub fn parse(text: &str) -> Option<TransactionSnapshot> {
        let mut parts = text.split(':').skip(1);
        let end = parts.next()?.parse().ok()?;
        let open = parts.next()?.split(',').filter(|one| !one.is_empty()).map(|one| one.parse().ok());
        Some(TransactionSnapshot { end, open: open.collect::<Option<_>>()? })
    }

    /// Returns the first transaction that has not begun.
    pub fn end(&self) -> i64 {
        self.end
    }

    /// Returns the transactions that had begun and not ended.
    pub fn open(&self) -> impl Iterator<Item = i64> {
        self.open.iter().copied()
    }

    fn includes(&self, transaction: i64) -> bool {
        transaction < self.end && !self.open.contains(&transaction)
    }
}

/// Result of a read of the log.
#[derive(Debug)]
pub struct LogRead {
    /// Newest transaction that was trimmed from the log.
    pub cut: i64,
    /// Snapshot of the visible transactions.
    pub now: TransactionSnapshot,
    /// Entries from the start of the read on.
    pub entries: Vec<LogEntry>,
    /// Whether the entries are complete.
    pub is_all: bool,
}

/// Delivered part of the change log.
///
/// A transaction that began early may commit late, and other activity on the server may hide when. Therefore the cursor
/// is not a position but the snapshot that was visible. No change is delivered twice, and no open transaction is waited
/// for.
#[derive(Debug)]
pub struct LogCursor {
    delivered: TransactionSnapshot,
    page: Option<CursorPage>,
    needs_resync: bool,
}

/// Progress of a read that takes several pages.
#[derive(Debug)]
struct CursorPage {
    /// Snapshot of the first page: all of its changes are delivered before any others.
    until: TransactionSnapshot,
    after: LogPosition,
}

impl LogCursor {
    pub fn at(delivered: TransactionSnapshot) -> LogCursor {
        LogCursor { delivered, page: None, needs_resync: false }
    }

    /// Returns the delivered snapshot.
    pub fn delivered(&self) -> &TransactionSnapshot {
        &self.delivered
    }

    /// Returns the position to continue after. Transactions that were open in the delivered snapshot are read in
    /// addition.
    pub fn after(&self) -> LogPosition {
        self.page.as_ref().map_or_else(LogPosition::default, |page| page.after)
    }

    /// Returns the snapshot to read up to, given the current one.
    pub fn until<'a>(&'a self, now: &'a TransactionSnapshot) -> &'a TransactionSnapshot {
        self.page.as_ref().map_or(now, |page| &page.until)
    }

    /// Whether another page follows, without a notification.
    pub fn has_more(&self) -> bool {
        self.page.is_some()
    }

    /// Requests a resync, because changes may have been missed.
    pub fn require_resync(&mut self) {
        self.needs_resync = true;
    }

    /// Advances past a read and returns the new changes.
    pub fn take(&mut self, log: LogRead) -> Vec<ChangeEvent> {
        // A transaction that is not visible belongs to another server, from which the database was copied.
        let is_cut = !self.delivered.includes(log.cut) && log.now.includes(log.cut);
        if std::mem::take(&mut self.needs_resync) || is_cut {
            *self = LogCursor::at(log.now);
            return vec![ChangeEvent::Resync];
        }
        let after = log.entries.last().map_or_else(|| self.after(), |last| last.position);
        let until = self.page.take().map_or(log.now, |page| page.until);
        let is_new = |entry: &LogEntry| {
            until.includes(entry.position.made_by) && !self.delivered.includes(entry.position.made_by)
        };
        let new_entries = log.entries.into_iter().filter(is_new);
        let events = new_entries.map(|entry| ChangeEvent::Row { table: entry.table, key: entry.key }).collect();
        match log.is_all {
            true => self.delivered = until,
            false => self.page = Some(CursorPage { until, after }),
        }
        events
    }
}

#[cfg(test)]
mod tests;
