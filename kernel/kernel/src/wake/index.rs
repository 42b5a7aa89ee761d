//! Who reads one kind.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use switchboard_object::Map;
use switchboard_object::selector::{LabelSelector, Operator};

use super::readers::Readers;
use crate::cache::Change;
use crate::operator::{OperatorName, Unit, UnitId};
use crate::resource::{ObjectKey, Query, Selection};

type Label = (String, String);
/// Namespace, or all; and one label that every match has, if the selector says so.
type Bucket = (Option<Arc<str>>, Option<Label>);

/// The readers of one kind.
#[derive(Default)]
pub struct TableIndex {
    /// By namespace and name.
    gets: HashMap<(Arc<str>, Arc<str>), Readers>,
    lists: HashMap<Bucket, BTreeMap<Selection, Listing>>,
    /// Parked until the kind is known.
    pub waiting: Readers,
    /// How many units of which operators read or wait.
    pub readers: BTreeMap<OperatorName, usize>,
}

/// A list and who made it.
pub struct Listing {
    pub selector: LabelSelector,
    pub query: Arc<Query>,
    pub units: Readers,
}

impl Listing {
    pub fn new(query: &Query) -> Self {
        // A view refuses selectors it cannot read. If one comes another way, waking too often is the safe side.
        let selector = query.selection.selector().unwrap_or_else(|_| LabelSelector::everything());
        Self { selector, query: Arc::new(query.clone()), units: Readers::None }
    }

    /// A label every match has.
    fn label(&self) -> Option<Label> {
        let one = |operator| matches!(operator, Operator::Equals | Operator::DoubleEquals | Operator::In);
        let mut labels = self.selector.requirements().iter().filter(|r| one(r.operator()) && r.values().len() == 1);
        labels.next().map(|r| (r.key().to_string(), r.values().concat()))
    }
}

impl TableIndex {
    /// The same key with strings that are there already: those of who reads it too, or of the unit itself.
    pub fn shared(&self, key: &ObjectKey, unit: &UnitId) -> (Arc<str>, Arc<str>) {
        let place = (key.namespace.clone(), key.name.clone());
        if let Some((place, _)) = self.gets.get_key_value(&place) {
            return place.clone();
        }
        let Unit::Object { namespace, name } = &unit.unit else { return place };
        let same = |own: &Arc<str>, other: Arc<str>| if **own == *other { own.clone() } else { other };
        (same(namespace, place.0), same(name, place.1))
    }

    pub fn add_get(&mut self, key: &ObjectKey, unit: &Arc<UnitId>) {
        let place = (key.namespace.clone(), key.name.clone());
        self.gets.entry(place).or_default().insert(unit);
    }

    pub fn remove_get(&mut self, key: &ObjectKey, unit: &UnitId) {
        let place = (key.namespace.clone(), key.name.clone());
        let Some(units) = self.gets.get_mut(&place) else { return };
        units.remove(unit);
        if units.is_empty() {
            self.gets.remove(&place);
        }
    }

    /// Gives the list as all who made it share it.
    pub fn add_list(&mut self, query: &Query, unit: &Arc<UnitId>) -> Arc<Query> {
        let fresh = Listing::new(query);
        let bucket = self.lists.entry((query.selection.namespace.clone(), fresh.label())).or_default();
        let listing = bucket.entry(query.selection.clone()).or_insert(fresh);
        listing.units.insert(unit);
        listing.query.clone()
    }

    pub fn remove_list(&mut self, query: &Query, unit: &UnitId) {
        let place = (query.selection.namespace.clone(), Listing::new(query).label());
        let Some(bucket) = self.lists.get_mut(&place) else { return };
        let Some(listing) = bucket.get_mut(&query.selection) else { return };
        listing.units.remove(unit);
        if listing.units.is_empty() {
            bucket.remove(&query.selection);
        }
        if bucket.is_empty() {
            self.lists.remove(&place);
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

    /// Who asked for the object by name.
    pub fn readers_of(&self, key: &ObjectKey) -> impl Iterator<Item = &Arc<UnitId>> {
        self.gets.get(&(key.namespace.clone(), key.name.clone())).into_iter().flat_map(Readers::iter)
    }

    /// The lists that a change concerns, in order: namespaced ones have one bucket, labelled ones one per label of the object.
    pub fn listings_of(&self, change: &Change) -> BTreeMap<&Selection, &Listing> {
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
                    let named = |selection: &Selection| selection.means_name(&change.key.name);
                    let lists = bucket.into_iter().flatten().filter(|(selection, _)| named(selection));
                    found.extend(lists.filter(|(_, listing)| listing.selects(&labels)));
                }
            }
        }
        found
    }
}

impl Listing {
    fn selects(&self, labels: &Map) -> bool {
        self.selector.matches(Some(labels))
    }
}
