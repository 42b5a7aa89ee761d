#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use serde_json::json;
use switchboard_kernel::fake_view::FakeView;
use switchboard_kernel::operator::{AccessRule, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::Plan;

use super::*;

const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

/// Checks requests of one service account.
struct AccessChecker(&'static str, &'static str);

impl Operator for AccessChecker {
    fn name(&self) -> &str {
        "asks"
    }

    fn declaration(&self) -> Declaration {
        let inputs = BTreeSet::from([AccessRule::every_kind()]);
        Declaration { inputs, outputs: BTreeSet::new(), service_account: None, units: Units::Whole }
    }

    fn decide(&self, _unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let account = ServiceAccount { namespace: "shop".into(), name: "web".into() };
        let act = ResourceAttributes { verb: self.0, resource: &SECRETS, namespace: "shop", name: self.1 };
        Ok(match authorize(view, &account, &act)? {
            Ok(()) => Plan::nothing(),
            Err(words) => Plan::nothing().blocked(words),
        })
    }
}

fn role(rules: Value) -> Value {
    json!({"metadata": {"name": "reader", "namespace": "shop"}, "rules": rules})
}

fn binding(kind: &str, subject: Value) -> Value {
    json!({"metadata": {"name": "reader", "namespace": "shop"}, "subjects": [subject],
        "roleRef": {"kind": kind, "name": "reader"}})
}

fn account() -> Value {
    json!({"kind": "ServiceAccount", "name": "web", "namespace": "shop"})
}

#[test]
fn what_no_role_allows_is_refused_in_the_words_of_the_server() {
    let plan = FakeView::default().decide(&AccessChecker("get", "db"), &Unit::Whole).unwrap();
    let words = "secrets \"db\" is forbidden: User \"system:serviceaccount:shop:web\" cannot get resource \"secrets\" \
                 in API group \"\" in the namespace \"shop\"";
    assert_eq!(plan, Plan::nothing().blocked(words));
}

#[test]
fn roles_allow_by_verb_group_kind_and_name() {
    let rules = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["db"]}]);
    let scene = FakeView::of(&ROLES, [role(rules)]);
    let may = |scene: &FakeView, verb, name| {
        scene.decide(&AccessChecker(verb, name), &Unit::Whole).unwrap() == Plan::nothing()
    };
    assert!(!may(&scene, "get", "db"), "a role without a binding grants nothing");
    let bound = scene.clone().with(&ROLE_BINDINGS, [binding("Role", account())]);
    assert!(may(&bound, "get", "db") && !may(&bound, "get", "other") && !may(&bound, "list", "db"));
    let other = scene
        .with(&ROLE_BINDINGS, [binding("Role", json!({"kind": "ServiceAccount", "name": "web", "namespace": "x"}))]);
    assert!(!may(&other, "get", "db"), "an account of the same name elsewhere");
}

#[test]
fn cluster_roles_count_where_they_are_bound() {
    let all = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
    let wide = json!({"metadata": {"name": "reader"}, "rules": all});
    let roles = FakeView::of(&CLUSTER_ROLES, [wide]);
    let may = |scene: &FakeView| scene.decide(&AccessChecker("get", "db"), &Unit::Whole).unwrap() == Plan::nothing();
    let here = roles
        .clone()
        .with(&ROLE_BINDINGS, [binding("ClusterRole", json!({"kind": "Group", "name": "system:serviceaccounts"}))]);
    assert!(may(&here));
    let mut everywhere = binding("ClusterRole", json!({"kind": "User", "name": "system:serviceaccount:shop:web"}));
    everywhere["metadata"]["namespace"] = "".into();
    assert!(may(&roles.with(&CLUSTER_ROLE_BINDINGS, [everywhere])));
}
