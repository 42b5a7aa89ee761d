//! Map that can remove its least recently used entries.

use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct LruMap<K, V> {
    values: BTreeMap<K, (u64, V)>,
    /// Keys by last use. A counter is used instead of a time, because several entries may be used at the same time.
    ages: BTreeMap<u64, K>,
    touched: u64,
}

impl<K, V> Default for LruMap<K, V> {
    fn default() -> Self {
        Self { values: BTreeMap::new(), ages: BTreeMap::new(), touched: 0 }
    }
}

impl<K: Ord + Clone, V> LruMap<K, V> {
    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.values.get(key).map(|(_, value)| value)
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.values.values().map(|(_, value)| value)
    }

    /// Returns the value and marks it as most recently used; creates it if it is missing.
    pub fn touch(&mut self, key: &K, new: impl FnOnce() -> V) -> &mut V {
        self.touched += 1;
        let entry = self.values.entry(key.clone()).or_insert_with(|| (0, new()));
        self.ages.remove(&entry.0);
        self.ages.insert(self.touched, key.clone());
        entry.0 = self.touched;
        &mut entry.1
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (age, value) = self.values.remove(key)?;
        self.ages.remove(&age);
        Some(value)
    }

    /// Removes the least recently used entry if there are more than `max`.
    pub fn shrink(&mut self, max: usize) -> Option<V> {
        if self.values.len() <= max {
            return None;
        }
        let (_, key) = self.ages.pop_first()?;
        self.values.remove(&key).map(|(_, value)| value)
    }
}
