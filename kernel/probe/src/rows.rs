//! Rows of a run: a store in memory with injected faults.
//!
//! ```text
//!  commit of a run ─┬─▶ store ──log──▶ sessions ──▶ core
//!  other program ───┘     └─▶ frozen copy, which sessions read while the log is late
//! ```

use switchboard_kernel::applier::ExecutedWrite;
use switchboard_kernel::core::{Core, StoreEvent};
use switchboard_kernel::row::{Row, RowWrite};
use switchboard_kernel::row_cache::{MAX_ROW_CACHE_BYTES, RowCommand};
use switchboard_kernel::store::{CommitOutcome, MemoryRowStore, MemorySession, PlannedRow, RowStore, finish_commit};
use switchboard_kernel::timestamp::Timestamp;

use crate::fault::{Fault, FaultKind, FaultPart};
use crate::feed::WINDOW_MS;

/// Rows of one run; without a store, nothing happens here.
pub struct RunRows {
    store: Option<MemoryRowStore>,
    parts: Vec<FaultPart>,
    session: Option<MemorySession>,
    /// State that sessions read while the log is late.
    frozen: Option<FrozenRows>,
    /// Whether the core has not been notified of a change.
    is_changed: bool,
    has_crashed: bool,
    faults_stopped: bool,
    counts: RowCounts,
}

/// Numbers of commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Commits that the operator sent.
    pub sent: u32,
    /// Commits of all writers that were made.
    pub made: u32,
}

struct FrozenRows {
    store: MemoryRowStore,
    /// Number of further commits until which the log is late.
    left: u32,
    since: Timestamp,
}

impl RunRows {
    pub fn new(initial_state: Option<&MemoryRowStore>, fault: &Fault) -> Self {
        Self {
            store: initial_state.map(MemoryRowStore::copy),
            parts: fault.parts().iter().filter(|part| part.kind.is_of_rows()).copied().collect(),
            session: None,
            frozen: None,
            is_changed: false,
            has_crashed: false,
            faults_stopped: false,
            counts: RowCounts::default(),
        }
    }

    /// Adds the store to a new core, and drops what the previous process knew.
    pub fn connect(&mut self, core: &mut Core) {
        (self.session, self.is_changed) = (None, false);
        if let Some(store) = &self.store {
            core.add_store(store.name(), MAX_ROW_CACHE_BYTES);
        }
    }

    pub fn counts(&self) -> RowCounts {
        self.counts
    }

    /// Returns all rows.
    pub fn rows(&self) -> Vec<Row> {
        self.store.as_ref().map(MemoryRowStore::rows).unwrap_or_default()
    }

    pub fn stop_faults(&mut self) {
        self.faults_stopped = true;
        self.release();
    }

    /// Ends the lateness of the log.
    pub fn release(&mut self) {
        self.is_changed |= self.frozen.take().is_some();
    }

    /// Returns the time until which the log is late.
    pub fn held_until(&self) -> Option<Timestamp> {
        self.frozen.as_ref().map(|frozen| Timestamp(frozen.since.0 + WINDOW_MS))
    }

    /// Notifies the core of a change. Returns false if there is none.
    pub fn notify(&mut self, now: Timestamp, core: &mut Core) -> bool {
        if self.held_until().is_some_and(|until| until <= now) {
            self.release();
        }
        let (Some(store), true, None) = (&self.store, self.is_changed, &self.frozen) else { return false };
        self.is_changed = false;
        core.observe_store(now, store.name(), StoreEvent::Changed);
        true
    }

    /// Executes a command of the core.
    pub fn perform(&mut self, now: Timestamp, command: RowCommand, core: &mut Core) {
        let Some(store) = &self.store else { return };
        let read = self.frozen.as_ref().map_or(store, |frozen| &frozen.store);
        let event = match command {
            RowCommand::End => {
                self.session = None;
                return;
            }
            RowCommand::Begin(since) => {
                let (log, session) = read.begin_now(since.as_ref());
                self.session = Some(session);
                StoreEvent::Opened(log)
            }
            RowCommand::Fetch(fetch) => match &self.session {
                Some(session) => StoreEvent::Fetched(session.fetch_now(fetch)),
                None => StoreEvent::Failed("the session has ended".to_string()),
            },
        };
        core.observe_store(now, store.name(), event);
    }

    /// Commits changes of another program.
    pub fn commit_as_other(&mut self, now: Timestamp, writes: &[RowWrite]) {
        self.make(now, writes);
    }

    /// Commits the rows of a run, with the fault of this commit.
    ///
    /// # Errors
    /// The rows with the reason, if they were not committed or the response was lost.
    pub fn commit(&mut self, now: Timestamp, rows: Vec<PlannedRow>) -> Result<Vec<ExecutedWrite>, Vec<ExecutedWrite>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let changes: Vec<RowWrite> = rows.iter().map(|row| row.change.clone()).collect();
        let outcome = self.commit_with_fault(now, &changes);
        finish_commit(rows, outcome, false)
    }

    /// Whether the process crashed since the last call.
    pub fn take_crash(&mut self) -> bool {
        std::mem::take(&mut self.has_crashed)
    }

    fn fault(&self, number: u32, kinds: &[FaultKind]) -> Option<FaultPart> {
        let struck = |part: &&FaultPart| kinds.contains(&part.kind) && part.applies_to(number);
        self.parts.iter().find(struck).filter(|_| !self.faults_stopped).copied()
    }

    fn commit_with_fault(&mut self, now: Timestamp, writes: &[RowWrite]) -> CommitOutcome {
        self.counts.sent += 1;
        let lost = || CommitOutcome::Failed("no response".to_string());
        let Some(part) = self.fault(self.counts.sent, &FaultKind::COMMITS) else { return self.make(now, writes) };
        match part.kind {
            FaultKind::CrashBeforeCommit => self.has_crashed = true,
            FaultKind::CrashAtCommit => {
                self.make(now, writes);
                self.has_crashed = true;
            }
            FaultKind::CrashAfterCommit => {
                let outcome = self.make(now, writes);
                self.has_crashed = true;
                return outcome;
            }
            FaultKind::CommitConflict => return CommitOutcome::Conflict("a row has changed".to_string()),
            FaultKind::CommitTimeoutDone => drop(self.make(now, writes)),
            _ => {}
        }
        lost()
    }

    /// Makes a commit, and injects the faults of its log entry.
    fn make(&mut self, now: Timestamp, writes: &[RowWrite]) -> CommitOutcome {
        let Some(store) = self.store.clone() else { return CommitOutcome::Failed("there is no store".to_string()) };
        let late =
            self.fault(self.counts.made + 1, &[FaultKind::LateLog]).filter(|part| part.at == self.counts.made + 1);
        let before = late.map(|_| store.copy());
        let outcome = store.commit_now(writes);
        if outcome != CommitOutcome::Done {
            return outcome;
        }
        self.counts.made += 1;
        self.is_changed = true;
        if self.fault(self.counts.made, &[FaultKind::TrimLog]).is_some() {
            store.trim_log();
        }
        match (&mut self.frozen, late, before) {
            (Some(frozen), ..) if frozen.left > 1 => frozen.left -= 1,
            (Some(_), ..) => self.release(),
            (None, Some(part), Some(store)) => {
                self.frozen = Some(FrozenRows { store, left: part.times, since: now });
            }
            _ => {}
        }
        outcome
    }
}
