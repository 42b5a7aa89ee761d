//! Which objects are units of which operators.

use std::collections::BTreeMap;

use switchboard_object::selector::LabelSelector;

use crate::cache::{Change, Snapshot};
use crate::object::Object;
use crate::operator::{OperatorName, Unit, UnitId};
use crate::resource::{Query, Selection, TableKey};
use crate::view::Picture;

/// For each kind, the operators whose units its objects are.
#[derive(Default)]
pub(super) struct Rosters(BTreeMap<TableKey, Vec<Roster>>);

struct Roster {
    operator: OperatorName,
    selection: Selection,
    selector: LabelSelector,
}

impl Roster {
    fn takes(&self, object: &Object) -> bool {
        let namespace = self.selection.namespace.as_ref();
        namespace.is_none_or(|namespace| *namespace == object.key.namespace)
            && (self.selector.is_everything() || self.selector.matches(Some(&object.labels())))
    }

    fn unit(&self, object: &Object) -> UnitId {
        let unit = Unit::Object { namespace: object.key.namespace.clone(), name: object.key.name.clone() };
        UnitId { operator: self.operator.clone(), unit }
    }
}

impl Rosters {
    pub fn add(&mut self, operator: &OperatorName, table: &TableKey, selection: &Selection) {
        // A selector that cannot be read selects nothing; the operator's own tests show it at once.
        let selector = selection.selector().unwrap_or_else(|_| LabelSelector::nothing());
        let roster = Roster { operator: operator.clone(), selection: selection.clone(), selector };
        self.0.entry(table.clone()).or_default().push(roster);
    }

    /// The units an object is or was.
    pub fn units_of(&self, change: &Change) -> Vec<UnitId> {
        let states = || [&change.before, &change.after].into_iter().flatten();
        let rosters = self.0.get(&change.key.table).into_iter().flatten();
        rosters.filter_map(|roster| states().find(|o| roster.takes(o)).map(|o| roster.unit(o))).collect()
    }

    /// The units of an operator that are there already.
    pub fn present(&self, operator: &OperatorName, table: &TableKey, picture: &Snapshot) -> Vec<UnitId> {
        let rosters = self.0.get(table).into_iter().flatten().filter(|roster| roster.operator == *operator);
        rosters
            .flat_map(|roster| {
                let query = Query { table: table.clone(), selection: roster.selection.clone() };
                let objects = picture.list(&query, &roster.selector).unwrap_or_default();
                objects.iter().map(|object| roster.unit(object)).collect::<Vec<_>>()
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
