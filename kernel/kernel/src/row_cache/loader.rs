//! State machine that keeps a row cache exact at the cursor of its store.
//!
//! ```text
//! Idle ── Begin ─▶ Opening ── log ─▶ Fetching ── batch ─▶ Open (runs decide) ── End ─▶ Idle
//!                                       ▲                  │ missing reads
//!                                       └── Fetch ─────────┘
//! ```
//!
//! One session is one read transaction. Parked runs decide again inside the session, so a unit that reads several rows
//! in turn costs one transaction. Nothing changes until a batch is complete: if a session fails, the next one reads the
//! same log again.

use std::collections::{BTreeMap, BTreeSet};

use super::{RowCache, RowChanges, RowRead, RowReaders};
use crate::resource::{ListQuery, ObjectKey};
use crate::row::Row;
use crate::store::{FetchedRows, RowBatch, RowFetch, RowLog, StoreCursor};
use crate::timestamp::Timestamp;

/// Maximum time for which a session waits for further reads of its runs.
pub const MAX_JOIN_WAIT_MS: u64 = 20;
/// Maximum age of a session while the log has new entries: new reads of further runs must not delay changes forever.
const MAX_SESSION_MS: u64 = 500;
/// Delay before a failed session is retried; doubled with each further one.
const RETRY_MIN_MS: u64 = 100;
/// Maximum delay before a failed session is retried.
const RETRY_MAX_MS: u64 = 5_000;

/// Command for the driver of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowCommand {
    /// Begin a session, and report with [`RowLoader::opened`].
    Begin(Option<StoreCursor>),
    /// Fetch within the session, and report with [`RowLoader::fetched`].
    Fetch(RowFetch),
    /// End the session.
    End,
}

/// Effect of a finished fetch on readers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PublishedRows {
    /// Changed rows and results.
    pub changes: RowChanges,
    /// Whether changes may have been missed, so that every reader must run.
    pub is_resync: bool,
    /// Rows of the log that are read or cached, whether or not they differ.
    pub observed: BTreeSet<ObjectKey>,
}

#[derive(Debug)]
enum Phase {
    Idle,
    Opening,
    Fetching(Box<Fetching>),
    Open { until: Timestamp },
}

/// Fetch that is not complete.
#[derive(Debug, Default)]
struct Fetching {
    /// Log of the session, in its first round.
    log: Option<SessionLog>,
    /// Changed rows that were fetched in the first step, if queries must be repeated.
    changed: Vec<(ObjectKey, Option<Row>)>,
    batch: RowBatch,
    repeats: bool,
}

#[derive(Debug)]
struct SessionLog {
    changed: BTreeSet<ObjectKey>,
    cursor: StoreCursor,
    is_resync: bool,
}

/// State machine for the rows of one store.
pub struct RowLoader {
    cache: RowCache,
    cursor: Option<StoreCursor>,
    phase: Phase,
    /// Time at which the current session was opened.
    opened_at: Timestamp,
    /// Whether the log may have new entries.
    is_notified: bool,
    /// Reads to fetch for parked runs.
    needed: BTreeSet<RowRead>,
    /// Reads of the current fetch.
    requested: BTreeSet<RowRead>,
    commands: Vec<RowCommand>,
    failures: u32,
    retry_at: Option<Timestamp>,
}

impl RowLoader {
    /// Creates a loader whose cache holds values of that size.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            cache: RowCache::new(max_bytes),
            cursor: None,
            phase: Phase::Idle,
            opened_at: Timestamp::default(),
            is_notified: false,
            needed: BTreeSet::new(),
            requested: BTreeSet::new(),
            commands: Vec::new(),
            failures: 0,
            retry_at: None,
        }
    }

    /// Returns the cache.
    pub fn cache(&self) -> &RowCache {
        &self.cache
    }

    /// Returns the cache, to mark rows as used.
    pub fn cache_mut(&mut self) -> &mut RowCache {
        &mut self.cache
    }

    /// Records that the log may have new entries.
    pub fn notify(&mut self) {
        // Before the first session nothing is cached, so nothing can change.
        self.is_notified |= self.cursor.is_some() || !matches!(self.phase, Phase::Idle);
    }

    /// Fetches a read for a parked run, unless it is cached.
    pub fn need(&mut self, read: RowRead) {
        if !self.cache.has(&read) {
            self.needed.insert(read);
        }
    }

    /// Returns the due commands. `is_joined` is whether runs that wait for this session are still deciding. `readers`
    /// decide what is dropped at the end of a session; dropped reads are added to `dropped`.
    pub fn poll(
        &mut self,
        now: Timestamp,
        is_joined: bool,
        readers: &dyn RowReaders,
        dropped: &mut Vec<RowRead>,
    ) -> Vec<RowCommand> {
        let is_late = self.is_notified && now.0 >= self.opened_at.0 + MAX_SESSION_MS;
        match self.phase {
            Phase::Idle if self.has_work() && self.retry_at.is_none_or(|at| at <= now) => {
                self.is_notified = false;
                self.phase = Phase::Opening;
                self.commands.push(RowCommand::Begin(self.cursor.clone()));
            }
            Phase::Open { .. } if !self.needed.is_empty() && !is_late => self.fetch(None),
            Phase::Open { until } if is_late || !is_joined || until <= now => {
                self.phase = Phase::Idle;
                // A parked run may wait for further reads beside cached ones, which must not be evicted.
                if self.needed.is_empty() {
                    dropped.extend(self.cache.trim(readers));
                }
                self.commands.push(RowCommand::End);
                let next = self.poll(now, false, readers, dropped);
                self.commands.extend(next);
            }
            _ => {}
        }
        std::mem::take(&mut self.commands)
    }

    /// Returns the next time at which [`RowLoader::poll`] may have commands if nothing else happens.
    pub fn next(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Open { until } => Some(until),
            Phase::Idle if self.has_work() => self.retry_at,
            _ => None,
        }
    }

    /// Whether a session waits for further reads of its runs.
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open { .. })
    }

    /// Whether there is nothing to read.
    pub fn is_quiet(&self) -> bool {
        matches!(self.phase, Phase::Idle) && !self.has_work() && self.commands.is_empty()
    }

    fn has_work(&self) -> bool {
        self.is_notified || !self.needed.is_empty()
    }

    /// Applies the log of a session.
    pub fn opened(&mut self, now: Timestamp, log: RowLog, readers: &dyn RowReaders) -> Option<PublishedRows> {
        if !matches!(self.phase, Phase::Opening) {
            return None;
        }
        self.opened_at = now;
        let changed = log.changed.into_iter().filter(|key| !log.is_resync && self.cache.matters(key, readers));
        let log = SessionLog { changed: changed.collect(), cursor: log.cursor, is_resync: log.is_resync };
        if log.changed.is_empty() && self.needed.is_empty() {
            let fetching = Fetching { log: Some(log), ..Fetching::default() };
            return Some(self.publish(now, fetching, readers));
        }
        self.fetch(Some(log));
        None
    }

    fn fetch(&mut self, log: Option<SessionLog>) {
        let mut fetch = RowFetch::default();
        fetch.rows.extend(log.iter().flat_map(|log| &log.changed).cloned());
        self.requested = std::mem::take(&mut self.needed);
        for read in self.requested.iter().cloned() {
            match read {
                RowRead::Row(key) if log.as_ref().is_some_and(|log| log.changed.contains(&key)) => {}
                RowRead::Row(key) => fetch.rows.push(key),
                RowRead::Rows(query) => fetch.queries.push(query),
            }
        }
        self.phase = Phase::Fetching(Box::new(Fetching { log, ..Fetching::default() }));
        self.commands.push(RowCommand::Fetch(fetch));
    }

    /// Applies the results of a fetch. Returns the effect on readers once it is complete.
    pub fn fetched(&mut self, now: Timestamp, batch: RowBatch, readers: &dyn RowReaders) -> Option<PublishedRows> {
        let Phase::Fetching(fetching) = &mut self.phase else { return None };
        let mut fetching = std::mem::take(&mut **fetching);
        let RowBatch { rows, results } = batch;
        if fetching.repeats {
            // A repeated query replaces the same one of the first step; both are exact at the cursor.
            fetching.batch.results.extend(results);
            return Some(self.publish(now, fetching, readers));
        }
        let is_changed = |key: &ObjectKey| fetching.log.as_ref().is_some_and(|log| log.changed.contains(key));
        let (changed, read): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(key, _)| is_changed(key));
        fetching.changed = changed;
        fetching.batch = RowBatch { rows: read, results };
        let is_resync = fetching.log.as_ref().is_some_and(|log| log.is_resync);
        let mut repeated = if is_resync { BTreeSet::new() } else { self.cache.queries_to_repeat(&fetching.changed) };
        fetching.batch.results.iter().for_each(|(query, _)| _ = repeated.remove(query));
        if repeated.is_empty() {
            return Some(self.publish(now, fetching, readers));
        }
        fetching.repeats = true;
        self.phase = Phase::Fetching(Box::new(fetching));
        self.commands.push(RowCommand::Fetch(RowFetch { rows: Vec::new(), queries: repeated.into_iter().collect() }));
        None
    }

    fn publish(&mut self, now: Timestamp, fetching: Fetching, readers: &dyn RowReaders) -> PublishedRows {
        let mut published = PublishedRows::default();
        if let Some(log) = fetching.log {
            if log.is_resync {
                // Without a cursor nothing was cached.
                published.is_resync = self.cursor.is_some();
                self.cache.clear();
            }
            self.cursor = Some(log.cursor);
            published.observed = log.changed;
        }
        let batch = last_results(fetching.batch);
        published.changes = self.cache.apply(fetching.changed, batch, readers);
        self.requested.clear();
        (self.failures, self.retry_at) = (0, None);
        self.phase = Phase::Open { until: Timestamp(now.0 + MAX_JOIN_WAIT_MS) };
        published
    }

    /// Ends a session that failed. It is retried later. Returns whether it is the first failure in a row.
    pub fn failed(&mut self, now: Timestamp) -> bool {
        if let Phase::Fetching(_) | Phase::Opening | Phase::Open { .. } = self.phase {
            self.commands.push(RowCommand::End);
        }
        self.phase = Phase::Idle;
        self.is_notified = true;
        self.needed.append(&mut self.requested);
        let wait = RETRY_MIN_MS.saturating_mul(1 << self.failures.min(6)).min(RETRY_MAX_MS);
        self.failures = self.failures.saturating_add(1);
        self.retry_at = Some(Timestamp(now.0 + wait));
        self.failures == 1
    }
}

/// Keeps the last result of each query.
fn last_results(batch: RowBatch) -> RowBatch {
    let results: BTreeMap<ListQuery, FetchedRows> = batch.results.into_iter().collect();
    RowBatch { rows: batch.rows, results: results.into_iter().collect() }
}
