//! What a backend keeps in mind between two runs of its units. All of it is lost with the process, and found again at its start.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

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
