//! Index from objects to the units they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_object::selector::LabelSelector;

use crate::cache::{ObjectChange, Snapshot};
use crate::object::Object;
use crate::operator::{OperatorName, Unit, UnitId};
use crate::resource::{ListQuery, Selection, TableKey};
use crate::topology::{ClusterType, Topology};
use crate::view::Reader;

/// For each kind, the operators whose units are its objects.
#[derive(Default)]
pub(super) struct UnitIndex(BTreeMap<TableKey, Vec<UnitRule>>);

struct UnitRule {
    operator: OperatorName,
    scope: ClusterScope,
    selection: Selection,
    selector: LabelSelector,
    /// Whether labels are matched only on the operator's view of an object: the name label of a Namespace differs on
    /// the cluster.
    late: bool,
}

/// Cluster type and topology that determine an operator's names for objects.
pub(super) struct ClusterScope {
    pub topology: Arc<Topology>,
    pub cluster_type: ClusterType,
}

impl ClusterScope {
    fn operator_name(&self, object: &Object) -> Option<(Arc<str>, Arc<str>)> {
        self.topology.operator_name(self.cluster_type, &object.key)
    }
}

impl UnitRule {
    fn selects(&self, object: &Object) -> bool {
        let wanted = self.selection.namespace.as_ref();
        let known = self.scope.operator_name(object);
        known.is_some_and(|(namespace, name)| {
            wanted.is_none_or(|wanted| *wanted == namespace) && self.selection.matches_name(&name)
        }) && (self.selector.is_everything()
            || self.labels(object).is_some_and(|own| self.selector.matches(Some(&own))))
    }

    fn labels(&self, object: &Object) -> Option<switchboard_object::Map> {
        match self.late {
            true => Some(self.scope.topology.to_operator(self.scope.cluster_type, object.clone())?.labels()),
            false => Some(object.labels()),
        }
    }

    fn unit(&self, object: &Object) -> Option<UnitId> {
        let (namespace, name) = self.scope.operator_name(object)?;
        Some(UnitId { operator: self.operator.clone(), unit: Unit::Object { namespace, name } })
    }
}

impl UnitIndex {
    /// Makes objects of a kind the units of an operator, instead of any earlier ones.
    pub fn add(&mut self, operator: &OperatorName, table: &TableKey, scope: ClusterScope, selection: &Selection) {
        self.remove(operator);
        // An invalid selector matches nothing; a test of the operator shows that at once.
        let selector = selection.selector().unwrap_or_else(|_| LabelSelector::nothing());
        let (_, late) = scope.topology.resolve_selection(scope.cluster_type, &table.resource, selection);
        let rule = UnitRule { operator: operator.clone(), scope, selection: selection.clone(), selector, late };
        self.0.entry(table.clone()).or_default().push(rule);
    }

    /// Removes an operator.
    pub fn remove(&mut self, operator: &OperatorName) {
        self.0.retain(|_, rules| {
            rules.retain(|rule| rule.operator != *operator);
            !rules.is_empty()
        });
    }

    /// Returns the units that an object is or was.
    pub fn units_of(&self, change: &ObjectChange) -> Vec<UnitId> {
        let states = || [&change.before, &change.after].into_iter().flatten();
        let rules = self.0.get(&change.key.table).into_iter().flatten();
        rules.filter_map(|rule| states().find(|o| rule.selects(o)).and_then(|o| rule.unit(o))).collect()
    }

    /// Returns the units of an operator whose objects exist already.
    pub fn existing_units(&self, operator: &OperatorName, table: &TableKey, snapshot: &Snapshot) -> Vec<UnitId> {
        let rules = self.0.get(table).into_iter().flatten().filter(|rule| rule.operator == *operator);
        rules
            .flat_map(|rule| {
                let scope = &rule.scope;
                let (selection, _) =
                    scope.topology.resolve_selection(scope.cluster_type, &table.resource, &rule.selection);
                let query = ListQuery { table: table.clone(), selection };
                let real = if rule.late { &LabelSelector::everything() } else { &rule.selector };
                let objects = snapshot.list(&query, real).unwrap_or_default();
                let taken = objects.iter().filter(|object| !rule.late || rule.selects(object));
                taken.filter_map(|object| rule.unit(object)).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Whether an object is a unit of an operator.
    pub fn selects(&self, operator: &OperatorName, object: &Object) -> bool {
        let rules = self.0.get(&object.key.table).into_iter().flatten();
        rules.filter(|rule| rule.operator == *operator).any(|rule| rule.selects(object))
    }

    /// Returns the operators whose units are objects of a kind.
    pub fn operators(&self, table: &TableKey) -> impl Iterator<Item = &OperatorName> {
        self.0.get(table).into_iter().flatten().map(|rule| &rule.operator)
    }

    pub fn covers(&self, table: &TableKey) -> bool {
        self.0.contains_key(table)
    }
}
