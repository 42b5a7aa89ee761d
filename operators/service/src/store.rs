//! The database as units use it: one view, one decision, one commit; and again if it was too late.

use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;

use switchboard_kernel::core::decides_here;
use switchboard_ledger::{Change, Ledger, View};
use tokio_util::task::LocalPoolHandle;

use crate::error::{ServiceError, told};

/// How often is decided anew on rows that others changed meanwhile. The unit is tried again later after that.
const MAX_ATTEMPTS: u32 = 8;

/// How many threads decide what rows are about, at the most. They wait for the database most of the time, and what is asked by one
/// thread is asked together: half of the processors do more than all of them.
const MAX_DESKS: usize = 4;

fn desks() -> usize {
    available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, MAX_DESKS))
}

/// From how many packed bytes on something is unpacked on a thread of its own: it may be thousands of times as large.
const LARGE_BYTES: usize = 8 * 1024;

/// Does what takes time for so many packed bytes, and lets others be served meanwhile if there are many.
pub(crate) async fn aside<T: Send + 'static>(size: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if size < LARGE_BYTES {
        return work();
    }
    let work = || {
        decides_here();
        work()
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only with the runtime it was asked from, and with it whoever waits.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Asked before and after every commit whether the process goes on: tests let it die there.
pub type Gate = Arc<dyn Fn(When) -> bool + Send + Sync>;

/// When a gate is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Changes are about to be committed.
    Before,
    /// They were.
    After,
}

/// The database, for threads that may wait for it.
#[derive(Clone)]
pub struct Store {
    ledger: Ledger,
    runtime: tokio::runtime::Handle,
    desks: Arc<OnceLock<LocalPoolHandle>>,
    gate: Option<Gate>,
}

impl Store {
    /// A database whose connections are served by this runtime.
    pub fn new(ledger: Ledger, runtime: tokio::runtime::Handle) -> Store {
        Store { ledger, runtime, desks: Arc::default(), gate: None }
    }

    /// With somebody who says when it is over.
    #[must_use]
    pub fn gated(self, gate: Gate) -> Store {
        Store { gate: Some(gate), ..self }
    }

    /// The database itself.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Waits for an answer on a thread that is nobody else's. What is asked on the way is asked by a thread that does so for many: this
    /// one sleeps once, and not at every question.
    ///
    /// # Errors
    /// What went wrong, for people.
    pub fn wait<T, W>(&self, work: impl FnOnce() -> W + Send + 'static) -> Result<T, String>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, ServiceError>> + 'static,
    {
        let desks = self.desks.get_or_init(|| LocalPoolHandle::new(desks()));
        let work = || {
            decides_here();
            work()
        };
        match self.runtime.block_on(desks.spawn_pinned(work)) {
            Ok(done) => done.map_err(|error| told(&error)),
            Err(ended) => match ended.try_into_panic() {
                // Whoever runs the unit tells of it.
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(told(&ServiceError::Stopped)),
            },
        }
    }

    /// Reads, decides, commits. Whatever `decide` read has not changed when its changes are made.
    ///
    /// # Errors
    /// When the database fails, or others are faster again and again.
    pub async fn settle<T>(
        &self,
        decide: impl AsyncFn(&mut View) -> Result<(Vec<Change>, T), ServiceError>,
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

    /// Makes changes that were decided on what was read before. False if any of it has changed since: look again.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn commit(&self, changes: &[Change]) -> Result<bool, ServiceError> {
        self.ask(When::Before)?;
        match self.ledger.commit(changes).await {
            Ok(()) => self.ask(When::After).map(|()| true),
            Err(error) if error.is_conflict() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn ask(&self, when: When) -> Result<(), ServiceError> {
        match &self.gate {
            Some(gate) if !gate(when) => Err(ServiceError::Stopped),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use switchboard_ledger::{Address, Sealing};

    use super::*;

    /// A database of its own, whose runtime goes on while somebody waits.
    fn store(runtime: &tokio::runtime::Runtime) -> Store {
        let address = Address::parse("sqlite::memory:").unwrap();
        let ledger = runtime.block_on(Ledger::open(&address, Sealing::plain())).unwrap();
        Store::new(ledger, runtime.handle().clone())
    }

    #[test]
    fn a_panic_reaches_who_waits_and_nobody_else() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let store = store(&runtime);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            store.wait(async || -> Result<(), ServiceError> { panic!("as a decision might") })
        }));
        assert_eq!(ended.unwrap_err().downcast_ref(), Some(&"as a decision might"));
        assert_eq!(store.wait(async || Ok(7)), Ok(7));
    }

    /// It cannot be told what secrets a message holds: only who waits knows what to take out.
    #[test]
    fn a_panic_is_not_reported_as_usual() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let output = again.args(["--nocapture", "a_panic_reaches_who_waits_and_nobody_else"]).output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(said.contains("1 passed"), "{said}");
        assert!(!said.contains("as a decision might"), "{said}");
    }

    #[test]
    fn many_wait_at_a_time_though_few_threads_ask() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (store, all) = (store(&runtime), 3 * MAX_DESKS);
        let here = Arc::new(tokio::sync::Barrier::new(all));
        // Each waits for all the others: with a thread that served one at a time, nobody would come back.
        let waiting: Vec<_> = (0..all)
            .map(|_| {
                let (store, here) = (store.clone(), Arc::clone(&here));
                std::thread::spawn(move || {
                    store.wait(async move || {
                        here.wait().await;
                        Ok(())
                    })
                })
            })
            .collect();
        waiting.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), Ok(())));
    }
}
