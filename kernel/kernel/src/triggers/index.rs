//! Readers of one kind.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use switchboard_object::Map;
use switchboard_object::selector::{LabelSelector, SelectorOperator};

use super::readers::Readers;
use crate::cache::ObjectChange;
use crate::operator::{OperatorName, Unit, UnitId};
use crate::resource::{ListQuery, ObjectKey, Selection};

type LabelPair = (String, String);
/// Namespace, or all namespaces, with one label that every match has, if the selector requires one.
type Bucket = (Option<Arc<str>>, Option<LabelPair>);

/// Readers of one kind.
#[derive(Default)]
pub struct TableIndex {
    /// Readers by namespace and name.
    gets: HashMap<(Arc<str>, Arc<str>), Readers>,
    lists: HashMap<Bucket, BTreeMap<Selection, ListReaders>>,
    /// Units that wait for the kind.
    pub waiting: Readers,
    /// Number of units that read or wait for the kind, by operator.
    pub readers: BTreeMap<OperatorName, usize>,
}

/// List with its readers.
pub struct ListReaders {
    pub selector: LabelSelector,
    pub query: Arc<ListQuery>,
    pub units: Readers,
}

impl ListReaders {
    pub fn new(query: &ListQuery) -> Self {
        // A view rejects invalid selectors. If there is one, triggering too often is the safe choice.
        let selector = query.selection.selector().unwrap_or_else(|_| LabelSelector::everything());
        Self { selector, query: Arc::new(query.clone()), units: Readers::None }
    }

    /// Returns a label that every match has.
    fn label(&self) -> Option<LabelPair> {
        let one = |operator| {
            matches!(operator, SelectorOperator::Equals | SelectorOperator::DoubleEquals | SelectorOperator::In)
        };
        let mut labels = self.selector.requirements().iter().filter(|r| one(r.operator()) && r.values().len() == 1);
        labels.next().map(|r| (r.key().to_string(), r.values().concat()))
    }
}

impl TableIndex {
    /// Returns an equal name that shares existing strings: those of another reader, or of the unit itself.
    pub fn shared_names(&self, key: &ObjectKey, unit: &UnitId) -> (Arc<str>, Arc<str>) {
        let names = (key.namespace.clone(), key.name.clone());
        if let Some((shared, _)) = self.gets.get_key_value(&names) {
            return shared.clone();
        }
        let Unit::Object { namespace, name } = &unit.unit else { return names };
        let same = |own: &Arc<str>, other: Arc<str>| if **own == *other { own.clone() } else { other };
        (same(namespace, names.0), same(name, names.1))
    }

    pub fn add_get(&mut self, key: &ObjectKey, unit: &Arc<UnitId>) {
        let name = (key.namespace.clone(), key.name.clone());
        self.gets.entry(name).or_default().insert(unit);
    }

    pub fn remove_get(&mut self, key: &ObjectKey, unit: &UnitId) {
        let name = (key.namespace.clone(), key.name.clone());
        let Some(units) = self.gets.get_mut(&name) else { return };
        units.remove(unit);
        if units.is_empty() {
            self.gets.remove(&name);
        }
    }

    /// Adds a reader, and returns the list as shared by all its readers.
    pub fn add_list(&mut self, query: &ListQuery, unit: &Arc<UnitId>) -> Arc<ListQuery> {
        let fresh = ListReaders::new(query);
        let bucket = self.lists.entry((query.selection.namespace.clone(), fresh.label())).or_default();
        let listing = bucket.entry(query.selection.clone()).or_insert(fresh);
        listing.units.insert(unit);
        listing.query.clone()
    }

    pub fn remove_list(&mut self, query: &ListQuery, unit: &UnitId) {
        let bucket_key = (query.selection.namespace.clone(), ListReaders::new(query).label());
        let Some(bucket) = self.lists.get_mut(&bucket_key) else { return };
        let Some(listing) = bucket.get_mut(&query.selection) else { return };
        listing.units.remove(unit);
        if listing.units.is_empty() {
            bucket.remove(&query.selection);
        }
        if bucket.is_empty() {
            self.lists.remove(&bucket_key);
        }
    }

    pub fn remove_reader(&mut self, operator: &OperatorName) {
        if let Some(units) = self.readers.get_mut(operator) {
            *units -= 1;
            if *units == 0 {
                self.readers.remove(operator);
            }
        }
    }

    /// Returns the units that read an object by name.
    pub fn readers_of(&self, key: &ObjectKey) -> impl Iterator<Item = &Arc<UnitId>> {
        self.gets.get(&(key.namespace.clone(), key.name.clone())).into_iter().flat_map(Readers::iter)
    }

    /// Returns the units that read exactly this list of rows.
    pub fn readers_of_list(&self, selection: &Selection) -> impl Iterator<Item = &Arc<UnitId>> {
        let listing = self.lists.get(&(None, None)).and_then(|bucket| bucket.get(selection));
        listing.into_iter().flat_map(|listing| listing.units.iter())
    }

    /// Returns the lists that a change concerns, in order: one bucket for each namespace, and one for each label of the
    /// object.
    pub fn matching_lists(&self, change: &ObjectChange) -> BTreeMap<&Selection, &ListReaders> {
        let mut found = BTreeMap::new();
        if self.lists.is_empty() {
            return found;
        }
        for labels in [&change.before, &change.after].into_iter().flatten().map(crate::object::Object::labels) {
            for namespace in [None, Some(change.key.namespace.clone())] {
                let pair = |(key, value): (&String, &serde_json::Value)| {
                    Some((key.clone(), value.as_str().unwrap_or_default().to_string()))
                };
                for label in std::iter::once(None).chain(labels.iter().map(pair)) {
                    let bucket = self.lists.get(&(namespace.clone(), label));
                    let named = |selection: &Selection| selection.matches_name(&change.key.name);
                    let lists = bucket.into_iter().flatten().filter(|(selection, _)| named(selection));
                    found.extend(lists.filter(|(_, listing)| listing.selects(&labels)));
                }
            }
        }
        found
    }
}

impl ListReaders {
    fn selects(&self, labels: &Map) -> bool {
        self.selector.matches(Some(labels))
    }
}
