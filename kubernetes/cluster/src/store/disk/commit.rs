//! Thread that makes writes durable: all waiting writes go into one frame and one flush.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::frame::FRAME_FILL_BYTES;
use super::log::WriteAheadLog;
use super::snapshot;
use crate::store::pending::{CommitJob, WriteRefusal};
use crate::store::{SharedStore, StoreChange, notify_watchers};

/// Writers that were answered together usually write again together. This wait for the rest of them is far shorter than
/// a flush, and saves every second one.
const GATHER: Duration = Duration::from_micros(200);

/// Owner of the log, the directory's lock and the threads; ends with the store.
#[derive(Debug)]
pub(crate) struct Committer {
    shared: Arc<SharedStore>,
    thread: Option<JoinHandle<()>>,
}

impl Committer {
    pub(super) fn start(
        shared: Arc<SharedStore>,
        dir: PathBuf,
        log: WriteAheadLog,
        lock: Option<std::fs::File>,
    ) -> io::Result<Committer> {
        let mut writer =
            LogWriter { shared: shared.clone(), dir, log, snapshot: None, snapshot_bytes: 0, batch: 0, _lock: lock };
        let thread = std::thread::Builder::new().name("store-commit".to_owned()).spawn(move || writer.run())?;
        Ok(Committer { shared, thread: Some(thread) })
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.shared.pending().closing = true;
        self.shared.work.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread panics only on a broken invariant, which its own message names.
            let _ = thread.join();
        }
    }
}

struct LogWriter {
    shared: Arc<SharedStore>,
    dir: PathBuf,
    log: WriteAheadLog,
    snapshot: Option<JoinHandle<Option<u64>>>,
    snapshot_bytes: u64,
    /// Size of the previous batch.
    batch: usize,
    _lock: Option<std::fs::File>,
}

impl LogWriter {
    fn run(&mut self) {
        while let Some(jobs) = self.take() {
            let changes: Vec<_> = jobs.iter().filter_map(|job| job.change.clone()).collect();
            if let Err(error) = self.log.append(&changes) {
                let reason = format!("could not write {}: {error}", self.log.path().display());
                self.fail_jobs(jobs, reason);
                break;
            }
            self.batch = jobs.len();
            self.publish(&changes, jobs);
            if let Err(error) = self.rotate() {
                let reason = format!("could not begin a new log in {}: {error}", self.dir.display());
                self.fail_jobs(Vec::new(), reason);
                break;
            }
        }
        if let Some(snapshot) = self.snapshot.take() {
            let _ = snapshot.join();
        }
    }

    /// Waits for writes and takes as many as fit a frame; `None` if the store is closing and no writes are left.
    fn take(&mut self) -> Option<Vec<CommitJob>> {
        let work = &self.shared.work;
        let mut pending = self.shared.pending();
        while pending.queue.is_empty() {
            if pending.closing {
                return None;
            }
            pending = work.wait(pending).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        let deadline = Instant::now() + GATHER;
        while pending.queue.len() < self.batch && !pending.closing {
            let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                break;
            };
            drop(pending);
            std::thread::sleep(left / 4);
            pending = self.shared.pending();
        }
        let mut bytes = 0;
        let fitting = pending.queue.iter().take_while(|job| {
            let fits = bytes < FRAME_FILL_BYTES;
            bytes += job.change.as_ref().map_or(0, |change| change.object().len() + change.key.as_str().len());
            fits
        });
        let fitting = fitting.count();
        Some(pending.queue.drain(..fitting).collect())
    }

    fn publish(&self, changes: &[Arc<StoreChange>], jobs: Vec<CommitJob>) {
        let mut groups = Vec::new();
        if let Some(last) = changes.last() {
            groups = self.shared.write().publish(changes, &self.shared.limits);
            let mut pending = self.shared.pending();
            for change in changes {
                if pending.newest.get(&change.key).is_some_and(|newest| newest.revision <= last.revision) {
                    pending.newest.remove(&change.key);
                }
            }
        }
        for job in jobs {
            // A canceled writer needs no answer.
            let _ = job.answer.send(Ok(()));
        }
        notify_watchers(groups, changes.last().map_or(0, |change| change.revision));
    }

    fn fail_jobs(&self, jobs: Vec<CommitJob>, reason: String) {
        tracing::error!(reason, "store is read-only from now on");
        let refusal = WriteRefusal::ReadOnly(reason.into());
        let mut pending = self.shared.pending();
        pending.refusal = Some(refusal.clone());
        pending.newest.clear();
        let queued = std::mem::take(&mut pending.queue);
        drop(pending);
        for job in jobs.into_iter().chain(queued) {
            let _ = job.answer.send(Err(refusal.clone()));
        }
    }

    /// Begins a new log and writes a snapshot in the background, once the log exceeds both its limit and the size of
    /// the state.
    fn rotate(&mut self) -> io::Result<()> {
        if self.log.length() < self.shared.limits.log_bytes.max(self.snapshot_bytes) {
            return Ok(());
        }
        if let Some(running) = self.snapshot.take_if(|running| running.is_finished()) {
            self.snapshot_bytes = running.join().ok().flatten().unwrap_or(self.snapshot_bytes);
        }
        if self.snapshot.is_some() || self.log.length() < self.shared.limits.log_bytes.max(self.snapshot_bytes) {
            return Ok(());
        }
        let capture = snapshot::CapturedState::of(&self.shared.read());
        self.log = WriteAheadLog::create(&self.dir, capture.revision())?;
        let dir = self.dir.clone();
        let thread = std::thread::Builder::new().name("store-snapshot".to_owned());
        self.snapshot = Some(thread.spawn(move || snapshot::write(&dir, capture))?);
        Ok(())
    }
}
