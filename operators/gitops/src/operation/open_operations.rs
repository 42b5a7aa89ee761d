//! Open Operations according to the last events, to check those that stay open.
//!
//! The set is lost with the process and rebuilt after a restart. Without open Operations there are no queries.
//!
//! # Guarantees
//! - An open Operation is due repeatedly until it finishes.          // test: guarantees_open_operations_are_due_until_they_finish
//! - A resync delays no due time, however often it happens.          // test: guarantees_a_resync_delays_nothing

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::ids::OperationId;

/// Open Operations with their next due times. `T` is data of the caller.
pub(crate) struct OpenOperations<T> {
    known: BTreeMap<OperationId, (Instant, T)>,
    queue: BTreeSet<(Instant, OperationId)>,
}

impl<T> Default for OpenOperations<T> {
    fn default() -> Self {
        OpenOperations { known: BTreeMap::new(), queue: BTreeSet::new() }
    }
}

impl<T: Clone> OpenOperations<T> {
    /// Adds an Operation. A known one keeps its due time.
    pub(crate) fn add(&mut self, id: OperationId, due: Instant, about: T) {
        match self.known.get_mut(&id) {
            Some(known) => known.1 = about,
            None => {
                self.queue.insert((due, id.clone()));
                self.known.insert(id, (due, about));
            }
        }
    }

    /// Removes a finished Operation.
    pub(crate) fn remove(&mut self, id: &OperationId) {
        if let Some((due, _)) = self.known.remove(id) {
            self.queue.remove(&(due, id.clone()));
        }
    }

    /// Removes all Operations but these.
    pub(crate) fn keep(&mut self, open: &BTreeSet<OperationId>) {
        self.known.retain(|id, _| open.contains(id));
        self.queue.retain(|(_, id)| open.contains(id));
    }

    /// Returns the first due time.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.first().map(|(due, _)| *due)
    }

    /// Returns the Operations that are due, and schedules them again after `again`.
    pub(crate) fn take_overdue(&mut self, now: Instant, again: Duration) -> Vec<T> {
        let mut late = Vec::new();
        while self.next().is_some_and(|due| due <= now) {
            let Some((_, id)) = self.queue.pop_first() else { break };
            if let Some((due, about)) = self.known.get_mut(&id) {
                *due = now + again;
                late.push(about.clone());
                self.queue.insert((*due, id));
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
    async fn guarantees_open_operations_are_due_until_they_finish() {
        let start = Instant::now();
        let mut open = OpenOperations::default();
        open.add("a".into(), start + SECOND, 'a');
        open.add("b".into(), start + SECOND, 'b');
        open.add("a".into(), start + 2 * SECOND, 'A');
        assert_eq!(open.next(), Some(start + SECOND));
        assert!(open.take_overdue(start, SECOND).is_empty());
        assert_eq!(open.take_overdue(start + SECOND, SECOND), ['A', 'b']);
        open.remove(&"a".into());
        open.add("c".into(), start + 3 * SECOND, 'c');
        assert_eq!(open.next(), Some(start + 2 * SECOND), "b is due again");
        // An Operation that is added again is due once.
        open.remove(&"c".into());
        open.add("c".into(), start + 3 * SECOND, 'C');
        assert_eq!(open.take_overdue(start + 3 * SECOND, SECOND), ['b', 'C'], "operations added meanwhile are kept");
        open.remove(&"b".into());
        open.remove(&"c".into());
        assert!(open.take_overdue(start + 9 * SECOND, SECOND).is_empty());
        assert_eq!(open.next(), None, "then nothing is due");
    }

    #[tokio::test]
    async fn guarantees_a_resync_delays_nothing() {
        let start = Instant::now();
        let mut open = OpenOperations::default();
        open.add("over".into(), start, 'o');
        // A database connection that is lost every second causes as many resyncs.
        for look in 0..60 {
            open.keep(&BTreeSet::from(["a".into()]));
            open.add("a".into(), start + look * SECOND + 60 * SECOND, 'a');
        }
        assert_eq!(open.take_overdue(start + 60 * SECOND, SECOND), ['a']);
    }
}
