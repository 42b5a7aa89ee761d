//! Watch groups: an index of watchers, so that a write notifies only watchers it concerns.
//!
//! A watcher belongs to the group of the narrowest aligned prefix that covers its prefix: one object, a namespace of a
//! resource, a resource, or everything. A change looks up these four prefixes; without watchers it costs four lookups.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::StoreChange;
use super::key::up_to;
use super::watch::EncodedBatch;

/// Watchers of one prefix. They share one notification; each reads the shared history from its own position.
#[derive(Debug)]
pub(super) struct WatchGroup {
    pub(super) sender: watch::Sender<u64>,
    /// Newest change of this group that the history no longer holds.
    forgotten: AtomicU64,
    /// Encoding of the newest changes by one watcher, for the other watchers with the same form.
    pub(super) shared: Mutex<Option<EncodedBatch>>,
}

impl WatchGroup {
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Acquire)
    }
}

#[derive(Debug, Default)]
pub(super) struct WatchHub {
    groups: HashMap<Box<str>, WatchGroupEntry>,
}

#[derive(Debug)]
struct WatchGroupEntry {
    group: Arc<WatchGroup>,
    /// Batch that last collected this group, so that it is notified once per batch.
    collected: u64,
}

impl WatchHub {
    pub(super) fn join(&mut self, prefix: &str) -> Arc<WatchGroup> {
        let name = group_of(prefix);
        if let Some(entry) = self.groups.get(name) {
            return entry.group.clone();
        }
        let group = Arc::new(WatchGroup {
            sender: watch::Sender::new(0),
            forgotten: AtomicU64::new(0),
            shared: Mutex::default(),
        });
        self.groups.insert(name.into(), WatchGroupEntry { group: group.clone(), collected: 0 });
        group
    }

    /// Removes the group of `prefix` after its last watcher has left.
    pub(super) fn remove_if_empty(&mut self, prefix: &str) {
        let name = group_of(prefix);
        if self.groups.get(name).is_some_and(|entry| entry.group.sender.receiver_count() == 0) {
            self.groups.remove(name);
        }
    }

    /// Returns the groups that a batch concerns, each once.
    pub(super) fn groups_for(&mut self, batch: &[Arc<StoreChange>], revision: u64) -> Vec<Arc<WatchGroup>> {
        let mut touched = Vec::new();
        if self.groups.is_empty() {
            return touched;
        }
        for change in batch {
            for name in names(change.key.as_str()) {
                if let Some(entry) = self.groups.get_mut(name).filter(|entry| entry.collected != revision) {
                    entry.collected = revision;
                    touched.push(entry.group.clone());
                }
            }
        }
        touched
    }

    /// Records that the history dropped `change`: watchers that have not read it cannot continue.
    pub(super) fn forgotten(&self, change: &StoreChange) {
        if self.groups.is_empty() {
            return;
        }
        for name in names(change.key.as_str()) {
            if let Some(entry) = self.groups.get(name) {
                entry.group.forgotten.store(change.revision, Ordering::Release);
            }
        }
    }

    pub(super) fn all(&self) -> Vec<Arc<WatchGroup>> {
        self.groups.values().map(|entry| entry.group.clone()).collect()
    }
}

/// Returns the group that a watch of `prefix` joins.
fn group_of(prefix: &str) -> &str {
    let separators = prefix.matches('/').count();
    match separators {
        0 | 1 => "",
        2 => up_to(prefix, 2).unwrap_or(""),
        _ if prefix.ends_with('/') => prefix,
        _ => up_to(prefix, 3).unwrap_or(""),
    }
}

/// Returns the groups that a change of `key` concerns, each once.
fn names(key: &str) -> impl Iterator<Item = &str> {
    [Some(""), up_to(key, 2), up_to(key, 3)].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_joins_the_narrowest_group_whose_changes_cover_it() {
        assert_eq!(group_of(""), "");
        assert_eq!(group_of("root/"), "");
        assert_eq!(group_of("root/pods/"), "root/pods/");
        assert_eq!(group_of("root/pods/sh"), "root/pods/");
        assert_eq!(group_of("root/pods/shop/"), "root/pods/shop/");
        assert_eq!(group_of("root/pods/shop/web"), "root/pods/shop/");
        let woken: Vec<_> = names("root/pods/shop/web").collect();
        assert_eq!(woken, ["", "root/pods/", "root/pods/shop/"]);
    }
}
