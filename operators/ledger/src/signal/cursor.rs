//! What of the log of changes was told. Numbers only: whoever has them from a database may be wrong in any way.

use std::collections::BTreeSet;

use super::Signal;

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

/// Which transactions could be seen at a moment: those before `end`, but for those that were open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    end: i64,
    open: BTreeSet<i64>,
}

impl Snapshot {
    /// As PostgreSQL writes one: the first that is open, the first that has not begun, and those between them that are open.
    pub fn parse(text: &str) -> Option<Snapshot> {
        let mut parts = text.split(':').skip(1);
        let end = parts.next()?.parse().ok()?;
        let open = parts.next()?.split(',').filter(|one| !one.is_empty()).map(|one| one.parse().ok());
        Some(Snapshot { end, open: open.collect::<Option<_>>()? })
    }

    /// The first that has not begun.
    pub fn end(&self) -> i64 {
        self.end
    }

    /// Those that had begun and were not over.
    pub fn open(&self) -> impl Iterator<Item = i64> {
        self.open.iter().copied()
    }

    fn sees(&self, transaction: i64) -> bool {
        transaction < self.end && !self.open.contains(&transaction)
    }
}

/// A look at the log.
#[derive(Debug)]
pub struct Log {
    /// The newest transaction of which something was removed.
    pub cut: i64,
    /// What could be seen.
    pub now: Snapshot,
    /// What follows in the log, from where it was to be read.
    pub entries: Vec<Entry>,
    /// Whether that is all.
    pub is_all: bool,
}

/// What of the log was told.
///
/// A transaction that began early may commit late, and whatever else the server does may keep it from saying so of any: what was
/// told is not a place in the log but what could be seen of it. So nothing is read twice, and nobody's transaction is waited for.
#[derive(Debug)]
pub struct Cursor {
    told: Snapshot,
    page: Option<Page>,
    doubt: bool,
}

/// More was to be told than is read at once.
#[derive(Debug)]
struct Page {
    /// What could be seen when the first of it was read: all of that is told before anything else is.
    until: Snapshot,
    after: Position,
}

impl Cursor {
    pub fn at(told: Snapshot) -> Cursor {
        Cursor { told, page: None, doubt: false }
    }

    /// What was told.
    pub fn told(&self) -> &Snapshot {
        &self.told
    }

    /// After which place the log is to be read on, beside what transactions wrote there that were open when it was last told.
    pub fn after(&self) -> Position {
        self.page.as_ref().map_or_else(Position::default, |page| page.after)
    }

    /// Up to where it is read, given what can be seen now.
    pub fn until<'a>(&'a self, now: &'a Snapshot) -> &'a Snapshot {
        self.page.as_ref().map_or(now, |page| &page.until)
    }

    /// Whether there is more to tell, though nothing rings.
    pub fn has_more(&self) -> bool {
        self.page.is_some()
    }

    /// Something may have been missed.
    pub fn doubt(&mut self) {
        self.doubt = true;
    }

    /// Takes what was read, and says what is news.
    pub fn take(&mut self, log: Log) -> Vec<Signal> {
        // One that nobody can see is of another server, from which the database was copied.
        let is_cut = !self.told.sees(log.cut) && log.now.sees(log.cut);
        if std::mem::take(&mut self.doubt) || is_cut {
            *self = Cursor::at(log.now);
            return vec![Signal::Everything];
        }
        let after = log.entries.last().map_or_else(|| self.after(), |last| last.position);
        let until = self.page.take().map_or(log.now, |page| page.until);
        let is_new = |entry: &Entry| until.sees(entry.position.made_by) && !self.told.sees(entry.position.made_by);
        let news = log.entries.into_iter().filter(is_new);
        let signals = news.map(|entry| Signal::Changed { table: entry.table, key: entry.key }).collect();
        match log.is_all {
            true => self.told = until,
            false => self.page = Some(Page { until, after }),
        }
        signals
    }
}

#[cfg(test)]
mod tests;
