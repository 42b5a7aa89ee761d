//! Cache whose entries expire.

use std::collections::BTreeMap;

/// Cache whose entries expire. The caller passes the current time.
///
/// # Guarantees
/// - An expired entry is never returned.               // test: guarantees_expired_entries_are_not_returned
/// - The cache never holds more entries than its bound.// test: guarantees_entries_are_bounded
#[derive(Debug)]
pub struct ExpiringCache<K, V> {
    max_entries: usize,
    entries: BTreeMap<K, (V, u64)>,
}

impl<K: Ord + Clone, V> ExpiringCache<K, V> {
    /// Creates a cache of at most `max_entries` entries.
    pub fn new(max_entries: usize) -> ExpiringCache<K, V> {
        ExpiringCache { max_entries: max_entries.max(1), entries: BTreeMap::new() }
    }

    /// Returns the entry of a key, unless it has expired.
    pub fn get(&mut self, key: &K, now_ms: u64) -> Option<&V> {
        self.entries.get(key).filter(|(_, expires_ms)| now_ms < *expires_ms).map(|(value, _)| value)
    }

    /// Adds an entry that expires after `ttl_ms`.
    pub fn put(&mut self, key: K, value: V, now_ms: u64, ttl_ms: u64) {
        if self.entries.len() >= self.max_entries && !self.entries.contains_key(&key) {
            self.evict(now_ms);
        }
        self.entries.insert(key, (value, now_ms.saturating_add(ttl_ms)));
    }

    /// Removes the expired entries; if there are none, removes the half that expires first.
    fn evict(&mut self, now_ms: u64) {
        self.entries.retain(|_, (_, expires_ms)| now_ms < *expires_ms);
        if self.entries.len() < self.max_entries {
            return;
        }
        let mut ends: Vec<(u64, K)> =
            self.entries.iter().map(|(key, (_, expires_ms))| (*expires_ms, key.clone())).collect();
        ends.sort();
        ends.truncate(ends.len().div_ceil(2));
        for (_, key) in ends {
            self.entries.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guarantees_expired_entries_are_not_returned() {
        let mut cache = ExpiringCache::new(8);
        cache.put("a", 1, 100, 50);
        assert_eq!(cache.get(&"a", 149), Some(&1));
        assert_eq!(cache.get(&"a", 150), None);
        cache.put("a", 2, 200, 50);
        assert_eq!(cache.get(&"a", 201), Some(&2));
    }

    #[test]
    fn guarantees_entries_are_bounded() {
        let mut cache = ExpiringCache::new(8);
        for key in 0..100 {
            cache.put(key, key, key, 1_000);
            assert!(cache.entries.len() <= 8);
        }
        assert_eq!(cache.get(&99, 100), Some(&99), "the newest entry is kept");
    }
}
