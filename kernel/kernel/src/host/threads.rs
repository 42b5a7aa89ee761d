//! Thread pool for decisions, with one run at a time per thread. An idle thread is kept for a while, because starting
//! one costs as much as a small decision.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time after which an idle thread ends.
const IDLE: Duration = Duration::from_secs(5);

/// Job for a thread.
pub(super) type DecideJob = Box<dyn FnOnce() + Send>;

/// Pool of threads; the most recently used idle thread gets the next job.
#[derive(Clone, Default)]
pub(super) struct Threads(Arc<Mutex<IdleThreads>>);

#[derive(Default)]
struct IdleThreads {
    /// Number of threads started so far.
    made: u64,
    /// Number and job channel of each idle thread.
    waiting: Vec<(u64, Sender<DecideJob>)>,
}

impl Threads {
    /// Runs a job on a thread of its own. A job that never returns blocks no other job.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(&self, work: DecideJob) -> io::Result<()> {
        let mut idle = self.idle();
        let unsent = match idle.waiting.pop() {
            // Every thread in the list is waiting.
            Some((_, sender)) => sender.send(work).err().map(|unsent| unsent.0),
            None => Some(work),
        };
        let Some(work) = unsent else { return Ok(()) };
        idle.made += 1;
        let (threads, number) = (self.clone(), idle.made);
        drop(idle);
        std::thread::Builder::new().name("decide".to_string()).spawn(move || threads.serve(number, work)).map(drop)
    }

    fn idle(&self) -> MutexGuard<'_, IdleThreads> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, number: u64, mut work: DecideJob) {
        let (sender, inbox) = channel();
        loop {
            work();
            self.idle().waiting.push((number, sender.clone()));
            work = match inbox.recv_timeout(IDLE) {
                Ok(next) => next,
                Err(_) if self.retire(number) => return,
                // The thread got a job at the same time.
                Err(_) => match inbox.recv() {
                    Ok(next) => next,
                    Err(_) => return,
                },
            };
        }
    }

    /// Removes a thread from the idle list. Returns false if it is not in the list because it got a job.
    fn retire(&self, number: u64) -> bool {
        let mut idle = self.idle();
        let before = idle.waiting.len();
        idle.waiting.retain(|(of, _)| *of != number);
        idle.waiting.len() < before
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Returns the thread that ran a job.
    fn done_on(threads: &Threads) -> std::thread::ThreadId {
        let (sender, receiver) = channel();
        threads.start(Box::new(move || sender.send(std::thread::current().id()).unwrap())).unwrap();
        receiver.recv().unwrap()
    }

    fn is_idle(threads: &Threads, count: usize) {
        while threads.idle().waiting.len() < count {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_thread_that_is_done_is_used_again() {
        let threads = Threads::default();
        let first = done_on(&threads);
        is_idle(&threads, 1);
        assert_eq!(done_on(&threads), first);
    }

    #[test]
    fn a_hung_job_blocks_no_other() {
        let threads = Threads::default();
        let (go_on, wait) = channel::<()>();
        let (sender, receiver) = channel();
        threads
            .start(Box::new(move || {
                sender.send(std::thread::current().id()).unwrap();
                let _ = wait.recv();
            }))
            .unwrap();
        let held = receiver.recv().unwrap();
        assert_ne!(done_on(&threads), held);
        drop(go_on);
        is_idle(&threads, 2);
    }

    #[test]
    fn work_that_panics_ends_its_thread_alone() {
        let threads = Threads::default();
        let first = done_on(&threads);
        is_idle(&threads, 1);
        threads.start(Box::new(|| panic!("as an operator might"))).unwrap();
        assert_ne!(done_on(&threads), first);
    }
}
