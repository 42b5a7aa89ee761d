//! Index from a change to the units it triggers: the inverse of what units have read.
//!
//! Objects read by name are found by hash. Lists are found by kind, namespace and one `label=value` of their selector,
//! so the cost of a change depends only on the few lists it may concern, not on the number of objects and units. Lists
//! without such a label are in one bucket per kind and namespace.
//!
//! A unit that waits for a kind is triggered once, by [`TriggerIndex::waiting_for`], when the kind becomes readable,
//! and not by changes of that kind.

mod index;
mod readers;
mod rows;

#[cfg(test)]
mod tests;

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use index::{ListReaders, TableIndex};
use switchboard_object::selector::LabelSelector;

use crate::cache::ObjectChange;
use crate::decision::Cause;
use crate::operator::{OperatorName, UnitId};
use crate::resource::{ListQuery, ObjectKey, Selection, TableKey};
use crate::view::Reads;

/// Index from objects and lists to the units that have read them.
#[derive(Default)]
pub struct TriggerIndex {
    tables: HashMap<TableKey, TableIndex>,
    units: HashMap<Arc<UnitId>, Box<UnitReads>>,
}

/// Objects and lists that a unit has read, without their content. Strings are shared between units, because there are
/// many.
struct UnitReads {
    gets: Box<[ObjectKey]>,
    /// Objects read by name whose status is ignored.
    ignoring_status: Box<[ObjectKey]>,
    lists: Box<[Arc<ListQuery>]>,
    missing: Box<[TableKey]>,
}

impl UnitReads {
    /// Whether a run read the same objects and lists.
    fn is_same(&self, reads: &Reads) -> bool {
        self.gets.iter().eq(rows::gets(reads))
            && self.ignoring_status.iter().eq(&reads.ignoring_status)
            && self.lists.iter().map(|query| &**query).eq(rows::lists(reads))
            && self.missing.iter().eq(&reads.missing)
    }

    fn tables(&self) -> Vec<&TableKey> {
        let gets = self.gets.iter().map(|key| &key.table);
        let lists = self.lists.iter().map(|query| &query.table);
        let mut tables: Vec<_> = gets.chain(lists).chain(&self.missing).collect();
        tables.sort();
        tables.dedup();
        tables
    }
}

impl TriggerIndex {
    /// Replaces what a unit has read with the reads of its last run.
    pub fn set(&mut self, unit: &UnitId, reads: &Reads) {
        // Most runs read the same as the previous run.
        if self.units.get(unit).is_some_and(|before| before.is_same(reads)) {
            return;
        }
        self.forget(unit);
        let shared = Arc::new(unit.clone());
        let gets = rows::gets(reads).map(|key| self.add_get(key, &shared)).collect();
        let lists = rows::lists(reads).map(|query| self.add_list(query, &shared)).collect();
        let missing = reads.missing.iter().map(|table| self.await_table(table, &shared)).collect();
        let but_for_status = reads.ignoring_status.iter().cloned().collect();
        let held = Box::new(UnitReads { gets, ignoring_status: but_for_status, lists, missing });
        for table in held.tables() {
            *self.index(table).readers.entry(unit.operator.clone()).or_default() += 1;
        }
        self.units.insert(shared, held);
    }

    fn add_get(&mut self, key: &ObjectKey, unit: &Arc<UnitId>) -> ObjectKey {
        let table = self.shared_key(&key.table);
        let index = self.index(&table);
        let (namespace, name) = index.shared_names(key, unit);
        let key = ObjectKey { table, namespace, name };
        index.add_get(&key, unit);
        key
    }

    fn add_list(&mut self, query: &ListQuery, unit: &Arc<UnitId>) -> Arc<ListQuery> {
        let table = self.shared_key(&query.table);
        let query = ListQuery { table, selection: query.selection.clone() };
        self.index(&query.table).add_list(&query, unit)
    }

    fn await_table(&mut self, table: &TableKey, unit: &Arc<UnitId>) -> TableKey {
        let table = self.shared_key(table);
        self.index(&table).waiting.insert(unit);
        table
    }

    /// Returns an equal key that shares existing strings.
    fn shared_key(&mut self, table: &TableKey) -> TableKey {
        self.index(table);
        self.tables.get_key_value(table).map_or_else(|| table.clone(), |(known, _)| known.clone())
    }

    /// Removes a unit.
    pub fn forget(&mut self, unit: &UnitId) {
        let Some(held) = self.units.remove(unit) else { return };
        for key in &held.gets {
            self.index(&key.table).remove_get(key, unit);
        }
        for query in &held.lists {
            self.index(&query.table).remove_list(query, unit);
        }
        for table in &held.missing {
            self.index(table).waiting.remove(unit);
        }
        for table in held.tables() {
            let index = self.index(table);
            index.remove_reader(&unit.operator);
            if index.readers.is_empty() {
                self.tables.remove(table);
            }
        }
    }

    /// Returns the units that a change triggers, each once, in order.
    pub fn triggered(&self, change: &ObjectChange) -> Vec<(UnitId, Cause)> {
        let Some(index) = self.tables.get(&change.key.table) else { return Vec::new() };
        let mut triggered = BTreeMap::new();
        let status_alone = LazyCell::new(|| is_status_only(change));
        for unit in index.readers_of(&change.key) {
            let held = self.units.get(unit).filter(|held| held.ignoring_status.contains(&change.key));
            if held.is_none() || !*status_alone {
                triggered.insert(unit.clone(), changed(change));
            }
        }
        for listing in index.matching_lists(change).values() {
            for unit in listing.units.iter() {
                triggered.entry(unit.clone()).or_insert_with(|| matched(ListQuery::clone(&listing.query), change));
            }
        }
        triggered.into_iter().map(|(unit, cause)| (UnitId::clone(&unit), cause)).collect()
    }

    /// Returns the units that wait for a kind, in order.
    pub fn waiting_for(&self, table: &TableKey) -> Vec<UnitId> {
        let waiting = self.tables.get(table).map(|index| index.waiting.iter());
        waiting.into_iter().flatten().map(|unit| UnitId::clone(unit)).collect()
    }

    /// Returns the kinds that a unit waits for.
    pub fn missing(&self, unit: &UnitId) -> &[TableKey] {
        self.units.get(unit).map_or(&[], |held| &held.missing)
    }

    /// Returns the operators that read a kind or wait for it, in order. Without any, the watch may stop.
    pub fn readers(&self, table: &TableKey) -> Vec<OperatorName> {
        self.tables.get(table).map(|index| index.readers.keys().cloned().collect()).unwrap_or_default()
    }

    /// Whether an operator reads a kind or waits for it.
    pub fn is_read(&self, table: &TableKey) -> bool {
        self.tables.contains_key(table)
    }

    /// Returns every kind that an operator reads or waits for.
    pub fn tables(&self) -> impl Iterator<Item = &TableKey> {
        self.tables.keys()
    }

    fn index(&mut self, table: &TableKey) -> &mut TableIndex {
        if !self.tables.contains_key(table) {
            self.tables.insert(table.clone(), TableIndex::default());
        }
        self.tables.get_mut(table).expect("it was put there above")
    }
}

/// Returns the cause if a change concerns what was read, for changes that occurred during the run.
///
/// For a missing kind that became readable during the run, use [`crate::cache::Cache::is_readable`].
pub fn cause_of(reads: &Reads, change: &ObjectChange) -> Option<Cause> {
    if reads.gets.contains_key(&change.key) && !(reads.ignoring_status.contains(&change.key) && is_status_only(change))
    {
        return Some(changed(change));
    }
    let of_kind = reads.lists.keys().filter(|query| query.table == change.key.table);
    let mut hit = of_kind.filter(|query| {
        let listing = ListReaders::new(query);
        in_namespace(&query.selection, change)
            && query.selection.matches_name(&change.key.name)
            && concerns(&listing.selector, change)
    });
    hit.next().map(|query| matched(query.clone(), change))
}

fn is_status_only(change: &ObjectChange) -> bool {
    matches!((&change.before, &change.after), (Some(before), Some(after)) if before.equal_ignoring_status(after))
}

fn in_namespace(selection: &Selection, change: &ObjectChange) -> bool {
    selection.namespace.as_ref().is_none_or(|namespace| *namespace == change.key.namespace)
}

/// Whether the object matches, or did before the change.
fn concerns(selector: &LabelSelector, change: &ObjectChange) -> bool {
    let both = [&change.before, &change.after];
    selector.is_everything() || both.into_iter().flatten().any(|object| selector.matches(Some(&object.labels())))
}

fn changed(change: &ObjectChange) -> Cause {
    Cause::Changed { object: change.key.clone(), revision: change.revision }
}

fn matched(list: ListQuery, change: &ObjectChange) -> Cause {
    Cause::Matched { list, object: change.key.clone(), revision: change.revision }
}
