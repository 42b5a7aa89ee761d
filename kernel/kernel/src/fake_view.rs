//! In-memory reader for an operator's own tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use switchboard_object::selector::LabelSelector;

use crate::object::Object;
use crate::operator::{DecideError, Operator, Unit};
use crate::plan::Plan;
use crate::resource::{ListQuery, ObjectKey, Resource, TableKey};
use crate::row::{Row, RowTable};
use crate::row_cache::RowAnswer;
use crate::timestamp::Timestamp;
use crate::topology::{ClusterName, ClusterType, Topology};
use crate::view::{Question, Reader, View};

/// Reader with the given objects of one cluster. Kinds without objects read as empty.
///
/// ```
/// use switchboard_kernel::resource::Resource;
/// use switchboard_kernel::fake_view::FakeView;
///
/// const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
/// let object = serde_json::json!({"metadata": {"name": "web", "namespace": "shop"}});
/// let view = FakeView::of(&CONFIG_MAPS, [object]).at("2026-01-01T00:00:00Z");
/// # let _ = view;
/// ```
#[derive(Clone, Default)]
pub struct FakeView {
    objects: BTreeMap<ObjectKey, Object>,
    rows: BTreeMap<ObjectKey, Arc<Row>>,
    /// Last revision used; an object that replaces another one gets a new revision.
    revision: u64,
    now: Timestamp,
    /// Answers of external systems, by kind and text of the question.
    answers: BTreeMap<(&'static str, String), Result<Value, String>>,
}

impl FakeView {
    /// Creates a view with objects of one kind.
    pub fn of(resource: &Resource, objects: impl IntoIterator<Item = Value>) -> Self {
        Self::default().with(resource, objects)
    }

    /// Adds objects, each at a new revision.
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

    /// Adds rows.
    #[must_use]
    pub fn with_rows(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows.into_iter().map(|row| (row.key.clone(), Arc::new(row))));
        self
    }

    /// Sets the time.
    ///
    /// # Panics
    /// When the text is not an RFC 3339 time.
    #[must_use]
    pub fn at(mut self, time: &str) -> Self {
        let time: jiff::Timestamp = time.parse().expect("the time is in RFC 3339");
        self.now = Timestamp(u64::try_from(time.as_millisecond()).unwrap_or_default());
        self
    }

    /// Sets the answer to a question. The function that the operator passes to [`View::ask`] is not called for it.
    ///
    /// # Panics
    /// When question or answer has no JSON form.
    #[must_use]
    pub fn answering<Q: Question>(mut self, question: &Q, answer: Result<Q::Answer, String>) -> Self {
        let encoded = answer.map(|answer| serde_json::to_value(answer).expect("an answer of a test has a JSON form"));
        let question = serde_json::to_value(question).expect("a question of a test has a JSON form");
        self.answers.insert((Q::KIND, question.to_string()), encoded);
        self
    }

    /// Lets an operator decide on these objects.
    ///
    /// # Errors
    /// The operator's error.
    pub fn decide(&self, operator: &dyn Operator, unit: &Unit) -> Result<Plan, DecideError> {
        let inputs = Arc::new(operator.declaration().readable());
        let topology = Arc::new(Topology::standalone(&cluster()));
        operator.decide(unit, &View::new(Arc::new(self.clone()), topology, inputs, self.now))
    }
}

fn cluster() -> ClusterName {
    ClusterName::new(&ClusterType::Configuration.to_string())
}

impl Reader for FakeView {
    fn get(&self, key: &ObjectKey) -> Option<Option<Object>> {
        Some(self.objects.get(key).cloned())
    }

    fn list(&self, query: &ListQuery, selector: &LabelSelector) -> Option<Vec<Object>> {
        let wanted = |object: &&Object| {
            object.key.table == query.table
                && query.selection.namespace.as_ref().is_none_or(|n| *n == object.key.namespace)
                && selector.matches(Some(&object.labels()))
        };
        Some(self.objects.values().filter(wanted).cloned().collect())
    }

    fn row(&self, key: &ObjectKey, _table: &'static RowTable) -> Option<Option<Arc<Row>>> {
        Some(self.rows.get(key).cloned())
    }

    fn rows(&self, query: &ListQuery, _table: &'static RowTable) -> Option<RowAnswer> {
        let filter = query.row_filter()?;
        let rows = self.rows.values().filter(|row| row.key.table == query.table && filter.matches(row)).cloned();
        Some(match filter.below {
            Some(max) => RowAnswer::Below(rows.count() < max as usize),
            None => RowAnswer::Rows(rows.take(filter.limit.map_or(usize::MAX, |limit| limit as usize)).collect()),
        })
    }

    fn revision(&self, _cluster: &ClusterName) -> u64 {
        self.revision
    }

    fn answer(&self, kind: &str, request: &Value) -> Option<Result<Value, String>> {
        let question = request.to_string();
        let known = self.answers.iter().find(|((known, asked), _)| *known == kind && *asked == question);
        known.map(|(_, answer)| answer.clone())
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

    /// Operator that declares its units but no inputs.
    struct UnitsOnly(Resource);

    impl Operator for UnitsOnly {
        fn name(&self) -> &str {
            "of-units"
        }

        fn declaration(&self) -> Declaration {
            let units = Units::Each {
                cluster_type: ClusterType::default(),
                resource: CONFIG_MAPS,
                selection: Selection::all(),
            };
            Declaration { inputs: BTreeSet::new(), outputs: BTreeSet::new(), service_account: None, units }
        }

        fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
            view.get(&self.0, unit.namespace(), unit.name()).map(|_| Plan::nothing())
        }
    }

    #[derive(serde::Serialize)]
    struct Forecast {
        city: &'static str,
    }

    impl Question for Forecast {
        type Answer = String;
        const KIND: &'static str = "forecast";
    }

    /// Operator that waits for the answer to a question.
    struct Waits;

    impl Operator for Waits {
        fn name(&self) -> &str {
            "waits"
        }

        fn declaration(&self) -> Declaration {
            Declaration::whole()
        }

        fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
            let answer = view.ask(Forecast { city: "Brno" }, |_| Err("a test calls no system".to_string()));
            answer.map(|answer| Plan::nothing().waiting(answer)).map_err(DecideError::Failed)
        }
    }

    #[test]
    fn the_answer_of_a_test_replaces_the_call() {
        let answered = |city: &'static str| {
            FakeView::default().answering(&Forecast { city }, Ok("rain".into())).decide(&Waits, &Unit::Whole)
        };
        assert_eq!(answered("Brno"), Ok(Plan::nothing().waiting("rain")));
        assert_eq!(answered("Oslo"), Err(DecideError::failed("a test calls no system")));
    }

    #[test]
    fn objects_of_units_are_readable_without_an_input() {
        let unit = Unit::object("shop", "web");
        assert_eq!(FakeView::default().decide(&UnitsOnly(CONFIG_MAPS), &unit), Ok(Plan::nothing()));
        let refused = FakeView::default().decide(&UnitsOnly(SECRETS), &unit);
        assert!(matches!(refused, Err(DecideError::Failed(_))), "{refused:?}");
    }
}
