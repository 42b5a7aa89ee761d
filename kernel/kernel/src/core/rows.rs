//! Rows in the core: loaders of the stores, runs that wait for rows, and triggers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::opening::waiting_message;
use super::{Core, CoreCommand, MAX_RECENT};
use crate::applier::ExecutedWrite;
use crate::decision::{Cause, MAX_CAUSES};
use crate::operator::{DecideError, UnitId};
use crate::resource::{ListQuery, ObjectKey, TableKey};
use crate::row_cache::{PublishedRows, RowCommand, RowLoader, RowRead};
use crate::scheduler::StartedRun;
use crate::state::Health;
use crate::store::{RowBatch, RowLog, StoreName};
use crate::timestamp::Timestamp;
use crate::view::{Reads, listed_keys};

/// Time for which a run may wait for rows before journal and status show it.
pub const QUIET_PARK_MS: u64 = 1_000;

/// Loaders of all stores, and the runs that depend on them.
#[derive(Default)]
pub(super) struct Rows {
    loaders: BTreeMap<StoreName, RowLoader>,
    parked: BTreeMap<UnitId, ParkedRun>,
    /// Time at which the first parked run is shown.
    show_at: Option<Timestamp>,
    /// Units that decide in the current sessions.
    joined: BTreeSet<UnitId>,
    /// Numbered events since the oldest active run began.
    recent: VecDeque<(u64, RowEvent)>,
    seen: u64,
    /// Number of the last event that is no longer remembered.
    forgotten: u64,
}

/// Run that waits for rows.
struct ParkedRun {
    /// Reads to wait for; empty once all are cached.
    waits: BTreeSet<RowRead>,
    /// Causes of the run, which the next run records.
    causes: Vec<Cause>,
    triggered_at: Timestamp,
}

/// Event that concerns what an active run may have read.
enum RowEvent {
    Row(ObjectKey, Option<u64>),
    /// The row is in the log, whether or not it differs.
    Observed(ObjectKey),
    Rows(ListQuery, ObjectKey, Option<u64>),
    Dropped(RowRead),
    Resync(StoreName),
}

/// Event of a store, from its driver.
pub enum StoreEvent {
    /// The log may have new entries.
    Changed,
    /// A session has begun.
    Opened(RowLog),
    /// A fetch is complete.
    Fetched(RowBatch),
    /// The session failed; message for users.
    Failed(String),
}

impl Core {
    /// Adds a store of rows, whose values are cached up to that size.
    pub fn add_store(&mut self, store: &StoreName, max_bytes: usize) {
        self.rows.loaders.insert(store.clone(), RowLoader::new(max_bytes));
    }

    /// Applies an event of a store. Returns the message of a new error.
    pub fn observe_store(&mut self, now: Timestamp, store: &StoreName, event: StoreEvent) -> Option<String> {
        let loader = self.rows.loaders.get_mut(store)?;
        let published = match event {
            StoreEvent::Changed => {
                loader.notify();
                None
            }
            StoreEvent::Opened(log) => loader.opened(now, log, &self.triggers),
            StoreEvent::Fetched(batch) => loader.fetched(now, batch, &self.triggers),
            StoreEvent::Failed(message) => {
                let is_first = loader.failed(now);
                let is_new = self.set_store_error(store, &message);
                return (is_first || is_new).then_some(message);
            }
        };
        if let Some(published) = published {
            self.cache.set_rows(store, loader.cache().snapshot());
            self.watch_errors.retain(|table, _| !(table.is_rows() && table.cluster == *store));
            self.publish_rows(now, store, published);
        }
        None
    }

    /// Records the error for the tables that runs wait for, so that their status shows it. Returns whether it is new.
    fn set_store_error(&mut self, store: &StoreName, message: &str) -> bool {
        let waits = self.rows.parked.values().flat_map(|parked| &parked.waits).map(table_of);
        let tables: BTreeSet<TableKey> = waits.filter(|table| table.cluster == *store).cloned().collect();
        let mut is_new = false;
        for table in tables {
            is_new |= self.watch_errors.insert(table, message.to_string()).is_none_or(|before| before != message);
        }
        is_new
    }

    fn publish_rows(&mut self, now: Timestamp, store: &StoreName, published: PublishedRows) {
        if published.is_resync {
            for unit in self.triggers.units_with_rows(store) {
                self.trigger(now, &unit, Cause::Resync);
            }
            self.add_row_event(RowEvent::Resync(store.clone()));
        }
        for (key, revision) in published.changes.rows {
            let cause = row_changed(&key, revision);
            for unit in self.triggers.readers_of_row(&key) {
                self.trigger(now, &unit, cause.clone());
            }
            self.add_row_event(RowEvent::Row(key, revision));
        }
        for key in published.observed {
            for unit in self.pending_writes.observe_row(&key) {
                self.scheduler.release(now, &unit);
            }
            self.add_row_event(RowEvent::Observed(key));
        }
        for (query, (key, revision)) in published.changes.queries {
            let cause = rows_changed(&query, &key, revision);
            for unit in self.triggers.readers_of_rows(&query) {
                self.trigger(now, &unit, cause.clone());
            }
            self.add_row_event(RowEvent::Rows(query, key, revision));
        }
        self.resume_parked(now);
    }

    fn add_row_event(&mut self, event: RowEvent) {
        if self.running.is_empty() {
            return;
        }
        self.rows.seen += 1;
        self.rows.recent.push_back((self.rows.seen, event));
        if self.rows.recent.len() > MAX_RECENT {
            self.rows.forgotten = self.rows.recent.pop_front().map_or(0, |(number, _)| number);
        }
    }

    /// Returns the number of the last event, at the start of a run.
    pub(super) fn row_events_seen(&self) -> u64 {
        self.rows.seen
    }

    /// Triggers parked runs whose rows are cached.
    fn resume_parked(&mut self, now: Timestamp) {
        let ready = self.rows.parked.iter().filter(|(_, parked)| self.is_fetched(parked));
        let ready: Vec<UnitId> = ready.map(|(unit, _)| unit.clone()).collect();
        for unit in ready {
            self.resume(now, &unit);
        }
    }

    /// Triggers a run that was parked just now, if its rows were cached during it.
    pub(super) fn resume_if_fetched(&mut self, now: Timestamp, unit: &UnitId) {
        if self.rows.parked.get(unit).is_some_and(|parked| self.is_fetched(parked)) {
            self.resume(now, unit);
        }
    }

    /// Whether a parked run waits, and all rows that it waits for are cached.
    fn is_fetched(&self, parked: &ParkedRun) -> bool {
        let loader_of = |read: &RowRead| self.rows.loaders.get(&table_of(read).cluster);
        let is_cached = |read: &RowRead| loader_of(read).is_some_and(|loader| loader.cache().has(read));
        !parked.waits.is_empty() && parked.waits.iter().all(is_cached)
    }

    fn resume(&mut self, now: Timestamp, unit: &UnitId) {
        let Some(parked) = self.rows.parked.get_mut(unit) else { return };
        let tables: BTreeSet<TableKey> =
            std::mem::take(&mut parked.waits).iter().map(|r| table_of(r).clone()).collect();
        self.rows.joined.insert(unit.clone());
        for table in tables {
            self.trigger(now, unit, Cause::KindCached { table });
        }
        // Unless the run waits for kinds as well, no further cause is expected.
        if self.triggers.missing(unit).iter().all(|table| table.is_rows() || self.cache.is_readable(table)) {
            self.scheduler.skip_debounce(now, unit);
        }
    }

    /// Returns the error of a run that can never read its missing rows, if so.
    pub(super) fn missing_store(&self, reads: &Reads) -> Option<DecideError> {
        let mut stores = reads.rows.missing.iter().map(|read| &table_of(read).cluster);
        let unknown = stores.find(|store| !self.rows.loaders.contains_key(store))?;
        Some(DecideError::Failed(format!("store {unknown} is not connected")))
    }

    /// Fetches the missing rows of a run, with those of its previous run that are evicted: a known unit then waits once.
    pub(super) fn park(&mut self, unit: &UnitId, reads: &Reads, before: &[RowRead]) {
        let Some(running) = self.running.get(unit) else { return };
        let (causes, triggered_at) = (running.causes.clone(), running.triggered_at);
        for read in reads.rows.missing.iter().chain(before) {
            if let Some(loader) = self.rows.loaders.get_mut(&table_of(read).cluster) {
                loader.need(read.clone());
            }
        }
        let waits = reads.rows.missing.clone();
        let show_at = Timestamp(triggered_at.0 + QUIET_PARK_MS);
        self.rows.show_at = Some(self.rows.show_at.map_or(show_at, |earlier| earlier.min(show_at)));
        self.rows.parked.insert(unit.clone(), ParkedRun { waits, causes, triggered_at });
        self.rows.joined.remove(unit);
    }

    /// Whether a run waits for rows alone. Such a run is shown only if it waits for long.
    pub(super) fn waits_for_rows(reads: &Reads) -> bool {
        !reads.missing.is_empty() && reads.missing.iter().all(TableKey::is_rows)
    }

    /// Shows the parked runs that have waited for [`QUIET_PARK_MS`].
    fn show_parked(&mut self, now: Timestamp) {
        if self.rows.show_at.is_none_or(|at| now < at) {
            return;
        }
        self.rows.show_at = None;
        for (unit, parked) in self.rows.parked.iter().filter(|(_, parked)| !parked.waits.is_empty()) {
            let show_at = Timestamp(parked.triggered_at.0 + QUIET_PARK_MS);
            if show_at <= now {
                let tables: BTreeSet<&TableKey> = parked.waits.iter().map(table_of).collect();
                let message = waiting_message(tables);
                self.unit_statuses.set(now, unit, Health::Waiting, &message);
            } else {
                self.rows.show_at = Some(self.rows.show_at.map_or(show_at, |earlier| earlier.min(show_at)));
            }
        }
    }

    /// Returns the units that wait for rows, as messages for users.
    pub(super) fn parked_reasons(&self) -> impl Iterator<Item = String> {
        let waiting = self.rows.parked.iter().filter(|(_, parked)| !parked.waits.is_empty());
        waiting.map(|(unit, parked)| {
            let tables: BTreeSet<&TableKey> = parked.waits.iter().map(table_of).collect();
            let why = tables.iter().find_map(|table| self.watch_errors.get(*table));
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            format!("{unit} waits for {}{why}", waiting_message(tables))
        })
    }

    /// Lets a run that reads rows join the open sessions, and adds the causes of its parked run to its own.
    pub(super) fn join_parked(&mut self, started: &mut StartedRun) {
        let is_open = self.rows.loaders.values().any(RowLoader::is_open);
        if is_open && self.triggers.reads_rows_at_all(&started.unit) {
            self.rows.joined.insert(started.unit.clone());
        }
        let Some(parked) = self.rows.parked.remove(&started.unit) else { return };
        if self.rows.parked.is_empty() {
            self.rows.show_at = None;
        }
        let is_wait = |cause: &Cause| matches!(cause, Cause::KindCached { table } if table.is_rows());
        let later = std::mem::take(&mut started.causes).into_iter().filter(|cause| !is_wait(cause));
        started.causes = parked.causes.into_iter().chain(later).take(MAX_CAUSES).collect();
        started.triggered_at = started.triggered_at.min(parked.triggered_at);
    }

    /// Whether a written row is still to be observed. A row that no unit reads is never observed.
    pub(super) fn expects_row(&self, key: &ObjectKey, revision: Option<u64>) -> bool {
        let Some(loader) = self.rows.loaders.get(&key.table.cluster) else { return false };
        let of_it = |event: &RowEvent| matches!(event, RowEvent::Observed(seen) if seen == key);
        loader.cache().matters(key, &self.triggers)
            && loader.cache().revision(key) != Some(revision)
            && !self.rows.recent.iter().any(|(_, event)| of_it(event))
    }

    /// Lets the loaders read the log after commits and conflicts of this process, without a notification.
    pub(super) fn notify_stores(&mut self, executed: &[ExecutedWrite]) {
        for object in executed.iter().map(|one| &one.write.object).filter(|object| object.table.is_rows()) {
            if let Some(loader) = self.rows.loaders.get_mut(&object.table.cluster) {
                loader.notify();
            }
        }
    }

    /// Ends the part of a run that reads rows, and returns the causes that occurred during it.
    pub(super) fn finish_row_reads(&mut self, unit: &UnitId, reads: &Reads, seen: u64) -> Vec<Cause> {
        self.rows.joined.remove(unit);
        if self.rows.loaders.is_empty() {
            return Vec::new();
        }
        let listed = reads.lists.iter().filter(|(query, _)| query.table.is_rows());
        let samples = reads.rows.samples.iter();
        let keys = reads.gets.keys().filter(|key| key.table.is_rows()).cloned();
        let keys: Vec<ObjectKey> = keys.chain(listed.chain(samples).flat_map(|(q, all)| listed_keys(q, all))).collect();
        for (store, loader) in &mut self.rows.loaders {
            loader.cache_mut().touch(keys.iter().filter(|key| key.table.cluster == *store));
        }
        let events = self.rows.recent.iter().filter(|(number, _)| *number > seen);
        let mut causes: Vec<Cause> = events.filter_map(|(_, event)| event.cause(reads)).collect();
        if self.rows.forgotten > seen {
            causes.push(Cause::Resync);
        }
        causes
    }

    pub(super) fn forget_row_events(&mut self) {
        if self.rows.recent.is_empty() {
            return;
        }
        let oldest = self.running.values().map(|running| running.rows_seen).min().unwrap_or(u64::MAX);
        while self.rows.recent.front().is_some_and(|(number, _)| *number <= oldest) {
            self.rows.recent.pop_front();
        }
    }

    pub(super) fn forget_rows_of(&mut self, unit: &UnitId) {
        self.rows.parked.remove(unit);
        self.rows.joined.remove(unit);
    }

    /// Adds the commands of all stores.
    pub(super) fn poll_stores(&mut self, now: Timestamp) {
        self.show_parked(now);
        let is_joined = !self.rows.joined.is_empty();
        let mut dropped = Vec::new();
        for (store, loader) in &mut self.rows.loaders {
            let commands = loader.poll(now, is_joined, &self.triggers, &mut dropped);
            if commands.contains(&RowCommand::End) {
                self.cache.set_rows(store, loader.cache().snapshot());
            }
            self.commands.extend(commands.into_iter().map(|command| CoreCommand::Rows(store.clone(), command)));
        }
        dropped.into_iter().for_each(|read| self.add_row_event(RowEvent::Dropped(read)));
    }

    pub(super) fn next_of_stores(&self) -> Option<Timestamp> {
        self.rows.loaders.values().filter_map(RowLoader::next).chain(self.rows.show_at).min()
    }

    pub(super) fn stores_are_quiet(&self) -> bool {
        self.rows.loaders.values().all(RowLoader::is_quiet)
    }
}

impl RowEvent {
    /// Returns the cause for a run that made these reads.
    fn cause(&self, reads: &Reads) -> Option<Cause> {
        let has_rows = |query: &ListQuery| reads.lists.contains_key(query) || reads.rows.counts.contains_key(query);
        match self {
            RowEvent::Row(key, revision) if reads.gets.contains_key(key) => Some(row_changed(key, *revision)),
            RowEvent::Rows(query, key, revision) if has_rows(query) => Some(rows_changed(query, key, *revision)),
            RowEvent::Dropped(RowRead::Row(key)) if reads.gets.contains_key(key) => Some(Cause::Resync),
            RowEvent::Dropped(RowRead::Rows(query)) if has_rows(query) => Some(Cause::Resync),
            RowEvent::Resync(store) => {
                let tables = reads.gets.keys().map(|key| &key.table).chain(reads.lists.keys().map(|list| &list.table));
                let mut tables = tables.chain(reads.rows.counts.keys().map(|list| &list.table));
                tables.any(|table| table.is_rows() && table.cluster == *store).then_some(Cause::Resync)
            }
            _ => None,
        }
    }
}

fn row_changed(key: &ObjectKey, revision: Option<u64>) -> Cause {
    Cause::Changed { object: key.clone(), revision: revision.unwrap_or_default() }
}

fn rows_changed(query: &ListQuery, key: &ObjectKey, revision: Option<u64>) -> Cause {
    Cause::Matched { list: query.clone(), object: key.clone(), revision: revision.unwrap_or_default() }
}

fn table_of(read: &RowRead) -> &TableKey {
    match read {
        RowRead::Row(key) => &key.table,
        RowRead::Rows(query) => &query.table,
    }
}
