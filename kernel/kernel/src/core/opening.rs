//! Start and end of watches.
//!
//! A watch starts when a unit first needs the kind, and all kinds that a run waits for start together. It stops a minute
//! after its last reader: a list of all Secrets or ConfigMaps of a large cluster is paid for only while it is needed.

use super::{Core, CoreCommand, UNREAD_GRACE_MS};
use crate::decision::Cause;
use crate::operator::UnitId;
use crate::resource::TableKey;
use crate::timestamp::Timestamp;

impl Core {
    pub(super) fn ensure_watched(&mut self, table: &TableKey) {
        if table.is_rows() {
            // The loader of the store reads rows.
            return;
        }
        if self.watched.insert(table.clone(), None).is_none() && !self.cache.is_readable(table) {
            self.commands.push(CoreCommand::Watch(table.clone()));
        }
    }

    /// Triggers the units that wait for a kind that became readable.
    pub(super) fn resume_waiting(&mut self, now: Timestamp, table: &TableKey) {
        for unit in self.triggers.waiting_for(table) {
            self.trigger(now, &unit, Cause::KindCached { table: table.clone() });
            if self.can_read_missing(&unit) {
                self.scheduler.skip_debounce(now, &unit);
            }
        }
    }

    /// Triggers a unit whose missing kinds became readable during its run.
    pub(super) fn resume_if_cached(&mut self, now: Timestamp, unit: &UnitId) {
        if !self.can_read_missing(unit) {
            return;
        }
        for table in self.triggers.missing(unit).to_vec() {
            self.trigger(now, unit, Cause::KindCached { table });
        }
        self.scheduler.skip_debounce(now, unit);
    }

    /// Whether all kinds that a unit waits for are readable. While one is missing, further ones may follow soon, so the
    /// debounce applies.
    fn can_read_missing(&self, unit: &UnitId) -> bool {
        self.triggers.missing(unit).iter().all(|table| !table.is_rows() && self.cache.is_readable(table))
    }

    /// Stops watches that had no reader for [`UNREAD_GRACE_MS`].
    pub(super) fn unwatch_unread(&mut self, now: Timestamp) {
        let mut gone = Vec::new();
        for (table, since) in &mut self.watched {
            if self.unit_index.covers(table) || self.triggers.is_read(table) {
                *since = None;
                continue;
            }
            let since = *since.get_or_insert(now);
            if now.since(since).as_millis() >= u128::from(UNREAD_GRACE_MS) {
                gone.push(table.clone());
            }
        }
        for table in gone {
            self.watched.remove(&table);
            self.watch_errors.remove(&table);
            self.cache.forget(&table);
            if !self.running.is_empty() {
                self.unwatched.insert(table.clone(), self.next_decision);
            }
            self.commands.push(CoreCommand::Unwatch(table));
        }
    }
}

/// Returns the message of a unit that waits for kinds.
pub(super) fn waiting_message<'t>(missing: impl IntoIterator<Item = &'t TableKey>) -> String {
    let names: Vec<String> = missing.into_iter().map(|table| table.resource.to_string()).collect();
    format!("{} to be cached", names.join(", "))
}
