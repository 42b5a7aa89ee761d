//! Threads that decide, one run each at a time. A thread that is done waits a while for the next run: to make one costs as much as a
//! small decision.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a thread waits for something to do before it ends.
const IDLE: Duration = Duration::from_secs(5);

/// What a thread does.
pub(super) type Work = Box<dyn FnOnce() + Send>;

/// Threads that are idle; those that became so last are given work first.
#[derive(Clone, Default)]
pub(super) struct Threads(Arc<Mutex<Idle>>);

#[derive(Default)]
struct Idle {
    /// How many threads there have been.
    made: u64,
    /// By their number: what they wait for work with.
    waiting: Vec<(u64, Sender<Work>)>,
}

impl Threads {
    /// Has something done, on a thread that does nothing else meanwhile. One that never comes back holds no other.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn start(&self, work: Work) -> io::Result<()> {
        let mut idle = self.idle();
        let unsent = match idle.waiting.pop() {
            // Whoever is in the list waits.
            Some((_, sender)) => sender.send(work).err().map(|unsent| unsent.0),
            None => Some(work),
        };
        let Some(work) = unsent else { return Ok(()) };
        idle.made += 1;
        let (threads, number) = (self.clone(), idle.made);
        drop(idle);
        std::thread::Builder::new().name("decide".to_string()).spawn(move || threads.serve(number, work)).map(drop)
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, number: u64, mut work: Work) {
        let (sender, inbox) = channel();
        loop {
            work();
            self.idle().waiting.push((number, sender.clone()));
            work = match inbox.recv_timeout(IDLE) {
                Ok(next) => next,
                Err(_) if self.leaves(number) => return,
                // It was given work just now.
                Err(_) => match inbox.recv() {
                    Ok(next) => next,
                    Err(_) => return,
                },
            };
        }
    }

    /// Takes a thread from those that wait. False if it waits no longer: then there is work for it.
    fn leaves(&self, number: u64) -> bool {
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

    /// The thread that a piece of work was done on.
    fn done_on(threads: &Threads) -> std::thread::ThreadId {
        let (tell, told) = channel();
        threads.start(Box::new(move || tell.send(std::thread::current().id()).unwrap())).unwrap();
        told.recv().unwrap()
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
    fn one_that_does_not_come_back_holds_no_other() {
        let threads = Threads::default();
        let (go_on, wait) = channel::<()>();
        let (tell, told) = channel();
        threads
            .start(Box::new(move || {
                tell.send(std::thread::current().id()).unwrap();
                let _ = wait.recv();
            }))
            .unwrap();
        let held = told.recv().unwrap();
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
