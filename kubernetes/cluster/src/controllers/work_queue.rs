//! Work queue without duplicates.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::store::StoreKey;

/// Work item of a controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum WorkItem {
    /// Object whose owners, or whose foreground deletion, must be checked.
    Collect(StoreKey),
    /// Deleted object that orphans its dependents.
    Orphan(StoreKey),
    /// Terminating namespace.
    Namespace(StoreKey),
    /// Namespace that needs its service account and root certificate.
    Provision(StoreKey),
    /// Secret that holds, or should hold, a service account's token.
    Token(StoreKey),
    /// Aggregated cluster roles.
    Aggregate(Arc<str>),
    /// Deleted volume or claim with a protection finalizer.
    Release(StoreKey),
}

impl WorkItem {
    /// Returns the logical cluster.
    pub fn cluster(&self) -> &str {
        match self {
            Self::Collect(key)
            | Self::Orphan(key)
            | Self::Namespace(key)
            | Self::Provision(key)
            | Self::Token(key)
            | Self::Release(key) => key.cluster(),
            Self::Aggregate(cluster) => cluster,
        }
    }
}

/// Work items in the order they were added, each once. Bounded by the number of objects.
#[derive(Debug, Default)]
pub(super) struct WorkQueue {
    order: VecDeque<WorkItem>,
    tries: HashMap<WorkItem, u32>,
}

impl WorkQueue {
    /// Enqueues an item.
    pub fn add(&mut self, work: WorkItem) {
        self.retry(work, 0);
    }

    /// Enqueues an item again after a number of tries.
    pub fn retry(&mut self, work: WorkItem, tries: u32) {
        if let std::collections::hash_map::Entry::Vacant(free) = self.tries.entry(work) {
            self.order.push_back(free.key().clone());
            free.insert(tries);
        }
    }

    /// Returns the next items, at most `limit`, with the number of tries of each.
    pub fn next_batch(&mut self, limit: usize) -> Vec<(WorkItem, u32)> {
        let count = limit.min(self.order.len());
        let round = self.order.drain(..count);
        let tries = &mut self.tries;
        round.map(|work| tries.remove_entry(&work).expect("every queued item has a number of tries")).collect()
    }

    /// Drops all items except ownership checks, from which the graph learns of owners whose kind is not served.
    pub fn retain_collect_items(&mut self) {
        self.order.retain(|work| matches!(work, WorkItem::Collect(_)));
        self.tries.retain(|work, _| matches!(work, WorkItem::Collect(_)));
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}
