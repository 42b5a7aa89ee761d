//! Declarations and test views in terms of types.

use std::collections::BTreeSet;

use super::TypedKind;
use crate::fake_view::FakeView;
use crate::operator::{AccessRule, Declaration, Units};
use crate::resource::Selection;
use crate::topology::ClusterType;

impl AccessRule {
    /// Creates a rule for all objects of a type on the configuration cluster.
    pub fn of<K: TypedKind>() -> Self {
        Self::every(&K::resource())
    }
}

impl Declaration {
    /// Declares one unit for the whole work, without inputs and outputs.
    pub fn whole() -> Self {
        Self::of_units(Units::Whole)
    }

    /// Declares a unit for each selected object of a type on the configuration cluster, without further inputs and
    /// without outputs.
    pub fn for_each<K: TypedKind>(selection: Selection) -> Self {
        Self::of_units(Units::Each { cluster_type: ClusterType::default(), resource: K::resource(), selection })
    }

    fn of_units(units: Units) -> Self {
        Self { inputs: BTreeSet::new(), outputs: BTreeSet::new(), service_account: None, units }
    }

    /// Adds all objects of a type to the inputs.
    #[must_use]
    pub fn reads<K: TypedKind>(self) -> Self {
        self.reads_rule(AccessRule::of::<K>())
    }

    /// Adds objects to the inputs.
    #[must_use]
    pub fn reads_rule(mut self, rule: AccessRule) -> Self {
        self.inputs.insert(rule);
        self
    }

    /// Adds all objects of a type to the outputs.
    #[must_use]
    pub fn writes<K: TypedKind>(self) -> Self {
        self.writes_rule(AccessRule::of::<K>())
    }

    /// Adds objects to the outputs.
    #[must_use]
    pub fn writes_rule(mut self, rule: AccessRule) -> Self {
        self.outputs.insert(rule);
        self
    }
}

impl FakeView {
    /// Adds an object at a new revision.
    ///
    /// # Panics
    /// When the object has no JSON form.
    #[must_use]
    pub fn with_object<K: TypedKind>(self, object: &K) -> Self {
        let value = serde_json::to_value(object).expect("an object of a test has a JSON form");
        self.with(&K::resource(), [value])
    }
}
