//! Limits of the store.

use std::time::Duration;

/// Limits of a store. The defaults hold the changes of a busy laptop cluster in five minutes, the time that
/// kube-apiserver keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// Number of changes kept for watches and for lists at older revisions. A watcher that falls further behind ends
    /// with `Compacted`: watchers read the shared history and have no queue of their own.
    pub history_changes: usize,
    /// Bytes of replaced and deleted objects that only the history holds.
    pub history_bytes: usize,
    /// Age limit of changes, by the time from [`ObjectStore::tick`](super::ObjectStore::tick).
    pub history_age: Duration,
    /// Number of changes that a watcher receives at once.
    pub watch_batch: usize,
    /// Number of writes that may wait for the disk; further writes fail as overloaded.
    pub pending_writes: usize,
    /// Log size from which a snapshot is written and a new log begins (at least; the log must also be larger than the
    /// state).
    pub log_bytes: u64,
}

impl Default for StoreLimits {
    fn default() -> StoreLimits {
        StoreLimits {
            history_changes: 100_000,
            history_bytes: 64 << 20,
            history_age: Duration::from_secs(300),
            watch_batch: 1_000,
            pending_writes: 16_384,
            log_bytes: 64 << 20,
        }
    }
}
