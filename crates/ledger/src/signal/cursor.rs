//! Up to where the log of changes was read. Numbers only: whoever has them from a database may be wrong in any way.

use std::collections::BTreeSet;

use super::Signal;

/// The most changes that are remembered as told while an older transaction may still put some before them.
const MAX_UNSETTLED: usize = 10_000;

/// A place in the log: transactions in the order they began, changes in the order they were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub made_by: i64,
    pub seq: i64,
}

/// A change as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub position: Position,
    pub table: String,
    pub key: String,
}

/// What of the log was told.
///
/// A transaction that began early may commit late: what is after it in the log is told at once, but the cursor stays before it until
/// the database says that none so early is still running.
#[derive(Debug)]
pub struct Cursor {
    settled: Position,
    told: BTreeSet<Position>,
    doubt: bool,
}

impl Cursor {
    pub fn at(position: Position) -> Cursor {
        Cursor { settled: position, told: BTreeSet::new(), doubt: false }
    }

    /// From here on the log is to be read.
    pub fn position(&self) -> Position {
        self.settled
    }

    /// Whether something that was told may yet be preceded by something else.
    pub fn is_unsettled(&self) -> bool {
        !self.told.is_empty()
    }

    /// Something may have been missed.
    pub fn doubt(&mut self) {
        self.doubt = true;
    }

    /// Takes what was read: where the log was cut, the first transaction that may still be running, and what is in the log.
    pub fn take(&mut self, cut: Position, horizon: i64, entries: Vec<Entry>) -> Vec<Signal> {
        let missed = std::mem::take(&mut self.doubt) || cut > self.settled;
        let mut signals = Vec::new();
        if missed {
            signals.push(Signal::Everything);
        }
        for entry in entries {
            let settled = entry.position.made_by < horizon;
            let new = if settled {
                self.settled = self.settled.max(entry.position);
                !self.told.remove(&entry.position)
            } else {
                self.told.insert(entry.position)
            };
            if new && !missed {
                signals.push(Signal::Changed { table: entry.table, key: entry.key });
            }
        }
        self.settled = self.settled.max(cut);
        if self.told.len() > MAX_UNSETTLED {
            // Forgetting them tells them again, which is allowed; to keep ever more is not.
            self.told.clear();
        }
        signals
    }
}

#[cfg(test)]
mod tests;
