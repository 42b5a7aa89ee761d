//! State visible to readers: objects, recent changes and watchers.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use super::key::{StoreKey, up_to};
use super::limits::StoreLimits;
use super::watch_groups::{WatchGroup, WatchHub};
use super::{ReadError, StoreChange, StorePage, StoredObject};

/// Revision of an empty store, as in etcd.
pub(super) const FIRST_REVISION: u64 = 1;

#[derive(Debug)]
pub(super) struct StoreState {
    pub(super) objects: BTreeMap<StoreKey, StoredObject>,
    pub(super) revision: u64,
    /// Revision up to which changes are dropped.
    pub(super) compacted: u64,
    pub(super) hub: WatchHub,
    history: VecDeque<Arc<StoreChange>>,
    /// The same changes by resource, so that a watcher never scans changes of other resources.
    by_resource: HashMap<Box<str>, VecDeque<Arc<StoreChange>>>,
    history_bytes: usize,
    /// Revisions at points in time, oldest first.
    marks: VecDeque<(Duration, u64)>,
    pub(super) closed: bool,
}

impl StoreState {
    pub(super) fn new() -> StoreState {
        StoreState::at(BTreeMap::new(), FIRST_REVISION, 0)
    }

    /// Creates a state whose changes up to `compacted` are unknown.
    pub(super) fn at(objects: BTreeMap<StoreKey, StoredObject>, revision: u64, compacted: u64) -> StoreState {
        StoreState {
            objects,
            revision,
            compacted,
            hub: WatchHub::default(),
            history: VecDeque::new(),
            by_resource: HashMap::new(),
            history_bytes: 0,
            marks: VecDeque::new(),
            closed: false,
        }
    }

    /// Makes a batch visible. Returns the groups of watchers to notify after the lock is released.
    pub(super) fn publish(&mut self, batch: &[Arc<StoreChange>], bounds: &StoreLimits) -> Vec<Arc<WatchGroup>> {
        for change in batch {
            self.apply(change);
        }
        self.trim(bounds);
        self.hub.groups_for(batch, self.revision)
    }

    fn apply(&mut self, change: &Arc<StoreChange>) {
        debug_assert_eq!(change.revision, self.revision + 1, "revisions are dense and published in order");
        self.revision = change.revision;
        match &change.after {
            Some(record) => self.objects.insert(change.key.clone(), record.clone()),
            None => self.objects.remove(&change.key),
        };
        self.history_bytes += reclaimed_bytes(change);
        self.history.push_back(change.clone());
        let resource = resource_of(change.key.as_str());
        match self.by_resource.get_mut(resource) {
            Some(changes) => changes.push_back(change.clone()),
            None => {
                self.by_resource.insert(resource.into(), VecDeque::from([change.clone()]));
            }
        }
    }

    fn trim(&mut self, bounds: &StoreLimits) {
        while self.history.len() > bounds.history_changes || self.history_bytes > bounds.history_bytes {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.history.pop_front() else { return };
        self.history_bytes -= reclaimed_bytes(&oldest);
        self.compacted = oldest.revision;
        let resource = resource_of(oldest.key.as_str());
        let changes = self.by_resource.get_mut(resource).expect("every kept change is indexed by its resource");
        changes.pop_front();
        if changes.is_empty() {
            self.by_resource.remove(resource);
        }
        self.hub.forgotten(&oldest);
    }

    /// Drops changes up to and including `revision`.
    pub(super) fn compact(&mut self, revision: u64) {
        while self.history.front().is_some_and(|oldest| oldest.revision <= revision) {
            self.forget_oldest();
        }
        self.compacted = self.compacted.max(revision.min(self.revision));
    }

    /// Drops changes older than `age` before `now`.
    pub(super) fn tick(&mut self, now: Duration, age: Duration) {
        let mut old = None;
        while self.marks.front().is_some_and(|(at, _)| *at + age <= now) {
            old = self.marks.pop_front().map(|(_, revision)| revision);
        }
        if let Some(revision) = old {
            self.compact(revision);
        }
        // Ten marks per age keep the list short, however often the clock ticks.
        if self.marks.back().is_none_or(|(at, _)| *at + age / 10 <= now) {
            self.marks.push_back((now, self.revision));
        }
    }

    /// Checks that all changes after `revision` are still known.
    pub(super) fn check(&self, revision: u64) -> Result<(), ReadError> {
        if revision > self.revision {
            return Err(ReadError::Future { current: self.revision });
        }
        if revision < self.compacted {
            return Err(ReadError::Compacted { oldest: self.compacted });
        }
        Ok(())
    }

    pub(super) fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
        at: Option<u64>,
    ) -> Result<StorePage, ReadError> {
        let revision = at.unwrap_or(self.revision);
        self.check(revision)?;
        let undone = self.states_at(prefix, revision);
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let current = self.range(prefix, start).filter(|(key, _)| !undone.contains_key(*key));
        let restored = undone
            .range::<str, _>((start, Bound::Unbounded))
            .filter_map(|(key, record)| record.as_ref().map(|record| (key, record)));
        let limit = if limit == 0 { usize::MAX } else { limit };
        let mut page = StorePage { records: Vec::new(), revision, remaining: 0 };
        let merged = MergedEntries { left: current.peekable(), right: restored.peekable() };
        for (key, record) in merged {
            if page.records.len() < limit {
                page.records.push((key.clone(), record.clone()));
            } else {
                page.remaining += 1;
            }
        }
        Ok(page)
    }

    fn range<'a>(
        &'a self,
        prefix: &'a str,
        start: Bound<&'a str>,
    ) -> impl Iterator<Item = (&'a StoreKey, &'a StoredObject)> {
        self.objects
            .range::<str, _>((start, Bound::Unbounded))
            .take_while(move |(key, _)| key.as_str().starts_with(prefix))
    }

    /// Returns the state at `revision` of the objects under `prefix` that changed after it.
    fn states_at(&self, prefix: &str, revision: u64) -> BTreeMap<StoreKey, Option<StoredObject>> {
        let mut undone = BTreeMap::new();
        if revision < self.revision {
            for change in self.changes_after(prefix, revision).rev() {
                undone.insert(change.key.clone(), change.before.clone());
            }
        }
        undone
    }

    /// Returns the changes under `prefix` after `revision`, oldest first.
    pub(super) fn changes_after(
        &self,
        prefix: &str,
        revision: u64,
    ) -> impl DoubleEndedIterator<Item = &Arc<StoreChange>> {
        static NONE: VecDeque<Arc<StoreChange>> = VecDeque::new();
        let changes = match up_to(prefix, 2) {
            Some(resource) => self.by_resource.get(resource).unwrap_or(&NONE),
            None => &self.history,
        };
        let start = changes.partition_point(|change| change.revision <= revision);
        changes.range(start..).filter(move |change| change.key.as_str().starts_with(prefix))
    }

    /// Returns every kept change, oldest first.
    pub(super) fn history(&self) -> &VecDeque<Arc<StoreChange>> {
        &self.history
    }
}

/// Returns the bytes that dropping this change frees: the new state is either current or the `before` of a later
/// change.
fn reclaimed_bytes(change: &StoreChange) -> usize {
    change.before.as_ref().map_or(0, |before| before.bytes.len()) + change.last.len()
}

fn resource_of(key: &str) -> &str {
    up_to(key, 2).unwrap_or(key)
}

/// Merge of two key-ordered sequences without common keys.
struct MergedEntries<L: Iterator, R: Iterator> {
    left: std::iter::Peekable<L>,
    right: std::iter::Peekable<R>,
}

impl<'a, L, R> Iterator for MergedEntries<L, R>
where
    L: Iterator<Item = (&'a StoreKey, &'a StoredObject)>,
    R: Iterator<Item = (&'a StoreKey, &'a StoredObject)>,
{
    type Item = (&'a StoreKey, &'a StoredObject);

    fn next(&mut self) -> Option<Self::Item> {
        match (self.left.peek(), self.right.peek()) {
            (Some(left), Some(right)) if right.0 < left.0 => self.right.next(),
            (None, Some(_)) => self.right.next(),
            _ => self.left.next(),
        }
    }
}
