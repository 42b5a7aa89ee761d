//! What units read, the other way round: from a change to the units it wakes.
//!
//! Objects read by name are found by hash. Lists are found by kind, namespace and one `label=value` of their selector, so a
//! change looks at the few lists it may concern, however many objects and units there are. Lists without such a label stand
//! in one bucket per kind and namespace.
//!
//! A unit parked on a kind is not woken by that kind's changes but once, by [`Wakes::waiting_for`], when it becomes known.

mod index;
mod readers;

#[cfg(test)]
mod tests;

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use index::{Listing, TableIndex};
use switchboard_object::selector::LabelSelector;

use crate::cache::Change;
use crate::decision::Cause;
use crate::operator::{OperatorName, UnitId};
use crate::resource::{ObjectKey, Query, Selection, TableKey};
use crate::view::Reads;

/// Whom a change wakes.
#[derive(Default)]
pub struct Wakes {
    tables: HashMap<TableKey, TableIndex>,
    units: HashMap<Arc<UnitId>, Box<Held>>,
}

/// What a unit read, without what it found. Names are shared with whoever has them already: there are many units.
struct Held {
    gets: Box<[ObjectKey]>,
    /// Those of the gets whose status does not matter.
    but_for_status: Box<[ObjectKey]>,
    lists: Box<[Arc<Query>]>,
    missing: Box<[TableKey]>,
}

impl Held {
    /// Whether a run read the same again.
    fn is_of(&self, reads: &Reads) -> bool {
        self.gets.iter().eq(reads.gets.keys())
            && self.but_for_status.iter().eq(&reads.but_for_status)
            && self.lists.iter().map(|query| &**query).eq(reads.lists.keys())
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

impl Wakes {
    /// From now on a unit is woken by what it read last, and by nothing it read before.
    pub fn set(&mut self, unit: &UnitId, reads: &Reads) {
        // Most runs read what the run before read.
        if self.units.get(unit).is_some_and(|before| before.is_of(reads)) {
            return;
        }
        self.forget(unit);
        let shared = Arc::new(unit.clone());
        let gets = reads.gets.keys().map(|key| self.add_get(key, &shared)).collect();
        let lists = reads.lists.keys().map(|query| self.add_list(query, &shared)).collect();
        let missing = reads.missing.iter().map(|table| self.await_table(table, &shared)).collect();
        let but_for_status = reads.but_for_status.iter().cloned().collect();
        let held = Box::new(Held { gets, but_for_status, lists, missing });
        for table in held.tables() {
            *self.index(table).readers.entry(unit.operator.clone()).or_default() += 1;
        }
        self.units.insert(shared, held);
    }

    fn add_get(&mut self, key: &ObjectKey, unit: &Arc<UnitId>) -> ObjectKey {
        let table = self.known(&key.table);
        let index = self.index(&table);
        let (namespace, name) = index.shared(key, unit);
        let key = ObjectKey { table, namespace, name };
        index.add_get(&key, unit);
        key
    }

    fn add_list(&mut self, query: &Query, unit: &Arc<UnitId>) -> Arc<Query> {
        let table = self.known(&query.table);
        let query = Query { table, selection: query.selection.clone() };
        self.index(&query.table).add_list(&query, unit)
    }

    fn await_table(&mut self, table: &TableKey, unit: &Arc<UnitId>) -> TableKey {
        let table = self.known(table);
        self.index(&table).waiting.insert(unit);
        table
    }

    /// The same with the strings that are there already.
    fn known(&mut self, table: &TableKey) -> TableKey {
        self.index(table);
        self.tables.get_key_value(table).map_or_else(|| table.clone(), |(known, _)| known.clone())
    }

    /// The unit is woken by nothing any more.
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

    /// The units a change wakes, each once, in order.
    pub fn woken(&self, change: &Change) -> Vec<(UnitId, Cause)> {
        let Some(index) = self.tables.get(&change.key.table) else { return Vec::new() };
        let mut woken = BTreeMap::new();
        let status_alone = LazyCell::new(|| is_of_status_alone(change));
        for unit in index.readers_of(&change.key) {
            let held = self.units.get(unit).filter(|held| held.but_for_status.contains(&change.key));
            if held.is_none() || !*status_alone {
                woken.insert(unit.clone(), changed(change));
            }
        }
        for listing in index.listings_of(change).values() {
            for unit in listing.units.iter() {
                woken.entry(unit.clone()).or_insert_with(|| matched(Query::clone(&listing.query), change));
            }
        }
        woken.into_iter().map(|(unit, cause)| (UnitId::clone(&unit), cause)).collect()
    }

    /// The units parked until a kind is known, in order.
    pub fn waiting_for(&self, table: &TableKey) -> Vec<UnitId> {
        let waiting = self.tables.get(table).map(|index| index.waiting.iter());
        waiting.into_iter().flatten().map(|unit| UnitId::clone(unit)).collect()
    }

    /// The operators that read a kind or wait for it, in order. Its watch may stop when there are none.
    pub fn reads_of(&self, table: &TableKey) -> Vec<OperatorName> {
        self.tables.get(table).map(|index| index.readers.keys().cloned().collect()).unwrap_or_default()
    }

    /// Whether anybody reads a kind or waits for it.
    pub fn is_read(&self, table: &TableKey) -> bool {
        self.tables.contains_key(table)
    }

    /// The kinds an operator reads or waits for are among these: every kind that somebody reads.
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

/// Whether a change concerns what was read, and how: for changes that came in while a unit ran.
///
/// A kind the run missed and that became known meanwhile is not told here; ask [`crate::cache::Cache::knows`].
pub fn touches(reads: &Reads, change: &Change) -> Option<Cause> {
    if reads.gets.contains_key(&change.key)
        && !(reads.but_for_status.contains(&change.key) && is_of_status_alone(change))
    {
        return Some(changed(change));
    }
    let of_kind = reads.lists.keys().filter(|query| query.table == change.key.table);
    let mut hit = of_kind.filter(|query| {
        let listing = Listing::new(query);
        in_namespace(&query.selection, change)
            && query.selection.means_name(&change.key.name)
            && concerns(&listing.selector, change)
    });
    hit.next().map(|query| matched(query.clone(), change))
}

fn is_of_status_alone(change: &Change) -> bool {
    matches!((&change.before, &change.after), (Some(before), Some(after)) if before.same_but_for_status(after))
}

fn in_namespace(selection: &Selection, change: &Change) -> bool {
    selection.namespace.as_ref().is_none_or(|namespace| *namespace == change.key.namespace)
}

/// Whether the object matches, or did.
fn concerns(selector: &LabelSelector, change: &Change) -> bool {
    let both = [&change.before, &change.after];
    selector.is_everything() || both.into_iter().flatten().any(|object| selector.matches(Some(&object.labels())))
}

fn changed(change: &Change) -> Cause {
    Cause::Changed { object: change.key.clone(), revision: change.revision }
}

fn matched(list: Query, change: &Change) -> Cause {
    Cause::Matched { list, object: change.key.clone(), revision: change.revision }
}
