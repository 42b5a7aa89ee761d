//! The revisioned store under the API server.
//!
//! ```text
//!   put, delete ──▶ pending ──▶ disk (durable stores) ──▶ visible ──▶ get, list, watch
//!                   expectations are checked here,         one revision at a time,
//!                   against the newest write               the changes kept as history
//! ```
//!
//! Every write is one change and one revision. A write becomes visible only once it is durable, so what a reader or a watcher has
//! seen survives a crash; writers queue behind each other in `pending`, so that many share one disk flush while optimistic
//! concurrency stays exact. Objects are encoded once, by the writer, and shared as bytes from then on.

mod bounds;
pub mod disk;
mod hub;
mod key;
mod pending;
mod state;
#[cfg(test)]
mod tests;
mod watch;

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use bytes::Bytes;

pub use bounds::Bounds;
pub use disk::OpenError;
pub use key::Key;
pub use watch::{Batch, Watch};

use hub::Group;
use pending::Pending;
use state::State;

/// An encoded object as it was written at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The revision of that write.
    pub revision: u64,
    /// The encoded object, `metadata.resourceVersion` included.
    pub bytes: Bytes,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The revision it made.
    pub revision: u64,
    /// What was written.
    pub key: Key,
    /// The object before, `None` when this created it.
    pub before: Option<Record>,
    /// The object after, `None` when this deleted it.
    pub after: Option<Record>,
    /// Of a delete: the final state, carrying the delete's revision. Otherwise empty.
    pub last: Bytes,
}

impl Change {
    /// What a watch event shows: the object after the write, or the final state of a deleted one.
    pub fn object(&self) -> &Bytes {
        self.after.as_ref().map_or(&self.last, |after| &after.bytes)
    }
}

/// What a writer believes to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing: this is a create.
    Absent,
    /// The object as written at this revision.
    Revision(u64),
}

/// A part of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The objects in key order.
    pub records: Vec<(Key, Record)>,
    /// The revision the whole list shows.
    pub revision: u64,
    /// How many objects follow.
    pub remaining: u64,
}

/// Why a read was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The revision is older than the history.
    #[error("revision is compacted, the oldest available is {oldest}")]
    Compacted {
        /// The oldest revision that can still be read.
        oldest: u64,
    },
    /// The revision has not happened yet.
    #[error("revision is in the future, the current one is {current}")]
    Future {
        /// The newest revision.
        current: u64,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// Why a write was refused. Nothing of a refused write is ever visible.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    /// The stored object is not what the writer expected.
    #[error("the stored object is not the expected one")]
    Conflict {
        /// What is stored, `None` when nothing is.
        current: Option<Record>,
    },
    /// The object is larger than the store takes.
    #[error("object of {bytes} bytes is larger than the limit of {limit}")]
    TooLarge {
        /// Its encoded size.
        bytes: usize,
        /// [`MAX_OBJECT_BYTES`].
        limit: usize,
    },
    /// Too many writes wait for the disk.
    #[error("too many writes wait for the disk")]
    Overloaded,
    /// The disk failed; the store answers reads only until it is opened again.
    #[error("the store is read-only: {reason}")]
    ReadOnly {
        /// What failed, and where.
        reason: Arc<str>,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// Far above what the API accepts in a request; keeps a log frame's length honest.
pub const MAX_OBJECT_BYTES: usize = 16 << 20;

/// A handle to the store; clones share it. The store closes with its last handle.
///
/// # Guarantees
/// - Reads and watches show writes in revision order and only durable ones. // test: guarantees_readers_see_only_durable_writes
/// - Of concurrent writers that expect the same revision one wins.           // test: guarantees_one_of_many_writers_wins
/// - Pages of a list at one revision fit together whatever is written meanwhile. // test: guarantees_pages_fit_together
/// - A watch shows every change after its revision once, or ends.            // test: guarantees_a_watch_misses_nothing
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

/// Closes the store when the last handle goes; watches hold only [`Shared`].
#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    /// Taken first by drop, so that what waits for the disk is still written and answered.
    disk: Option<disk::Committer>,
}

/// What handles, watches and the disk's thread share.
#[derive(Debug)]
pub(crate) struct Shared {
    bounds: Bounds,
    state: RwLock<State>,
    /// Locked before `state` where both are.
    pending: Mutex<Pending>,
    /// Wakes the disk's thread.
    work: Condvar,
}

impl Store {
    /// A store that forgets everything with the process.
    pub fn in_memory(bounds: Bounds) -> Store {
        let shared = Arc::new(Shared::new(State::new(), bounds, false));
        Store { inner: Arc::new(Inner { shared, disk: None }) }
    }

    /// A store whose acknowledged writes survive any crash, in a directory that one process at a time has open.
    ///
    /// # Errors
    /// When the directory is in use, damaged, of a newer format, or out of reach.
    pub fn open(dir: &Path, bounds: Bounds) -> Result<Store, OpenError> {
        let (shared, disk) = disk::open(dir, bounds)?;
        Ok(Store { inner: Arc::new(Inner { shared, disk: Some(disk) }) })
    }

    /// A store in memory that begins with what this one shows now, at the same revision and without its history.
    ///
    /// Costs as much as there are objects, not as many bytes as they have: a test that needs a thousand clusters in the same state
    /// makes that state once.
    pub fn fork(&self) -> Store {
        let bounds = self.shared().bounds.clone();
        let state = self.shared().read();
        let state = State::at(state.objects.clone(), state.revision, state.revision);
        Store { inner: Arc::new(Inner { shared: Arc::new(Shared::new(state, bounds, false)), disk: None }) }
    }

    /// The newest visible revision.
    pub fn revision(&self) -> u64 {
        self.shared().read().revision
    }

    /// Why no write is taken any more, once the disk has failed.
    pub fn refusal(&self) -> Option<WriteError> {
        self.inner.shared.pending().refusal.clone().map(WriteError::from)
    }

    /// The oldest revision that can be listed at or watched from.
    pub fn compacted(&self) -> u64 {
        self.shared().read().compacted
    }

    /// The object stored under `key`.
    pub fn get(&self, key: &Key) -> Option<Record> {
        self.shared().read().objects.get(key).cloned()
    }

    /// The objects whose keys start with `prefix` and sort after the whole key `after`, at most `limit` (0: all), as they are or
    /// as they were at revision `at`.
    ///
    /// # Errors
    /// `Compacted` or `Future` when `at` is out of reach.
    pub fn list(&self, prefix: &str, after: Option<&str>, limit: usize, at: Option<u64>) -> Result<Page, ReadError> {
        self.shared().read().list(prefix, after, limit, at)
    }

    /// Stores what `encode` makes of the new revision, if what is stored is what is expected.
    ///
    /// `encode` runs while other writers wait: prepare outside what can be prepared. Once first polled the write takes place even
    /// if the future is dropped.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn put(
        &self,
        key: Key,
        expect: Expect,
        encode: impl FnOnce(u64) -> Bytes + Send,
    ) -> Result<Record, WriteError> {
        let staged = self.shared().stage(key, expect, |revision| {
            let bytes = encode(revision);
            (Some(Record { revision, bytes }), Bytes::new())
        })?;
        let change = staged.durable().await?;
        Ok(change.after.clone().expect("a put stores something"))
    }

    /// Deletes the object written at revision `expect`; `encode_last` makes its final state of the delete's revision.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn delete(
        &self,
        key: Key,
        expect: u64,
        encode_last: impl FnOnce(u64) -> Bytes + Send,
    ) -> Result<u64, WriteError> {
        let staged = self.shared().stage(key, Expect::Revision(expect), |revision| (None, encode_last(revision)))?;
        Ok(staged.durable().await?.revision)
    }

    /// The changes after revision `after` of objects whose keys start with `prefix`, from the history and then as they happen.
    ///
    /// # Errors
    /// `Compacted` or `Future` when `after` is out of reach.
    pub fn watch(&self, prefix: &str, after: u64) -> Result<Watch, ReadError> {
        let mut state = self.shared().write();
        state.check(after)?;
        let group = state.hub.join(prefix);
        Ok(Watch::new(self.shared().clone(), prefix, after, group))
    }

    /// Tells the store the time since some fixed moment, so that it forgets changes older than the bound.
    pub fn tick(&self, now: Duration) {
        self.shared().write().tick(now, self.shared().bounds.history_age);
    }

    /// Forgets the changes up to and including `revision`.
    pub fn compact(&self, revision: u64) {
        self.shared().write().compact(revision);
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.disk = None;
        let mut state = self.shared.write();
        state.closed = true;
        let groups = state.hub.all();
        drop(state);
        wake(groups, u64::MAX);
    }
}

/// Wakes watchers; never under the state's lock, which they take at once.
fn wake(groups: Vec<Arc<Group>>, revision: u64) {
    for group in groups {
        group.sender.send_replace(revision);
    }
}

// A panic of a caller's closure must not take the store down: nothing is changed before the closures have returned.
impl Shared {
    fn new(state: State, bounds: Bounds, durable: bool) -> Shared {
        let pending = Mutex::new(Pending::new(state.revision, durable));
        Shared { bounds, pending, state: RwLock::new(state), work: Condvar::new() }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
