#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::status::{self, NamesInUse};
use crate::registry::{Registry, from_definition};

const NOW: &str = "2026-01-01T00:00:00Z";

fn widgets() -> Value {
    let names = json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList",
        "shortNames": ["wd"]});
    json!({"metadata": {"name": "widgets.shop.example.com"}, "spec": {"names": names}, "status": {}})
}

fn accepted(crd: &Value) -> Value {
    let named = status::accept_names(crd, &NamesInUse::default(), NOW).unwrap();
    status::establish(&named, NOW).unwrap()
}

#[test]
fn free_names_are_accepted_and_established() {
    let crd = accepted(&widgets());
    assert_eq!(crd["status"]["acceptedNames"], crd["spec"]["names"]);
    assert!(status::is_condition_true(&crd, "NamesAccepted") && status::is_condition_true(&crd, "Established"));
    assert!(status::accept_names(&crd, &NamesInUse::default(), NOW).is_none(), "nothing is left to do");
    assert!(status::establish(&crd, NOW).is_none());
}

#[test]
fn taken_names_are_refused_by_name() {
    let mut theirs = accepted(&widgets());
    theirs["spec"]["group"] = "shop.example.com".into();
    theirs["spec"]["versions"] = json!([{"name": "v1", "served": true, "storage": true}]);
    let registry = Registry::built_in().with_custom("shop.example.com", "widgets", from_definition(&theirs));
    let taken = NamesInUse::new(registry.group("shop.example.com"), "gadgets");
    let mut other = widgets();
    other["spec"]["names"]["plural"] = "gadgets".into();
    other["spec"]["names"]["singular"] = "gadget".into();
    let refused = status::accept_names(&other, &taken, NOW).unwrap();
    let condition = &refused["status"]["conditions"][0];
    assert_eq!((&condition["status"], &condition["reason"]), (&json!("False"), &json!("ListKindConflict")));
    assert_eq!(condition["message"], "\"WidgetList\" is already in use");
    assert_eq!(refused["status"]["conditions"][1]["reason"], "NotAccepted");
    assert!(status::establish(&refused, NOW).is_none());
}

#[test]
fn a_deletion_waits_for_the_instances() {
    let marked = status::marked_for_deletion(&accepted(&widgets()), NOW);
    assert!(status::awaits_cleanup(&marked));
    let clean = status::cleaned_up(&marked, NOW);
    assert!(!status::awaits_cleanup(&clean) && clean["metadata"].get("finalizers").is_none());
}
