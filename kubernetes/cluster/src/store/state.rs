//! What readers see: the objects, the changes that led there, and who waits for more.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use super::bounds::Bounds;
use super::hub::{Group, Hub};
use super::key::{Key, up_to};
use super::{Change, Page, ReadError, Record};

/// The revision of an empty store, as in etcd.
pub(super) const FIRST_REVISION: u64 = 1;

#[derive(Debug)]
pub(super) struct State {
    pub(super) objects: BTreeMap<Key, Record>,
    pub(super) revision: u64,
    /// Changes up to here are forgotten.
    pub(super) compacted: u64,
    pub(super) hub: Hub,
    history: VecDeque<Arc<Change>>,
    /// The same changes by resource, so that a watcher never walks past those of others.
    by_resource: HashMap<Box<str>, VecDeque<Arc<Change>>>,
    history_bytes: usize,
    /// Revisions seen at times, oldest first.
    marks: VecDeque<(Duration, u64)>,
    pub(super) closed: bool,
}

impl State {
    pub(super) fn new() -> State {
        State::at(BTreeMap::new(), FIRST_REVISION, 0)
    }

    /// A state whose changes up to `compacted` are unknown.
    pub(super) fn at(objects: BTreeMap<Key, Record>, revision: u64, compacted: u64) -> State {
        State {
            objects,
            revision,
            compacted,
            hub: Hub::default(),
            history: VecDeque::new(),
            by_resource: HashMap::new(),
            history_bytes: 0,
            marks: VecDeque::new(),
            closed: false,
        }
    }

    /// Makes a batch visible and returns the groups of watchers to wake once the lock is released.
    pub(super) fn publish(&mut self, batch: &[Arc<Change>], bounds: &Bounds) -> Vec<Arc<Group>> {
        for change in batch {
            self.apply(change);
        }
        self.trim(bounds);
        self.hub.touched(batch, self.revision)
    }

    fn apply(&mut self, change: &Arc<Change>) {
        debug_assert_eq!(change.revision, self.revision + 1, "revisions are dense and published in order");
        self.revision = change.revision;
        match &change.after {
            Some(record) => self.objects.insert(change.key.clone(), record.clone()),
            None => self.objects.remove(&change.key),
        };
        self.history_bytes += retained(change);
        self.history.push_back(change.clone());
        let resource = resource_of(change.key.as_str());
        match self.by_resource.get_mut(resource) {
            Some(changes) => changes.push_back(change.clone()),
            None => {
                self.by_resource.insert(resource.into(), VecDeque::from([change.clone()]));
            }
        }
    }

    fn trim(&mut self, bounds: &Bounds) {
        while self.history.len() > bounds.history_changes || self.history_bytes > bounds.history_bytes {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some(oldest) = self.history.pop_front() else { return };
        self.history_bytes -= retained(&oldest);
        self.compacted = oldest.revision;
        let resource = resource_of(oldest.key.as_str());
        let changes = self.by_resource.get_mut(resource).expect("a kept change is kept for its resource too");
        changes.pop_front();
        if changes.is_empty() {
            self.by_resource.remove(resource);
        }
        self.hub.forgotten(&oldest);
    }

    /// Forgets changes up to and including `revision`.
    pub(super) fn compact(&mut self, revision: u64) {
        while self.history.front().is_some_and(|oldest| oldest.revision <= revision) {
            self.forget_oldest();
        }
        self.compacted = self.compacted.max(revision.min(self.revision));
    }

    /// Forgets changes that were already there `age` before `now`.
    pub(super) fn tick(&mut self, now: Duration, age: Duration) {
        let mut old = None;
        while self.marks.front().is_some_and(|(at, _)| *at + age <= now) {
            old = self.marks.pop_front().map(|(_, revision)| revision);
        }
        if let Some(revision) = old {
            self.compact(revision);
        }
        // Ten marks per age keep the list short however often the clock ticks.
        if self.marks.back().is_none_or(|(at, _)| *at + age / 10 <= now) {
            self.marks.push_back((now, self.revision));
        }
    }

    /// Whether the changes after `revision` are all still known.
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
    ) -> Result<Page, ReadError> {
        let revision = at.unwrap_or(self.revision);
        self.check(revision)?;
        let undone = self.undone(prefix, revision);
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let current = self.range(prefix, start).filter(|(key, _)| !undone.contains_key(*key));
        let restored = undone
            .range::<str, _>((start, Bound::Unbounded))
            .filter_map(|(key, record)| record.as_ref().map(|record| (key, record)));
        let limit = if limit == 0 { usize::MAX } else { limit };
        let mut page = Page { records: Vec::new(), revision, remaining: 0 };
        let merged = Merged { left: current.peekable(), right: restored.peekable() };
        for (key, record) in merged {
            if page.records.len() < limit {
                page.records.push((key.clone(), record.clone()));
            } else {
                page.remaining += 1;
            }
        }
        Ok(page)
    }

    fn range<'a>(&'a self, prefix: &'a str, start: Bound<&'a str>) -> impl Iterator<Item = (&'a Key, &'a Record)> {
        self.objects
            .range::<str, _>((start, Bound::Unbounded))
            .take_while(move |(key, _)| key.as_str().starts_with(prefix))
    }

    /// What the objects under `prefix` that changed after `revision` were then.
    fn undone(&self, prefix: &str, revision: u64) -> BTreeMap<Key, Option<Record>> {
        let mut undone = BTreeMap::new();
        if revision < self.revision {
            for change in self.changes_after(prefix, revision).rev() {
                undone.insert(change.key.clone(), change.before.clone());
            }
        }
        undone
    }

    /// The changes under `prefix` after `revision`, oldest first.
    pub(super) fn changes_after(&self, prefix: &str, revision: u64) -> impl DoubleEndedIterator<Item = &Arc<Change>> {
        static NONE: VecDeque<Arc<Change>> = VecDeque::new();
        let changes = match up_to(prefix, 2) {
            Some(resource) => self.by_resource.get(resource).unwrap_or(&NONE),
            None => &self.history,
        };
        let start = changes.partition_point(|change| change.revision <= revision);
        changes.range(start..).filter(move |change| change.key.as_str().starts_with(prefix))
    }

    /// Every kept change, oldest first.
    pub(super) fn history(&self) -> &VecDeque<Arc<Change>> {
        &self.history
    }
}

/// What forgetting this change frees: the new state is either current or the `before` of a later change.
fn retained(change: &Change) -> usize {
    change.before.as_ref().map_or(0, |before| before.bytes.len()) + change.last.len()
}

fn resource_of(key: &str) -> &str {
    up_to(key, 2).unwrap_or(key)
}

/// Two key-ordered sequences without common keys as one.
struct Merged<L: Iterator, R: Iterator> {
    left: std::iter::Peekable<L>,
    right: std::iter::Peekable<R>,
}

impl<'a, L, R> Iterator for Merged<L, R>
where
    L: Iterator<Item = (&'a Key, &'a Record)>,
    R: Iterator<Item = (&'a Key, &'a Record)>,
{
    type Item = (&'a Key, &'a Record);

    fn next(&mut self) -> Option<Self::Item> {
        match (self.left.peek(), self.right.peek()) {
            (Some(left), Some(right)) if right.0 < left.0 => self.right.next(),
            (None, Some(_)) => self.right.next(),
            _ => self.left.next(),
        }
    }
}
