//! What a backend keeps in mind between two runs of its units. All of it is lost with the process, and found again at its start.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_ledger::ids::OperationId;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Operations that are open, and when somebody looks after those that stay so.
#[derive(Default)]
pub(super) struct Open {
    ids: BTreeSet<OperationId>,
    /// In the order in which they are due. Those that are over by then are passed over.
    line: VecDeque<(Instant, OperationId)>,
}

impl Open {
    /// One is open.
    pub(super) fn add(&mut self, id: OperationId, due: Instant) {
        if self.ids.insert(id.clone()) {
            self.line.push_back((due, id));
        }
    }

    /// One is over.
    pub(super) fn remove(&mut self, id: &OperationId) {
        self.ids.remove(id);
    }

    /// None is known.
    pub(super) fn clear(&mut self) {
        *self = Open::default();
    }

    /// When the first may be due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.line.front().map(|(due, _)| *due)
    }

    /// Whether one that is due by now is still open. It is due again after `again`.
    pub(super) fn is_late(&mut self, now: Instant, again: Duration) -> bool {
        let mut is_late = false;
        while let Some((_, id)) = self.line.pop_front_if(|(due, _)| *due <= now) {
            if self.ids.contains(&id) {
                self.line.push_back((now + again, id));
                is_late = true;
            }
        }
        is_late
    }
}

/// Namespaces whose repositories were compared with all that their resources name.
///
/// Whoever finds that one of them may be named no longer marks its namespace, and all of it is looked at once more. A deployment that
/// comes adds its repository itself: for that nothing is looked at.
#[derive(Default)]
pub(super) struct Settled {
    namespaces: Mutex<BTreeMap<Box<str>, Namespace>>,
    /// Marked, and not told of yet.
    marked: Mutex<BTreeSet<Box<str>>>,
    rung: Notify,
}

#[derive(Default)]
struct Namespace {
    /// How often it was marked.
    marks: u64,
    /// What was seen beside its deployments when it was settled.
    seen: Option<u64>,
}

impl Settled {
    /// None if nothing is to be looked at; else a number that says how often it was marked until now.
    pub(super) fn look(&self, namespace: &str, seen: u64) -> Option<u64> {
        let mut all = lock(&self.namespaces);
        let known = all.entry(namespace.into()).or_default();
        (known.seen != Some(seen)).then_some(known.marks)
    }

    /// All was looked at, and is as it should be; unless it was marked meanwhile. Remembered while the namespace is there.
    pub(super) fn set(&self, namespace: &str, seen: u64, marks: u64, is_there: bool) {
        let mut all = lock(&self.namespaces);
        if !is_there {
            all.remove(namespace);
        } else if let Some(known) = all.get_mut(namespace).filter(|known| known.marks == marks) {
            known.seen = Some(seen);
        }
    }

    /// A namespace is to be looked at again.
    pub(super) fn mark(&self, namespace: &str) {
        self.unsettle(namespace);
        lock(&self.marked).insert(namespace.into());
        self.rung.notify_one();
    }

    /// The same, by somebody who wakes it himself.
    pub(super) fn unsettle(&self, namespace: &str) {
        let mut all = lock(&self.namespaces);
        let known = all.entry(namespace.into()).or_default();
        known.marks += 1;
        known.seen = None;
    }

    /// Nothing that was seen counts any more.
    pub(super) fn unsettle_all(&self) {
        for known in lock(&self.namespaces).values_mut() {
            known.marks += 1;
            known.seen = None;
        }
    }

    /// Waits until namespaces are marked, and gives them.
    pub(super) async fn marked(&self) -> BTreeSet<Box<str>> {
        loop {
            let marked = std::mem::take(&mut *lock(&self.marked));
            if !marked.is_empty() {
                return marked;
            }
            self.rung.notified().await;
        }
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_changes_while_it_looks_is_looked_at() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut open = Open::default();
        open.add("a".into(), start + second);
        open.add("b".into(), start + second);
        open.add("a".into(), start + 2 * second);
        assert_eq!(open.next(), Some(start + second));
        assert!(!open.is_late(start, second));
        open.remove(&"a".into());
        assert!(open.is_late(start + second, second));
        open.add("c".into(), start + 3 * second);
        assert_eq!(open.next(), Some(start + 2 * second), "b is looked at again");
        open.remove(&"b".into());
        assert!(!open.is_late(start + 2 * second, second), "a and b are over");
        assert!(open.is_late(start + 3 * second, second), "what came meanwhile is not lost");
        open.remove(&"c".into());
        assert!(!open.is_late(start + 9 * second, second));
        assert_eq!(open.next(), None, "and then there is rest");
    }

    #[tokio::test]
    async fn what_is_marked_while_it_is_looked_at_is_looked_at_again() {
        let settled = Settled::default();
        let marks = settled.look("shop", 7).unwrap_or_default();
        settled.set("shop", 7, marks, true);
        assert_eq!(settled.look("shop", 7), None);
        assert!(settled.look("shop", 8).is_some(), "something else was seen");
        let marks = settled.look("shop", 8).unwrap_or_default();
        settled.mark("shop");
        settled.set("shop", 8, marks, true);
        assert!(settled.look("shop", 8).is_some(), "marked since");
        assert_eq!(settled.marked().await.len(), 1);
    }
}
