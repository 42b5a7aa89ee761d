//! State of a backend between runs of its units. It is lost with the process and rebuilt after a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Namespaces whose repository rows match the repositories of their resources.
///
/// A namespace is marked when one of its repositories may no longer be referenced; then all of its resources are
/// compared again. A new deployment adds its repository itself, without a comparison.
#[derive(Default)]
pub(crate) struct SettledNamespaces {
    namespaces: Mutex<BTreeMap<Box<str>, NamespaceState>>,
    /// Marked namespaces that have not been returned yet.
    marked: Mutex<BTreeSet<Box<str>>>,
    notify: Notify,
}

#[derive(Default)]
struct NamespaceState {
    /// Number of marks.
    marks: u64,
    /// Digest of the namespace's other inputs when it was settled.
    seen: Option<u64>,
}

impl SettledNamespaces {
    /// Returns `None` if the namespace is settled, otherwise the number of its marks.
    pub(crate) fn check(&self, namespace: &str, seen: u64) -> Option<u64> {
        let mut all = lock(&self.namespaces);
        let state = all.entry(namespace.into()).or_default();
        (state.seen != Some(seen)).then_some(state.marks)
    }

    /// Settles a namespace, unless it was marked since. A deleted namespace is removed.
    pub(crate) fn settle(&self, namespace: &str, seen: u64, marks: u64, is_there: bool) {
        let mut all = lock(&self.namespaces);
        if !is_there {
            all.remove(namespace);
        } else if let Some(state) = all.get_mut(namespace).filter(|state| state.marks == marks) {
            state.seen = Some(seen);
        }
    }

    /// Marks a namespace and triggers its unit.
    pub(crate) fn mark(&self, namespace: &str) {
        self.invalidate(namespace);
        lock(&self.marked).insert(namespace.into());
        self.notify.notify_one();
    }

    /// Marks a namespace whose unit the caller triggers.
    pub(crate) fn invalidate(&self, namespace: &str) {
        let mut all = lock(&self.namespaces);
        let state = all.entry(namespace.into()).or_default();
        state.marks += 1;
        state.seen = None;
    }

    /// Marks all namespaces.
    pub(crate) fn invalidate_all(&self) {
        for state in lock(&self.namespaces).values_mut() {
            state.marks += 1;
            state.seen = None;
        }
    }

    /// Waits for marked namespaces and returns them.
    pub(crate) async fn marked(&self) -> BTreeSet<Box<str>> {
        loop {
            let marked = std::mem::take(&mut *lock(&self.marked));
            if !marked.is_empty() {
                return marked;
            }
            self.notify.notified().await;
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
    async fn a_namespace_marked_during_a_check_is_checked_again() {
        let settled = SettledNamespaces::default();
        let marks = settled.check("shop", 7).unwrap_or_default();
        settled.settle("shop", 7, marks, true);
        assert_eq!(settled.check("shop", 7), None);
        assert!(settled.check("shop", 8).is_some(), "the fingerprint has changed");
        let marks = settled.check("shop", 8).unwrap_or_default();
        settled.mark("shop");
        settled.settle("shop", 8, marks, true);
        assert!(settled.check("shop", 8).is_some(), "marked meanwhile");
        assert_eq!(settled.marked().await.len(), 1);
    }
}
