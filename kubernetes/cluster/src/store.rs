//! The revisioned store of the API server.
//!
//! ```text
//!   put, delete ──▶ pending ──▶ disk (durable stores) ──▶ visible ──▶ get, list, watch
//!                   expectations are checked here,         one revision at a time,
//!                   against the newest write               the changes kept as history
//! ```
//!
//! Every write is one change and one revision. A write becomes visible only once it is durable, so everything that
//! readers and watchers have seen survives a crash. Writers queue in `pending`, so that many share one disk flush while
//! optimistic concurrency stays exact. The writer encodes an object once; from then on its bytes are shared.

pub mod disk;
mod key;
mod limits;
mod pending;
mod state;
#[cfg(test)]
mod tests;
mod watch;
mod watch_groups;

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use bytes::Bytes;

pub use disk::OpenError;
pub use key::StoreKey;
pub use limits::StoreLimits;
pub use watch::{ChangeBatch, StoreWatch};

use pending::PendingWrites;
use state::StoreState;
use watch_groups::WatchGroup;

/// Encoded object at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredObject {
    /// Revision of the write.
    pub revision: u64,
    /// Encoded object, including `metadata.resourceVersion`.
    pub bytes: Bytes,
}

/// Change by one write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreChange {
    /// Revision of the change.
    pub revision: u64,
    /// Key of the object.
    pub key: StoreKey,
    /// Previous object; `None` for a create.
    pub before: Option<StoredObject>,
    /// New object; `None` for a delete.
    pub after: Option<StoredObject>,
    /// Final state of a deleted object, with the delete's revision. Empty for other changes.
    pub last: Bytes,
}

impl StoreChange {
    /// Returns the object of the watch event: the new object, or the final state of a deleted one.
    pub fn object(&self) -> &Bytes {
        self.after.as_ref().map_or(&self.last, |after| &after.bytes)
    }
}

/// Expected state of an object before a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedState {
    /// The object does not exist: a create.
    Absent,
    /// The object was written at this revision.
    Revision(u64),
}

/// Page of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorePage {
    /// Objects in key order.
    pub records: Vec<(StoreKey, StoredObject)>,
    /// Revision of the whole list.
    pub revision: u64,
    /// Number of objects after this page.
    pub remaining: u64,
}

/// Error of a read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The revision is older than the history.
    #[error("revision is compacted, the oldest available is {oldest}")]
    Compacted {
        /// Oldest readable revision.
        oldest: u64,
    },
    /// The revision does not exist yet.
    #[error("revision is in the future, the current one is {current}")]
    Future {
        /// Newest revision.
        current: u64,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// Error of a write. A failed write is never visible, not even in part.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    /// The stored object is not in the expected state.
    #[error("stored object is not in the expected state")]
    Conflict {
        /// Stored object; `None` if there is none.
        current: Option<StoredObject>,
    },
    /// The object exceeds the size limit.
    #[error("object of {bytes} bytes is larger than the limit of {limit}")]
    TooLarge {
        /// Encoded size.
        bytes: usize,
        /// [`MAX_OBJECT_BYTES`].
        limit: usize,
    },
    /// Too many writes wait for the disk.
    #[error("too many pending writes")]
    Overloaded,
    /// The disk failed. The store is read-only until it is opened again.
    #[error("the store is read-only: {reason}")]
    ReadOnly {
        /// Description of the failure.
        reason: Arc<str>,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// Size limit of an object. Far above the API's limit for requests; it bounds the length of a log frame.
pub const MAX_OBJECT_BYTES: usize = 16 << 20;

/// Handle to the store; clones share it. The store closes with its last handle.
///
/// # Guarantees
/// - Reads and watches show writes in revision order and only durable ones. // test: guarantees_readers_see_only_durable_writes
/// - Of concurrent writers that expect the same revision one succeeds.       // test: guarantees_one_of_many_writers_wins
/// - Pages of a list at one revision are consistent despite concurrent writes. // test: guarantees_pages_fit_together
/// - A watch shows every change after its revision once, or ends.            // test: guarantees_a_watch_misses_nothing
#[derive(Clone, Debug)]
pub struct ObjectStore {
    inner: Arc<StoreHandle>,
}

/// Handle that closes the store when dropped; watches hold only [`SharedStore`].
#[derive(Debug)]
struct StoreHandle {
    shared: Arc<SharedStore>,
    /// Taken first on drop, so that pending writes are still written and answered.
    disk: Option<disk::Committer>,
}

/// State shared by handles, watches and the disk's thread.
#[derive(Debug)]
pub(crate) struct SharedStore {
    limits: StoreLimits,
    state: RwLock<StoreState>,
    /// Locked before `state` if both are needed.
    pending: Mutex<PendingWrites>,
    /// Notifies the disk's thread.
    work: Condvar,
}

impl ObjectStore {
    /// Creates a store in memory, without persistence.
    pub fn in_memory(bounds: StoreLimits) -> ObjectStore {
        let shared = Arc::new(SharedStore::new(StoreState::new(), bounds, false));
        ObjectStore { inner: Arc::new(StoreHandle { shared, disk: None }) }
    }

    /// Opens a store in a directory. Its acknowledged writes survive any crash. Only one process at a time can open the
    /// directory.
    ///
    /// # Errors
    /// When the directory is in use, damaged, of a newer format, or inaccessible.
    pub fn open(dir: &Path, bounds: StoreLimits) -> Result<ObjectStore, OpenError> {
        let (shared, disk) = disk::open(dir, bounds)?;
        Ok(ObjectStore { inner: Arc::new(StoreHandle { shared, disk: Some(disk) }) })
    }

    /// Creates a store in memory that begins with the visible state of this one, at the same revision and without its
    /// history.
    ///
    /// The cost depends on the number of objects, not on their size: a test that needs a thousand clusters in the same
    /// state creates that state once.
    pub fn fork(&self) -> ObjectStore {
        let bounds = self.shared().limits.clone();
        let state = self.shared().read();
        let state = StoreState::at(state.objects.clone(), state.revision, state.revision);
        ObjectStore {
            inner: Arc::new(StoreHandle { shared: Arc::new(SharedStore::new(state, bounds, false)), disk: None }),
        }
    }

    /// Returns the newest visible revision.
    pub fn revision(&self) -> u64 {
        self.shared().read().revision
    }

    /// Returns the error of every write after the disk has failed.
    pub fn disk_failure(&self) -> Option<WriteError> {
        self.inner.shared.pending().refusal.clone().map(WriteError::from)
    }

    /// Returns the oldest revision for lists and watches.
    pub fn compacted(&self) -> u64 {
        self.shared().read().compacted
    }

    /// Returns the object stored under `key`.
    pub fn get(&self, key: &StoreKey) -> Option<StoredObject> {
        self.shared().read().objects.get(key).cloned()
    }

    /// Lists the objects whose keys start with `prefix` and sort after the key `after`, at most `limit` (0: all), at
    /// the newest revision or at revision `at`.
    ///
    /// # Errors
    /// `Compacted` or `Future` when `at` is not available.
    pub fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
        at: Option<u64>,
    ) -> Result<StorePage, ReadError> {
        self.shared().read().list(prefix, after, limit, at)
    }

    /// Writes an object, if the stored state is the expected one. `encode` encodes the object for its new revision.
    ///
    /// `encode` runs while other writers wait, so prepare as much as possible outside. Once polled, the write is
    /// executed even if the future is dropped.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn put(
        &self,
        key: StoreKey,
        expect: ExpectedState,
        encode: impl FnOnce(u64) -> Bytes + Send,
    ) -> Result<StoredObject, WriteError> {
        let staged = self.shared().stage(key, expect, |revision| {
            let bytes = encode(revision);
            (Some(StoredObject { revision, bytes }), Bytes::new())
        })?;
        let change = staged.durable().await?;
        Ok(change.after.clone().expect("a put stores something"))
    }

    /// Deletes the object written at revision `expect`. `encode_last` encodes its final state for the delete's
    /// revision.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn delete(
        &self,
        key: StoreKey,
        expect: u64,
        encode_last: impl FnOnce(u64) -> Bytes + Send,
    ) -> Result<u64, WriteError> {
        let staged =
            self.shared().stage(key, ExpectedState::Revision(expect), |revision| (None, encode_last(revision)))?;
        Ok(staged.durable().await?.revision)
    }

    /// Watches changes after revision `after` of objects whose keys start with `prefix`: first from the history, then
    /// live.
    ///
    /// # Errors
    /// `Compacted` or `Future` when `after` is not available.
    pub fn watch(&self, prefix: &str, after: u64) -> Result<StoreWatch, ReadError> {
        let mut state = self.shared().write();
        state.check(after)?;
        let group = state.hub.join(prefix);
        Ok(StoreWatch::new(self.shared().clone(), prefix, after, group))
    }

    /// Sets the time since some fixed instant, so that changes beyond the age limit are dropped from the history.
    pub fn tick(&self, now: Duration) {
        self.shared().write().tick(now, self.shared().limits.history_age);
    }

    /// Drops the changes up to and including `revision` from the history.
    pub fn compact(&self, revision: u64) {
        self.shared().write().compact(revision);
    }

    fn shared(&self) -> &Arc<SharedStore> {
        &self.inner.shared
    }
}

impl Drop for StoreHandle {
    fn drop(&mut self) {
        self.disk = None;
        let mut state = self.shared.write();
        state.closed = true;
        let groups = state.hub.all();
        drop(state);
        notify_watchers(groups, u64::MAX);
    }
}

/// Notifies watchers. Must not be called under the state's lock, which they take at once.
fn notify_watchers(groups: Vec<Arc<WatchGroup>>, revision: u64) {
    for group in groups {
        group.sender.send_replace(revision);
    }
}

// A panic in a caller's closure must not stop the store: nothing changes before the closures have returned.
impl SharedStore {
    fn new(state: StoreState, bounds: StoreLimits, durable: bool) -> SharedStore {
        let pending = Mutex::new(PendingWrites::new(state.revision, durable));
        SharedStore { limits: bounds, pending, state: RwLock::new(state), work: Condvar::new() }
    }

    fn read(&self) -> RwLockReadGuard<'_, StoreState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, StoreState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn pending(&self) -> MutexGuard<'_, PendingWrites> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
