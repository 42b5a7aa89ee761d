//! What was answered, for a short while.

use std::collections::BTreeMap;

/// Answers with an end. Time comes in as an argument.
///
/// # Guarantees
/// - Nothing is answered after its end.             // test: guarantees_nothing_is_answered_after_its_end
/// - There are never more answers than the bound.   // test: guarantees_answers_are_bounded
#[derive(Debug)]
pub struct Cache<K, V> {
    most: usize,
    of: BTreeMap<K, (V, u64)>,
}

impl<K: Ord + Clone, V> Cache<K, V> {
    /// A cache of at most so many answers.
    pub fn new(most: usize) -> Cache<K, V> {
        Cache { most: most.max(1), of: BTreeMap::new() }
    }

    /// The answer, if there is one that still holds.
    pub fn get(&mut self, key: &K, now_ms: u64) -> Option<&V> {
        self.of.get(key).filter(|(_, end_ms)| now_ms < *end_ms).map(|(value, _)| value)
    }

    /// Remembers an answer for so long.
    pub fn put(&mut self, key: K, value: V, now_ms: u64, life_ms: u64) {
        if self.of.len() >= self.most && !self.of.contains_key(&key) {
            self.make_room(now_ms);
        }
        self.of.insert(key, (value, now_ms.saturating_add(life_ms)));
    }

    /// What has ended goes; if nothing has, the half that ends first.
    fn make_room(&mut self, now_ms: u64) {
        self.of.retain(|_, (_, end_ms)| now_ms < *end_ms);
        if self.of.len() < self.most {
            return;
        }
        let mut ends: Vec<(u64, K)> = self.of.iter().map(|(key, (_, end_ms))| (*end_ms, key.clone())).collect();
        ends.sort();
        ends.truncate(ends.len().div_ceil(2));
        for (_, key) in ends {
            self.of.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guarantees_nothing_is_answered_after_its_end() {
        let mut cache = Cache::new(8);
        cache.put("a", 1, 100, 50);
        assert_eq!(cache.get(&"a", 149), Some(&1));
        assert_eq!(cache.get(&"a", 150), None);
        cache.put("a", 2, 200, 50);
        assert_eq!(cache.get(&"a", 201), Some(&2));
    }

    #[test]
    fn guarantees_answers_are_bounded() {
        let mut cache = Cache::new(8);
        for key in 0..100 {
            cache.put(key, key, key, 1_000);
            assert!(cache.of.len() <= 8);
        }
        assert_eq!(cache.get(&99, 100), Some(&99), "the newest stays");
    }
}
