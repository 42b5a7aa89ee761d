//! Operations that are open, as far as the database told: whoever keeps them in mind looks again at what stays so.
//!
//! It is lost with the process, and found again at its start. Nothing is asked of the database as long as none is open.
//!
//! # Guarantees
//! - What is open is due again and again, until it is over.          // test: guarantees_what_is_open_is_due_again_and_again
//! - To look at everything puts nothing off, however often.          // test: guarantees_a_look_at_everything_puts_nothing_off

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use switchboard_ledger::ids::OperationId;
use tokio::time::Instant;

/// Operations that are open, and when somebody looks after each. `T` is what that somebody must know of it.
pub(crate) struct Open<T> {
    known: BTreeMap<OperationId, (Instant, T)>,
    line: BTreeSet<(Instant, OperationId)>,
}

impl<T> Default for Open<T> {
    fn default() -> Self {
        Open { known: BTreeMap::new(), line: BTreeSet::new() }
    }
}

impl<T: Clone> Open<T> {
    /// One is open. One that was known is due when it was.
    pub(crate) fn add(&mut self, id: OperationId, due: Instant, about: T) {
        match self.known.get_mut(&id) {
            Some(known) => known.1 = about,
            None => {
                self.line.insert((due, id.clone()));
                self.known.insert(id, (due, about));
            }
        }
    }

    /// One is over.
    pub(crate) fn remove(&mut self, id: &OperationId) {
        if let Some((due, _)) = self.known.remove(id) {
            self.line.remove(&(due, id.clone()));
        }
    }

    /// All but these are over.
    pub(crate) fn keep(&mut self, open: &BTreeSet<OperationId>) {
        self.known.retain(|id, _| open.contains(id));
        self.line.retain(|(_, id)| open.contains(id));
    }

    /// When the first is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.line.first().map(|(due, _)| *due)
    }

    /// Those that are due by now. They are due again after `again`.
    pub(crate) fn late(&mut self, now: Instant, again: Duration) -> Vec<T> {
        let mut late = Vec::new();
        while self.next().is_some_and(|due| due <= now) {
            let Some((_, id)) = self.line.pop_first() else { break };
            if let Some((due, about)) = self.known.get_mut(&id) {
                *due = now + again;
                late.push(about.clone());
                self.line.insert((*due, id));
            }
        }
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn guarantees_what_is_open_is_due_again_and_again() {
        let start = Instant::now();
        let mut open = Open::default();
        open.add("a".into(), start + SECOND, 'a');
        open.add("b".into(), start + SECOND, 'b');
        open.add("a".into(), start + 2 * SECOND, 'A');
        assert_eq!(open.next(), Some(start + SECOND));
        assert!(open.late(start, SECOND).is_empty());
        assert_eq!(open.late(start + SECOND, SECOND), ['A', 'b']);
        open.remove(&"a".into());
        open.add("c".into(), start + 3 * SECOND, 'c');
        assert_eq!(open.next(), Some(start + 2 * SECOND), "b is looked at again");
        // One that is opened again is due once.
        open.remove(&"c".into());
        open.add("c".into(), start + 3 * SECOND, 'C');
        assert_eq!(open.late(start + 3 * SECOND, SECOND), ['b', 'C'], "what came meanwhile is not lost");
        open.remove(&"b".into());
        open.remove(&"c".into());
        assert!(open.late(start + 9 * SECOND, SECOND).is_empty());
        assert_eq!(open.next(), None, "and then there is rest");
    }

    #[tokio::test]
    async fn guarantees_a_look_at_everything_puts_nothing_off() {
        let start = Instant::now();
        let mut open = Open::default();
        open.add("over".into(), start, 'o');
        // A database whose connection is lost every second has everything looked at as often.
        for look in 0..60 {
            open.keep(&BTreeSet::from(["a".into()]));
            open.add("a".into(), start + look * SECOND + 60 * SECOND, 'a');
        }
        assert_eq!(open.late(start + 60 * SECOND, SECOND), ['a']);
    }
}
