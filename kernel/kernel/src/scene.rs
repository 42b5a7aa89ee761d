//! A picture made by hand: what an operator's own tests decide on.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use switchboard_object::selector::LabelSelector;

use crate::moment::Moment;
use crate::object::Object;
use crate::operator::{Operator, Stop, Unit};
use crate::place::{ClusterName, Place, Topology};
use crate::plan::Plan;
use crate::resource::{ObjectKey, Query, Resource, TableKey};
use crate::view::{Picture, View};

/// Objects of one cluster at one moment. Kinds that were not given read as empty.
///
/// ```
/// use switchboard_kernel::resource::Resource;
/// use switchboard_kernel::scene::Scene;
///
/// const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
/// let object = serde_json::json!({"metadata": {"name": "web", "namespace": "shop"}});
/// let scene = Scene::of(&CONFIG_MAPS, [object]).at("2026-01-01T00:00:00Z");
/// # let _ = scene;
/// ```
#[derive(Clone, Default)]
pub struct Scene {
    objects: BTreeMap<ObjectKey, Object>,
    /// The last revision given: also an object that takes the place of another has one of its own.
    revision: u64,
    now: Moment,
}

impl Scene {
    /// Objects of a kind on the one cluster there is.
    pub fn of(resource: &Resource, objects: impl IntoIterator<Item = Value>) -> Self {
        Self::default().with(resource, objects)
    }

    /// And these; each is put at a revision of its own.
    #[must_use]
    pub fn with(mut self, resource: &Resource, objects: impl IntoIterator<Item = Value>) -> Self {
        let table = TableKey { cluster: cluster(), resource: Arc::new(resource.clone()) };
        for mut object in objects {
            self.revision += 1;
            let revision = self.revision;
            object["metadata"]["resourceVersion"] = revision.to_string().into();
            let text = |name: &str| Arc::from(object["metadata"][name].as_str().unwrap_or_default());
            let key = ObjectKey { table: table.clone(), namespace: text("namespace"), name: text("name") };
            let json = Arc::from(object.to_string().into_bytes());
            self.objects.insert(key.clone(), Object { key, revision, json });
        }
        self
    }

    /// At that time.
    ///
    /// # Panics
    /// When the text is no RFC 3339 time: a scene is written by hand.
    #[must_use]
    pub fn at(mut self, time: &str) -> Self {
        let time: jiff::Timestamp = time.parse().expect("a scene is given an RFC 3339 time");
        self.now = Moment(u64::try_from(time.as_millisecond()).unwrap_or_default());
        self
    }

    /// Lets an operator decide on it.
    ///
    /// # Errors
    /// What the operator says.
    pub fn decide(&self, operator: &dyn Operator, unit: &Unit) -> Result<Plan, Stop> {
        let inputs = Arc::new(operator.declaration().readable());
        let topology = Arc::new(Topology::standalone(&cluster()));
        operator.decide(unit, &View::new(Arc::new(self.clone()), topology, inputs, self.now))
    }
}

fn cluster() -> ClusterName {
    ClusterName::new(&Place::Configuration.to_string())
}

impl Picture for Scene {
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>> {
        Some(self.objects.get(key).cloned())
    }

    fn list(&self, query: &Query, selector: &LabelSelector) -> Option<Vec<Object>> {
        let wanted = |object: &&Object| {
            object.key.table == query.table
                && query.selection.namespace.as_ref().is_none_or(|n| *n == object.key.namespace)
                && selector.matches(Some(&object.labels()))
        };
        Some(self.objects.values().filter(wanted).cloned().collect())
    }

    fn revision(&self, _cluster: &ClusterName) -> u64 {
        self.revision
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::operator::{Declaration, Units};
    use crate::resource::Selection;

    const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
    const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

    /// Declares its units and no input.
    struct OfUnits(Resource);

    impl Operator for OfUnits {
        fn name(&self) -> &str {
            "of-units"
        }

        fn declaration(&self) -> Declaration {
            let units = Units::Each { place: Place::default(), resource: CONFIG_MAPS, selection: Selection::all() };
            Declaration { inputs: BTreeSet::new(), outputs: BTreeSet::new(), service_account: None, units }
        }

        fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, Stop> {
            view.get(&self.0, unit.namespace(), unit.name()).map(|_| Plan::nothing())
        }
    }

    #[test]
    fn what_units_are_may_be_read_without_being_declared_twice_and_nothing_else() {
        let unit = Unit::object("shop", "web");
        assert_eq!(Scene::default().decide(&OfUnits(CONFIG_MAPS), &unit), Ok(Plan::nothing()));
        let refused = Scene::default().decide(&OfUnits(SECRETS), &unit);
        assert!(matches!(refused, Err(Stop::Failed(_))), "{refused:?}");
    }
}
