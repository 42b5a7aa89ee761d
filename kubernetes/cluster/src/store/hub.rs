//! Who waits for changes, indexed so that a write wakes only watchers it concerns.
//!
//! A watcher belongs to the group of the narrowest aligned prefix that covers what it watches: one object, a namespace of a
//! resource, a resource, or everything. A change looks up those four names; what nobody watches costs four lookups.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::Change;
use super::key::up_to;
use super::watch::Encoded;

/// Watchers of one prefix. They share one wake-up; each reads the shared history from where it stands.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) sender: watch::Sender<u64>,
    /// The newest change of this group that the history no longer holds.
    forgotten: AtomicU64,
    /// What one of them made of the newest changes, for the others that want the same.
    pub(super) shared: Mutex<Option<Encoded>>,
}

impl Group {
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Acquire)
    }
}

#[derive(Debug, Default)]
pub(super) struct Hub {
    groups: HashMap<Box<str>, Entry>,
}

#[derive(Debug)]
struct Entry {
    group: Arc<Group>,
    /// The batch that last collected this group, so that it is woken once a batch.
    collected: u64,
}

impl Hub {
    pub(super) fn join(&mut self, prefix: &str) -> Arc<Group> {
        let name = group_of(prefix);
        if let Some(entry) = self.groups.get(name) {
            return entry.group.clone();
        }
        let group =
            Arc::new(Group { sender: watch::Sender::new(0), forgotten: AtomicU64::new(0), shared: Mutex::default() });
        self.groups.insert(name.into(), Entry { group: group.clone(), collected: 0 });
        group
    }

    /// Forgets the group of `prefix` when its last watcher has left.
    pub(super) fn leave(&mut self, prefix: &str) {
        let name = group_of(prefix);
        if self.groups.get(name).is_some_and(|entry| entry.group.sender.receiver_count() == 0) {
            self.groups.remove(name);
        }
    }

    /// The groups a batch concerns, each once.
    pub(super) fn touched(&mut self, batch: &[Arc<Change>], revision: u64) -> Vec<Arc<Group>> {
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

    /// The history dropped `change`: watchers it concerns that have not read it yet cannot go on.
    pub(super) fn forgotten(&self, change: &Change) {
        if self.groups.is_empty() {
            return;
        }
        for name in names(change.key.as_str()) {
            if let Some(entry) = self.groups.get(name) {
                entry.group.forgotten.store(change.revision, Ordering::Release);
            }
        }
    }

    pub(super) fn all(&self) -> Vec<Arc<Group>> {
        self.groups.values().map(|entry| entry.group.clone()).collect()
    }
}

/// The group a watch of `prefix` joins.
fn group_of(prefix: &str) -> &str {
    let separators = prefix.matches('/').count();
    match separators {
        0 | 1 => "",
        2 => up_to(prefix, 2).unwrap_or(""),
        _ if prefix.ends_with('/') => prefix,
        _ => up_to(prefix, 3).unwrap_or(""),
    }
}

/// The groups a change of `key` wakes, each name once.
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
