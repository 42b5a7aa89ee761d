//! Order of cached values by their last use.

use std::collections::{BTreeMap, HashMap};

use crate::resource::ObjectKey;

/// Sizes of cached values, least recently used first.
#[derive(Default)]
pub(super) struct Recency {
    used: u64,
    bytes: usize,
    by_key: HashMap<ObjectKey, (u64, usize)>,
    by_use: BTreeMap<u64, ObjectKey>,
}

impl Recency {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a value, or replaces that of its key.
    pub fn insert(&mut self, key: &ObjectKey, bytes: usize) {
        self.remove(key);
        self.used += 1;
        self.bytes += bytes;
        self.by_key.insert(key.clone(), (self.used, bytes));
        self.by_use.insert(self.used, key.clone());
    }

    pub fn touch(&mut self, key: &ObjectKey) {
        if let Some((used, _)) = self.by_key.get_mut(key) {
            self.used += 1;
            self.by_use.remove(used);
            *used = self.used;
            self.by_use.insert(self.used, key.clone());
        }
    }

    pub fn remove(&mut self, key: &ObjectKey) {
        if let Some((used, bytes)) = self.by_key.remove(key) {
            self.by_use.remove(&used);
            self.bytes -= bytes;
        }
    }

    /// Removes and returns the least recently used value.
    pub fn pop(&mut self) -> Option<ObjectKey> {
        let (_, key) = self.by_use.pop_first()?;
        if let Some((_, bytes)) = self.by_key.remove(&key) {
            self.bytes -= bytes;
        }
        Some(key)
    }
}
