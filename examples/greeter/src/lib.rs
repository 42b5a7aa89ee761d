//! Operator of the tutorial: creates a greeting for every ConfigMap with the label `greeter.example.com/greet`.
//!
//! The words come from the ConfigMap `greeting` of the same namespace. Until it exists, the unit waits.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::ObjectMeta;
use kube::{Resource, ResourceExt};
use switchboard_kernel::prelude::{DecideError, Declaration, Operator, Plan, Selection, Unit, View};

/// Creates greetings for labeled ConfigMaps.
pub struct Greeter;

impl Operator for Greeter {
    fn name(&self) -> &str {
        "greeter"
    }

    fn declaration(&self) -> Declaration {
        let guests = Selection::all().with_labels("greeter.example.com/greet");
        Declaration::for_each::<ConfigMap>(guests).reads::<ConfigMap>().writes::<ConfigMap>()
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let view = view.typed();
        let Some(guest) = view.get::<ConfigMap>(unit.namespace(), unit.name())? else {
            // The garbage collector deletes the greeting with its owner.
            return Ok(Plan::nothing());
        };
        let Some(name) = guest.data.as_ref().and_then(|data| data.get("name")) else {
            return Ok(Plan::nothing().blocked("set data.name to the name to greet"));
        };
        let Some(words) = view.get::<ConfigMap>(unit.namespace(), "greeting")? else {
            return Ok(Plan::nothing().waiting("ConfigMap greeting to appear"));
        };
        let words = words.data.as_ref().and_then(|data| data.get("words")).map_or("Hello", String::as_str);
        let greeting = greeting(&guest, &format!("{words}, {name}!"));
        // Read, so that a changed or deleted greeting triggers the unit.
        view.get::<ConfigMap>(unit.namespace(), &greeting.name_any())?;
        let mut plan = Plan::nothing();
        plan.apply(&greeting)?;
        Ok(plan)
    }
}

fn greeting(guest: &ConfigMap, text: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(format!("{}-greeting", guest.name_any())),
            namespace: guest.namespace(),
            owner_references: Some(guest.owner_ref(&()).into_iter().collect()),
            ..ObjectMeta::default()
        },
        data: Some([("text".to_string(), text.to_string())].into()),
        ..ConfigMap::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use switchboard_kernel::prelude::FakeView;

    fn map(name: &str, data: Value) -> ConfigMap {
        let map = json!({"metadata": {"name": name, "namespace": "shop", "uid": "7"}, "data": data});
        serde_json::from_value(map).expect("the map is a ConfigMap")
    }

    #[test]
    fn waits_for_the_words_and_greets_once_they_are_there() {
        let (unit, guest) = (Unit::object("shop", "ada"), map("ada", json!({"name": "Ada"})));
        let scene = FakeView::default().with_object(&guest);
        assert_eq!(scene.decide(&Greeter, &unit), Ok(Plan::nothing().waiting("ConfigMap greeting to appear")));
        let scene = scene.with_object(&map("greeting", json!({"words": "Good day"})));
        let mut greets = Plan::nothing();
        greets.apply(&greeting(&guest, "Good day, Ada!")).expect("the greeting has a name");
        assert_eq!(scene.decide(&Greeter, &unit), Ok(greets));
    }
}
