#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::state::{self, Taken};
use crate::registry::{Registry, from_definition};

const NOW: &str = "2026-01-01T00:00:00Z";

fn widgets() -> Value {
    let names = json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList",
        "shortNames": ["wd"]});
    json!({"metadata": {"name": "widgets.shop.example.com"}, "spec": {"names": names}, "status": {}})
}

fn accepted(crd: &Value) -> Value {
    let named = state::accept_names(crd, &Taken::default(), NOW).unwrap();
    state::establish(&named, NOW).unwrap()
}

#[test]
fn free_names_are_accepted_and_established() {
    let crd = accepted(&widgets());
    assert_eq!(crd["status"]["acceptedNames"], crd["spec"]["names"]);
    assert!(state::is(&crd, "NamesAccepted") && state::is(&crd, "Established"));
    assert!(state::accept_names(&crd, &Taken::default(), NOW).is_none(), "nothing is left to do");
    assert!(state::establish(&crd, NOW).is_none());
}

#[test]
fn taken_names_are_refused_by_name() {
    let mut theirs = accepted(&widgets());
    theirs["spec"]["group"] = "shop.example.com".into();
    theirs["spec"]["versions"] = json!([{"name": "v1", "served": true, "storage": true}]);
    let registry = Registry::built_in().with_custom("shop.example.com", "widgets", from_definition(&theirs));
    let taken = Taken::new(registry.group("shop.example.com"), "gadgets");
    let mut other = widgets();
    other["spec"]["names"]["plural"] = "gadgets".into();
    other["spec"]["names"]["singular"] = "gadget".into();
    let refused = state::accept_names(&other, &taken, NOW).unwrap();
    let condition = &refused["status"]["conditions"][0];
    assert_eq!((&condition["status"], &condition["reason"]), (&json!("False"), &json!("ListKindConflict")));
    assert_eq!(condition["message"], "\"WidgetList\" is already in use");
    assert_eq!(refused["status"]["conditions"][1]["reason"], "NotAccepted");
    assert!(state::establish(&refused, NOW).is_none());
}

#[test]
fn a_deletion_waits_for_the_instances() {
    let marked = state::marked_for_deletion(&accepted(&widgets()), NOW);
    assert!(state::awaits_cleanup(&marked));
    let clean = state::cleaned_up(&marked, NOW);
    assert!(!state::awaits_cleanup(&clean) && clean["metadata"].get("finalizers").is_none());
}
