//! What is to be done, each thing once.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::store::Key;

/// A thing to look at and put right.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Work {
    /// An object whose owners, or whose foreground deletion, must be looked at.
    Collect(Key),
    /// An object that is deleted and lets its dependents live.
    Orphan(Key),
    /// A namespace that is going away.
    Namespace(Key),
    /// A namespace that needs its service account and root certificate.
    Equip(Key),
    /// A Secret that holds, or should hold, a service account's token.
    Token(Key),
    /// The cluster roles that are made of others.
    Aggregate(Arc<str>),
    /// A volume or claim that is deleted and protected while in use.
    Release(Key),
}

impl Work {
    /// The logical cluster it is about.
    pub fn cluster(&self) -> &str {
        match self {
            Self::Collect(key)
            | Self::Orphan(key)
            | Self::Namespace(key)
            | Self::Equip(key)
            | Self::Token(key)
            | Self::Release(key) => key.cluster(),
            Self::Aggregate(cluster) => cluster,
        }
    }
}

/// Work in the order it was asked for. Bounded by the number of objects: the same work stands in it once.
#[derive(Debug, Default)]
pub(super) struct Queue {
    order: VecDeque<Work>,
    tries: HashMap<Work, u32>,
}

impl Queue {
    /// Asks for work.
    pub fn add(&mut self, work: Work) {
        self.again(work, 0);
    }

    /// Asks for work that has been tried before.
    pub fn again(&mut self, work: Work, tries: u32) {
        if let std::collections::hash_map::Entry::Vacant(free) = self.tries.entry(work) {
            self.order.push_back(free.key().clone());
            free.insert(tries);
        }
    }

    /// The next pieces of work, at most `limit`, with how often each was tried.
    pub fn round(&mut self, limit: usize) -> Vec<(Work, u32)> {
        let count = limit.min(self.order.len());
        let round = self.order.drain(..count);
        let tries = &mut self.tries;
        round.map(|work| tries.remove_entry(&work).expect("what is in order has its tries")).collect()
    }

    /// Forgets all work but looking at owners, from which the graph learns whose kind nobody serves.
    pub fn keep_collecting(&mut self) {
        self.order.retain(|work| matches!(work, Work::Collect(_)));
        self.tries.retain(|work, _| matches!(work, Work::Collect(_)));
    }

    /// Nothing is left.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}
