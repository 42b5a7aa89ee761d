//! Which objects are units of which operators.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_object::selector::LabelSelector;

use crate::cache::{Change, Snapshot};
use crate::object::Object;
use crate::operator::{OperatorName, Unit, UnitId};
use crate::place::{Place, Topology};
use crate::resource::{Query, Selection, TableKey};
use crate::view::Picture;

/// For each kind, the operators whose units its objects are.
#[derive(Default)]
pub(super) struct Rosters(BTreeMap<TableKey, Vec<Roster>>);

struct Roster {
    operator: OperatorName,
    world: World,
    selection: Selection,
    selector: LabelSelector,
    /// Labels are looked at as the operator sees them: the one with a Namespace's name says another one in the real world.
    late: bool,
}

/// Under which names an operator knows objects.
pub(super) struct World {
    pub topology: Arc<Topology>,
    pub place: Place,
}

impl World {
    fn known_as(&self, object: &Object) -> Option<(Arc<str>, Arc<str>)> {
        self.topology.known_as(self.place, &object.key)
    }
}

impl Roster {
    fn takes(&self, object: &Object) -> bool {
        let wanted = self.selection.namespace.as_ref();
        let known = self.world.known_as(object);
        known.is_some_and(|(namespace, name)| {
            wanted.is_none_or(|wanted| *wanted == namespace) && self.selection.means_name(&name)
        }) && (self.selector.is_everything()
            || self.labels(object).is_some_and(|own| self.selector.matches(Some(&own))))
    }

    fn labels(&self, object: &Object) -> Option<switchboard_object::Map> {
        match self.late {
            true => Some(self.world.topology.seen(self.world.place, object.clone())?.labels()),
            false => Some(object.labels()),
        }
    }

    fn unit(&self, object: &Object) -> Option<UnitId> {
        let (namespace, name) = self.world.known_as(object)?;
        Some(UnitId { operator: self.operator.clone(), unit: Unit::Object { namespace, name } })
    }
}

impl Rosters {
    /// Objects of a kind are units of an operator, and none that were before.
    pub fn add(&mut self, operator: &OperatorName, table: &TableKey, world: World, selection: &Selection) {
        self.remove(operator);
        // A selector that cannot be read selects nothing; the operator's own tests show it at once.
        let selector = selection.selector().unwrap_or_else(|_| LabelSelector::nothing());
        let (_, late) = world.topology.selection(world.place, &table.resource, selection);
        let roster = Roster { operator: operator.clone(), world, selection: selection.clone(), selector, late };
        self.0.entry(table.clone()).or_default().push(roster);
    }

    /// Objects are units of an operator no more.
    pub fn remove(&mut self, operator: &OperatorName) {
        self.0.retain(|_, rosters| {
            rosters.retain(|roster| roster.operator != *operator);
            !rosters.is_empty()
        });
    }

    /// The units an object is or was.
    pub fn units_of(&self, change: &Change) -> Vec<UnitId> {
        let states = || [&change.before, &change.after].into_iter().flatten();
        let rosters = self.0.get(&change.key.table).into_iter().flatten();
        rosters.filter_map(|roster| states().find(|o| roster.takes(o)).and_then(|o| roster.unit(o))).collect()
    }

    /// The units of an operator that are there already.
    pub fn present(&self, operator: &OperatorName, table: &TableKey, picture: &Snapshot) -> Vec<UnitId> {
        let rosters = self.0.get(table).into_iter().flatten().filter(|roster| roster.operator == *operator);
        rosters
            .flat_map(|roster| {
                let world = &roster.world;
                let (selection, _) = world.topology.selection(world.place, &table.resource, &roster.selection);
                let query = Query { table: table.clone(), selection };
                let real = if roster.late { &LabelSelector::everything() } else { &roster.selector };
                let objects = picture.list(&query, real).unwrap_or_default();
                let taken = objects.iter().filter(|object| !roster.late || roster.takes(object));
                taken.filter_map(|object| roster.unit(object)).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Whether an object is a unit of an operator.
    pub fn takes(&self, operator: &OperatorName, object: &Object) -> bool {
        let rosters = self.0.get(&object.key.table).into_iter().flatten();
        rosters.filter(|roster| roster.operator == *operator).any(|roster| roster.takes(object))
    }

    /// Whose units the objects of a kind are.
    pub fn operators(&self, table: &TableKey) -> impl Iterator<Item = &OperatorName> {
        self.0.get(table).into_iter().flatten().map(|roster| &roster.operator)
    }

    pub fn reads(&self, table: &TableKey) -> bool {
        self.0.contains_key(table)
    }
}
