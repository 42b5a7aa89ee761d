//! Operator of the tutorial: creates a greeting for every ConfigMap with the label `greeter.example.com/greet`.
//!
//! The words come from the ConfigMap `greeting` of the same namespace. Until it exists, the unit waits.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::{Mutation, Plan};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::View;

const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "ConfigMap", "configmaps");

/// Creates greetings for labeled ConfigMaps.
pub struct Greeter;

impl Operator for Greeter {
    fn name(&self) -> &str {
        "greeter"
    }

    fn declaration(&self) -> Declaration {
        Declaration {
            inputs: BTreeSet::from([AccessRule::every(&CONFIG_MAPS)]),
            outputs: BTreeSet::from([AccessRule::every(&CONFIG_MAPS)]),
            service_account: None,
            units: Units::Each {
                cluster_type: ClusterType::Configuration,
                resource: CONFIG_MAPS,
                selection: Selection::all().with_labels("greeter.example.com/greet"),
            },
        }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let Some(guest) = view.get(&CONFIG_MAPS, unit.namespace(), unit.name())? else {
            // The garbage collector deletes the greeting with its owner.
            return Ok(Plan::nothing());
        };
        let guest = guest.value();
        let Some(name) = guest.pointer("/data/name").and_then(Value::as_str) else {
            return Ok(Plan::nothing().blocked("set data.name to the name to greet"));
        };
        let Some(words) = view.get(&CONFIG_MAPS, unit.namespace(), "greeting")? else {
            return Ok(Plan::nothing().waiting("ConfigMap greeting to appear"));
        };
        // Read, so that a changed or deleted greeting triggers the unit.
        view.get(&CONFIG_MAPS, unit.namespace(), &greeting_of(unit))?;
        let words = words.value();
        let words = words.pointer("/data/words").and_then(Value::as_str).unwrap_or("Hello");
        let mut plan = Plan::nothing();
        plan.push(Mutation::apply(&CONFIG_MAPS, greeting(unit, &guest, &format!("{words}, {name}!"))));
        Ok(plan)
    }
}

fn greeting_of(unit: &Unit) -> String {
    format!("{}-greeting", unit.name())
}

fn greeting(unit: &Unit, guest: &Value, text: &str) -> Value {
    json!({
        "metadata": {
            "name": greeting_of(unit),
            "namespace": unit.namespace(),
            "ownerReferences": [{
                "apiVersion": "v1", "kind": "ConfigMap", "name": unit.name(), "uid": guest["metadata"]["uid"],
            }],
        },
        "data": {"text": text},
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use switchboard_kernel::fake_view::FakeView;

    fn guest() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"name": "Ada"}, "metadata": {
            "name": "ada", "namespace": "shop", "uid": "7", "labels": {"greeter.example.com/greet": "yes"}}})
    }

    #[test]
    fn waits_for_the_words_and_greets_once_they_are_there() {
        let unit = Unit::object("shop", "ada");
        let scene = FakeView::of(&CONFIG_MAPS, [guest()]);
        let plan = scene.decide(&Greeter, &unit).unwrap();
        assert_eq!(plan, Plan::nothing().waiting("ConfigMap greeting to appear"));
        let words = json!({"metadata": {"name": "greeting", "namespace": "shop"}, "data": {"words": "Good day"}});
        let plan = scene.with(&CONFIG_MAPS, [words]).decide(&Greeter, &unit).unwrap();
        assert_eq!(plan.mutations.len(), 1);
        assert_eq!(plan.mutations[0].to_string(), "apply configmaps/shop/ada-greeting");
    }
}
