//! How much the store may keep and take.

use std::time::Duration;

/// Bounds of a store. The defaults hold what a busy laptop cluster changes in the five minutes upstream keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Changes kept for watches and lists at an older revision. A watcher that falls behind further ends with `Compacted`:
    /// watchers read the shared history and queue nothing of their own.
    pub history_changes: usize,
    /// Bytes that only the history keeps alive: replaced and deleted states.
    pub history_bytes: usize,
    /// How long a change stays, as far as [`Store::tick`](super::Store::tick) is told the time.
    pub history_age: Duration,
    /// Changes a watcher is handed at once.
    pub watch_batch: usize,
    /// Writes that may wait for the disk; one more is refused as overloaded.
    pub pending_writes: usize,
    /// Log bytes after which the state is written anew and the log begins afresh (at least; a log also outgrows the state first).
    pub log_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            history_changes: 100_000,
            history_bytes: 64 << 20,
            history_age: Duration::from_secs(300),
            watch_batch: 1_000,
            pending_writes: 16_384,
            log_bytes: 64 << 20,
        }
    }
}
