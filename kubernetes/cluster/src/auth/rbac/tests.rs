#![allow(clippy::unwrap_used)]
use serde_json::{Value, json};

use super::escalation::{RbacWrite, check};
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
struct RbacFixture(Policy);

impl RbacFixture {
    fn cluster_role(mut self, name: &str, rules: Value) -> Self {
        self.0.put(RbacKind::ClusterRole, "", name, &bytes(&json!({"rules": rules})));
        self
    }

    fn role(mut self, namespace: &str, name: &str, rules: Value) -> Self {
        self.0.put(RbacKind::Role, namespace, name, &bytes(&json!({"rules": rules})));
        self
    }

    fn bind_cluster(mut self, name: &str, role: &str, subject: Value) -> Self {
        self.0.put(RbacKind::ClusterRoleBinding, "", name, &bytes(&binding("ClusterRole", role, subject)));
        self
    }

    fn bind(mut self, namespace: &str, name: &str, kind: &str, role: &str, subject: Value) -> Self {
        self.0.put(RbacKind::RoleBinding, namespace, name, &bytes(&binding(kind, role, subject)));
        self
    }

    fn allows(&self, attributes: &Attributes) -> bool {
        matches!(self.0.decide(attributes), AuthorizerDecision::Allow(_))
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
    let attributes = Attributes::resource(User::named("x").with_group(MASTERS), "delete", "any", "thing");
    assert!(RbacFixture::default().allows(&attributes));
    assert!(!RbacFixture::default().allows(&ask("x", "get", "pods")));
}

#[test]
fn a_role_binding_grants_in_its_namespace_only() {
    let fixture = RbacFixture::default().cluster_role("reader", json!([rule(&["get"], &[""], &["pods"])])).bind(
        "shop",
        "b",
        "ClusterRole",
        "reader",
        user("x"),
    );
    assert!(fixture.allows(&ask("x", "get", "pods").in_namespace("shop")));
    assert!(!fixture.allows(&ask("x", "get", "pods").in_namespace("other")));
    assert!(!fixture.allows(&ask("x", "get", "pods")));
    assert!(!fixture.allows(&ask("x", "list", "pods").in_namespace("shop")));
    assert!(!fixture.allows(&ask("y", "get", "pods").in_namespace("shop")));
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
        let fixture = RbacFixture::default()
            .cluster_role("r", json!([rule(&["*"], &["*"], &[rule_resource])]))
            .bind_cluster("b", "r", user("x"));
        assert_eq!(fixture.allows(&ask("x", "get", asked)), allowed, "{rule_resource} on {asked}");
    }
}

#[test]
fn names_and_paths_are_matched() {
    let rules = json!([
        {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
        {"verbs": ["get"], "nonResourceURLs": ["/logs/*", "/metrics"]},
    ]);
    let fixture = RbacFixture::default().cluster_role("r", rules).bind_cluster("b", "r", user("x"));
    assert!(fixture.allows(&ask("x", "get", "pods").named("a")));
    assert!(!fixture.allows(&ask("x", "get", "pods").named("b")));
    assert!(!fixture.allows(&ask("x", "get", "pods")));
    for (path, allowed) in [("/logs/a/b", true), ("/logs", false), ("/metrics", true), ("/metrics/x", false)] {
        assert_eq!(fixture.allows(&Attributes::path(User::named("x"), "get", path)), allowed, "{path}");
    }
}

#[test]
fn groups_and_service_accounts_are_subjects() {
    let fixture = RbacFixture::default()
        .cluster_role("r", json!([rule(&["get"], &[""], &["pods"])]))
        .bind("shop", "b", "ClusterRole", "r", json!({"kind": "ServiceAccount", "name": "web"}))
        .bind("shop", "g", "ClusterRole", "r", json!({"kind": "Group", "name": "devs"}));
    let ask_as = |user: User| Attributes::resource(user, "get", "", "pods").in_namespace("shop");
    let web = ask_as(User::service_account("shop", "web", "u"));
    assert_eq!(
        fixture.0.decide(&web),
        AuthorizerDecision::Allow(
            r#"RBAC: allowed by RoleBinding "b/shop" of ClusterRole "r" to ServiceAccount "web/shop""#.into()
        )
    );
    assert!(fixture.allows(&ask_as(User::named("x").with_group("devs"))));
    assert!(!fixture.allows(&ask_as(User::service_account("other", "web", "u"))));
}

#[test]
fn a_missing_role_is_named_in_the_reason() {
    let fixture =
        RbacFixture::default().bind_cluster("b", "gone", user("x")).bind("shop", "b", "Role", "gone", user("x"));
    assert_eq!(
        fixture.0.decide(&ask("x", "get", "pods").in_namespace("shop")),
        AuthorizerDecision::NoOpinion(
            "RBAC: [clusterrole.rbac.authorization.k8s.io \"gone\" not found, role.rbac.authorization.k8s.io \"gone\" \
             not found]"
                .into()
        )
    );
}

#[test]
fn removed_objects_grant_nothing() {
    let mut fixture = RbacFixture::default().role("shop", "r", json!([rule(&["get"], &[""], &["pods"])])).bind(
        "shop",
        "b",
        "Role",
        "r",
        user("x"),
    );
    let asked = ask("x", "get", "pods").in_namespace("shop");
    assert!(fixture.allows(&asked));
    fixture.0.remove(RbacKind::RoleBinding, "shop", "b");
    assert!(!fixture.allows(&asked));
}

fn write<'a>(user: &'a User, kind: RbacKind, new: &'a Value) -> RbacWrite<'a> {
    RbacWrite { user, kind, namespace: "", request_name: "", new, old: None }
}

#[test]
fn granting_missing_rights_is_refused() {
    let fixture = RbacFixture::default().cluster_role("r", json!([rule(&["get"], &[""], &["pods"])])).bind_cluster(
        "b",
        "r",
        user("x"),
    );
    let x = User::named("x").with_group("system:authenticated");
    let wanted = json!({"metadata": {"name": "big"}, "rules": [
        rule(&["get", "list"], &[""], &["pods"]), rule(&["get", "watch"], &["apps"], &["deployments"]),
        {"verbs": ["get"], "nonResourceURLs": ["/metrics"]},
    ]});
    assert_eq!(
        check(&fixture.0, &write(&x, RbacKind::ClusterRole, &wanted)).unwrap_err().message,
        "clusterroles.rbac.authorization.k8s.io \"big\" is forbidden: user \"x\" (groups=[\"system:authenticated\"]) is \
         attempting to grant RBAC permissions not currently held:\n\
         {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}\n\
         {APIGroups:[\"apps\"], Resources:[\"deployments\"], Verbs:[\"get\" \"watch\"]}\n\
         {NonResourceURLs:[\"/metrics\"], Verbs:[\"get\"]}"
    );
    let small = json!({"metadata": {"name": "small"}, "rules": [rule(&["get"], &[""], &["pods"])]});
    check(&fixture.0, &write(&x, RbacKind::ClusterRole, &small)).unwrap();
    let released = json!({"metadata": {"name": "big", "finalizers": []}, "rules": wanted["rules"]});
    check(&fixture.0, &RbacWrite { old: Some(&wanted), ..write(&x, RbacKind::ClusterRole, &released) }).unwrap();
}

#[test]
fn escalate_and_bind_are_rights_of_their_own() {
    let fixture = RbacFixture::default()
        .cluster_role("boss", json!([rule(&["escalate", "bind"], &[GROUP], &["clusterroles"])]))
        .cluster_role("big", json!([rule(&["*"], &["*"], &["*"])]))
        .bind_cluster("b", "boss", user("x"));
    let big = json!({"metadata": {"name": "n"}, "rules": [rule(&["*"], &["*"], &["*"])]});
    let bound = binding("ClusterRole", "big", user("y"));
    let (x, y) = (User::named("x"), User::named("y"));
    check(&fixture.0, &write(&x, RbacKind::ClusterRole, &big)).unwrap();
    check(&fixture.0, &write(&x, RbacKind::ClusterRoleBinding, &bound)).unwrap();
    assert_eq!(check(&fixture.0, &write(&y, RbacKind::ClusterRole, &big)).unwrap_err().code, 403);
    assert_eq!(check(&fixture.0, &write(&y, RbacKind::ClusterRoleBinding, &bound)).unwrap_err().code, 403);
    let missing = binding("ClusterRole", "none", user("y"));
    let refused = check(&fixture.0, &write(&y, RbacKind::ClusterRoleBinding, &missing)).unwrap_err();
    assert_eq!(refused.message, "clusterrole.rbac.authorization.k8s.io \"none\" not found");
}

#[test]
fn aggregation_needs_everything() {
    let fixture = RbacFixture::default();
    let role = json!({"metadata": {"name": "a"}, "aggregationRule": {"clusterRoleSelectors": [{}]}});
    let x = User::named("x");
    assert!(
        check(&fixture.0, &write(&x, RbacKind::ClusterRole, &role))
            .unwrap_err()
            .message
            .ends_with("is forbidden: must have cluster-admin privileges to use the aggregationRule")
    );
}
