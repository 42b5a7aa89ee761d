#![allow(clippy::unwrap_used)]
use serde_json::{Value, json};

use super::escalation::{Write, check};
use super::*;

fn bytes(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str]) -> Value {
    json!({"verbs": verbs, "apiGroups": groups, "resources": resources})
}

fn binding(kind: &str, role: &str, subject: Value) -> Value {
    json!({"roleRef": {"apiGroup": GROUP, "kind": kind, "name": role}, "subjects": [subject]})
}

fn user(name: &str) -> Value {
    json!({"kind": "User", "apiGroup": GROUP, "name": name})
}

#[derive(Default)]
struct World(Policy);

impl World {
    fn cluster_role(mut self, name: &str, rules: Value) -> Self {
        self.0.put(Kind::ClusterRole, "", name, &bytes(&json!({"rules": rules})));
        self
    }

    fn role(mut self, namespace: &str, name: &str, rules: Value) -> Self {
        self.0.put(Kind::Role, namespace, name, &bytes(&json!({"rules": rules})));
        self
    }

    fn bind_cluster(mut self, name: &str, role: &str, subject: Value) -> Self {
        self.0.put(Kind::ClusterRoleBinding, "", name, &bytes(&binding("ClusterRole", role, subject)));
        self
    }

    fn bind(mut self, namespace: &str, name: &str, kind: &str, role: &str, subject: Value) -> Self {
        self.0.put(Kind::RoleBinding, namespace, name, &bytes(&binding(kind, role, subject)));
        self
    }

    fn allows(&self, attributes: &Attributes) -> bool {
        matches!(self.0.decide(attributes), Decision::Allow(_))
    }
}

fn ask(user: &str, verb: &str, resource: &str) -> Attributes {
    let (resource, sub) = resource.split_once('/').unwrap_or((resource, ""));
    let mut attributes = Attributes::resource(User::named(user), verb, "", resource);
    attributes.subresource = sub.into();
    attributes
}

#[test]
fn masters_need_no_role() {
    let attributes = Attributes::resource(User::named("x").in_group(MASTERS), "delete", "any", "thing");
    assert!(World::default().allows(&attributes));
    assert!(!World::default().allows(&ask("x", "get", "pods")));
}

#[test]
fn a_role_binding_grants_in_its_namespace_only() {
    let world = World::default().cluster_role("reader", json!([rule(&["get"], &[""], &["pods"])])).bind(
        "shop",
        "b",
        "ClusterRole",
        "reader",
        user("x"),
    );
    assert!(world.allows(&ask("x", "get", "pods").in_namespace("shop")));
    assert!(!world.allows(&ask("x", "get", "pods").in_namespace("other")));
    assert!(!world.allows(&ask("x", "get", "pods")));
    assert!(!world.allows(&ask("x", "list", "pods").in_namespace("shop")));
    assert!(!world.allows(&ask("y", "get", "pods").in_namespace("shop")));
}

#[test]
fn rules_match_as_upstreams() {
    let cases = [
        ("*", "pods", true),
        ("*", "pods/log", true),
        ("pods", "pods", true),
        ("pods", "pods/log", false),
        ("pods/*", "pods/log", false),
        ("pods/log", "pods/log", true),
        ("pods/log", "pods", false),
        ("*/log", "pods/log", true),
        ("*/scale", "pods/log", false),
        ("*/log", "pods", false),
    ];
    for (rule_resource, asked, allowed) in cases {
        let world = World::default().cluster_role("r", json!([rule(&["*"], &["*"], &[rule_resource])])).bind_cluster(
            "b",
            "r",
            user("x"),
        );
        assert_eq!(world.allows(&ask("x", "get", asked)), allowed, "{rule_resource} on {asked}");
    }
}

#[test]
fn names_and_paths_are_matched() {
    let rules = json!([
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
        {"verbs": ["get"], "nonResourceURLs": ["/logs/*", "/metrics"]},
    ]);
    let world = World::default().cluster_role("r", rules).bind_cluster("b", "r", user("x"));
    assert!(world.allows(&ask("x", "get", "pods").named("a")));
    assert!(!world.allows(&ask("x", "get", "pods").named("b")));
    assert!(!world.allows(&ask("x", "get", "pods")));
    for (path, allowed) in [("/logs/a/b", true), ("/logs", false), ("/metrics", true), ("/metrics/x", false)] {
        assert_eq!(world.allows(&Attributes::path(User::named("x"), "get", path)), allowed, "{path}");
    }
}

#[test]
fn groups_and_service_accounts_are_subjects() {
    let world = World::default()
        .cluster_role("r", json!([rule(&["get"], &[""], &["pods"])]))
        .bind("shop", "b", "ClusterRole", "r", json!({"kind": "ServiceAccount", "name": "web"}))
        .bind("shop", "g", "ClusterRole", "r", json!({"kind": "Group", "name": "devs"}));
    let ask_as = |user: User| Attributes::resource(user, "get", "", "pods").in_namespace("shop");
    let web = ask_as(User::service_account("shop", "web", "u"));
    assert_eq!(
        world.0.decide(&web),
        Decision::Allow(
            r#"RBAC: allowed by RoleBinding "b/shop" of ClusterRole "r" to ServiceAccount "web/shop""#.into()
        )
    );
    assert!(world.allows(&ask_as(User::named("x").in_group("devs"))));
    assert!(!world.allows(&ask_as(User::service_account("other", "web", "u"))));
}

#[test]
fn a_missing_role_is_named_in_the_reason() {
    let world = World::default().bind_cluster("b", "gone", user("x")).bind("shop", "b", "Role", "gone", user("x"));
    assert_eq!(
        world.0.decide(&ask("x", "get", "pods").in_namespace("shop")),
        Decision::NoOpinion(
            "RBAC: [clusterrole.rbac.authorization.k8s.io \"gone\" not found, role.rbac.authorization.k8s.io \"gone\" \
             not found]"
                .into()
        )
    );
}

#[test]
fn removed_objects_grant_nothing() {
    let mut world = World::default().role("shop", "r", json!([rule(&["get"], &[""], &["pods"])])).bind(
        "shop",
        "b",
        "Role",
        "r",
        user("x"),
    );
    let asked = ask("x", "get", "pods").in_namespace("shop");
    assert!(world.allows(&asked));
    world.0.remove(Kind::RoleBinding, "shop", "b");
    assert!(!world.allows(&asked));
}

fn write<'a>(user: &'a User, kind: Kind, new: &'a Value) -> Write<'a> {
    Write { user, kind, namespace: "", request_name: "", new, old: None }
}

#[test]
fn granting_what_one_does_not_hold_is_refused() {
    let world =
        World::default().cluster_role("r", json!([rule(&["get"], &[""], &["pods"])])).bind_cluster("b", "r", user("x"));
    let x = User::named("x").in_group("system:authenticated");
    let wanted = json!({"metadata": {"name": "big"}, "rules": [
        rule(&["get", "list"], &[""], &["pods"]), rule(&["get", "watch"], &["apps"], &["deployments"]),
        {"verbs": ["get"], "nonResourceURLs": ["/metrics"]},
    ]});
    assert_eq!(
        check(&world.0, &write(&x, Kind::ClusterRole, &wanted)).unwrap_err().message,
        "clusterroles.rbac.authorization.k8s.io \"big\" is forbidden: user \"x\" (groups=[\"system:authenticated\"]) is \
         attempting to grant RBAC permissions not currently held:\n\
         {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}\n\
         {APIGroups:[\"apps\"], Resources:[\"deployments\"], Verbs:[\"get\" \"watch\"]}\n\
         {NonResourceURLs:[\"/metrics\"], Verbs:[\"get\"]}"
    );
    let small = json!({"metadata": {"name": "small"}, "rules": [rule(&["get"], &[""], &["pods"])]});
    check(&world.0, &write(&x, Kind::ClusterRole, &small)).unwrap();
    let released = json!({"metadata": {"name": "big", "finalizers": []}, "rules": wanted["rules"]});
    check(&world.0, &Write { old: Some(&wanted), ..write(&x, Kind::ClusterRole, &released) }).unwrap();
}

#[test]
fn escalate_and_bind_are_rights_of_their_own() {
    let world = World::default()
        .cluster_role("boss", json!([rule(&["escalate", "bind"], &[GROUP], &["clusterroles"])]))
        .cluster_role("big", json!([rule(&["*"], &["*"], &["*"])]))
        .bind_cluster("b", "boss", user("x"));
    let big = json!({"metadata": {"name": "n"}, "rules": [rule(&["*"], &["*"], &["*"])]});
    let bound = binding("ClusterRole", "big", user("y"));
    let (x, y) = (User::named("x"), User::named("y"));
    check(&world.0, &write(&x, Kind::ClusterRole, &big)).unwrap();
    check(&world.0, &write(&x, Kind::ClusterRoleBinding, &bound)).unwrap();
    assert_eq!(check(&world.0, &write(&y, Kind::ClusterRole, &big)).unwrap_err().code, 403);
    assert_eq!(check(&world.0, &write(&y, Kind::ClusterRoleBinding, &bound)).unwrap_err().code, 403);
    let missing = binding("ClusterRole", "none", user("y"));
    let refused = check(&world.0, &write(&y, Kind::ClusterRoleBinding, &missing)).unwrap_err();
    assert_eq!(refused.message, "clusterrole.rbac.authorization.k8s.io \"none\" not found");
}

#[test]
fn aggregation_needs_everything() {
    let world = World::default();
    let role = json!({"metadata": {"name": "a"}, "aggregationRule": {"clusterRoleSelectors": [{}]}});
    let x = User::named("x");
    assert!(
        check(&world.0, &write(&x, Kind::ClusterRole, &role))
            .unwrap_err()
            .message
            .ends_with("is forbidden: must have cluster-admin privileges to use the aggregationRule")
    );
}
