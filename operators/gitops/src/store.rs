//! Access of units to the database: one view, one decision, one commit, repeated on conflicts.

use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;

use switchboard_kernel::core::silence_panic_hook;
use switchboard_object::causes::error_chain;
use switchboard_sql::{Ledger, LedgerView, RowChange};
use tokio_util::task::LocalPoolHandle;

use crate::error::ServiceError;

/// Maximum number of attempts on conflicts. After that the unit is retried later.
const MAX_ATTEMPTS: u32 = 8;

/// Maximum number of threads for decisions. They mostly wait for the database, and queries from few threads are batched
/// better: half of the processors achieve more than all of them.
const MAX_DB_WORKERS: usize = 4;

fn db_worker_threads() -> usize {
    available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, MAX_DB_WORKERS))
}

/// Packed size from which data is unpacked on a separate thread, because the unpacked size may be thousands of times as
/// large.
const LARGE_BYTES: usize = 8 * 1024;

/// Runs work for this many packed bytes, on a blocking thread if they are many.
pub(crate) async fn run_blocking_if_large<T: Send + 'static>(
    size: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if size < LARGE_BYTES {
        return work();
    }
    let work = || {
        silence_panic_hook();
        work()
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The task is only cancelled with its runtime, and its caller with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Hook before and after every commit, with which tests stop the process. Returns whether to continue.
pub type CommitHook = Arc<dyn Fn(CommitPhase) -> bool + Send + Sync>;

/// Phase in which a commit hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitPhase {
    /// Before the commit.
    Before,
    /// After the commit.
    After,
}

/// Database for threads that may block.
#[derive(Clone)]
pub struct Store {
    ledger: Ledger,
    runtime: tokio::runtime::Handle,
    db_workers: Arc<OnceLock<LocalPoolHandle>>,
    commit_hook: Option<CommitHook>,
}

impl Store {
    /// Returns the store of a database. The runtime serves its connections.
    pub fn new(ledger: Ledger, runtime: tokio::runtime::Handle) -> Store {
        Store { ledger, runtime, db_workers: Arc::default(), commit_hook: None }
    }

    /// Sets the commit hook.
    #[must_use]
    pub fn with_commit_hook(self, commit_hook: CommitHook) -> Store {
        Store { commit_hook: Some(commit_hook), ..self }
    }

    /// Returns the database.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Blocks the calling thread until the work is done on a database worker. The calling thread sleeps once, not for
    /// every query.
    ///
    /// # Errors
    /// Returns the error as text.
    pub fn block_on<T, W>(&self, work: impl FnOnce() -> W + Send + 'static) -> Result<T, String>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, ServiceError>> + 'static,
    {
        let db_workers = self.db_workers.get_or_init(|| LocalPoolHandle::new(db_worker_threads()));
        let work = || {
            silence_panic_hook();
            work()
        };
        match self.runtime.block_on(db_workers.spawn_pinned(work)) {
            Ok(done) => done.map_err(|error| error_chain(&error)),
            Err(ended) => match ended.try_into_panic() {
                // The caller that runs the unit reports the panic.
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(error_chain(&ServiceError::Stopped)),
            },
        }
    }

    /// Reads, decides and commits. A commit succeeds only if nothing that `decide` read has changed.
    ///
    /// # Errors
    /// When the database fails, or other writers changed the rows in every attempt.
    pub async fn transact<T>(
        &self,
        decide: impl AsyncFn(&mut LedgerView) -> Result<(Vec<RowChange>, T), ServiceError>,
    ) -> Result<T, ServiceError> {
        for _ in 0..MAX_ATTEMPTS {
            let mut view = self.ledger.view().await?;
            let (changes, outcome) = decide(&mut view).await?;
            view.end();
            if changes.is_empty() {
                return Ok(outcome);
            }
            if self.commit(&changes).await? {
                return Ok(outcome);
            }
        }
        Err(ServiceError::Contended { attempts: MAX_ATTEMPTS })
    }

    /// Commits changes that were decided on earlier reads. Returns false on a conflict: read again.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn commit(&self, changes: &[RowChange]) -> Result<bool, ServiceError> {
        self.check_commit_hook(CommitPhase::Before)?;
        match self.ledger.commit(changes).await {
            Ok(()) => self.check_commit_hook(CommitPhase::After).map(|()| true),
            Err(error) if error.is_conflict() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn check_commit_hook(&self, when: CommitPhase) -> Result<(), ServiceError> {
        match &self.commit_hook {
            Some(commit_hook) if !commit_hook(when) => Err(ServiceError::Stopped),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use switchboard_sql::{Address, Sealer};

    use super::*;

    /// Returns a store whose runtime continues while a thread blocks.
    fn store(runtime: &tokio::runtime::Runtime) -> Store {
        let address = Address::parse("sqlite::memory:").unwrap();
        let ledger = runtime.block_on(Ledger::open(&crate::SCHEMA, &address, Sealer::plain())).unwrap();
        Store::new(ledger, runtime.handle().clone())
    }

    #[test]
    fn a_panic_reaches_only_its_caller() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let store = store(&runtime);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            store.block_on(async || -> Result<(), ServiceError> { panic!("simulated panic of a decision") })
        }));
        assert_eq!(ended.unwrap_err().downcast_ref(), Some(&"simulated panic of a decision"));
        assert_eq!(store.block_on(async || Ok(7)), Ok(7));
    }

    /// The message may contain secrets, and only the caller knows what to redact.
    #[test]
    fn a_panic_is_not_printed_by_the_hook() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let output = again.args(["--nocapture", "a_panic_reaches_only_its_caller"]).output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(said.contains("1 passed"), "{said}");
        assert!(!said.contains("simulated panic of a decision"), "{said}");
    }

    #[test]
    fn few_threads_serve_many_callers() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (store, all) = (store(&runtime), 3 * MAX_DB_WORKERS);
        let here = Arc::new(tokio::sync::Barrier::new(all));
        // Each caller waits for all others, which would deadlock if a worker served one at a time.
        let waiting: Vec<_> = (0..all)
            .map(|_| {
                let (store, here) = (store.clone(), Arc::clone(&here));
                std::thread::spawn(move || {
                    store.block_on(async move || {
                        here.wait().await;
                        Ok(())
                    })
                })
            })
            .collect();
        waiting.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), Ok(())));
    }
}
