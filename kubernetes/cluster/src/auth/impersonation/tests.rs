#![allow(clippy::unwrap_used)]
use http::{HeaderName, HeaderValue};
use serde_json::json;

use super::*;
use crate::auth::rbac::{GROUP, Policy, RbacKind};

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        map.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
    }
    map
}

/// Returns a policy that allows `x` everything in the rules, in the whole cluster.
fn policy(rules: serde_json::Value) -> Policy {
    let mut policy = Policy::default();
    policy.put(RbacKind::ClusterRole, "", "r", &serde_json::to_vec(&json!({"rules": rules})).unwrap());
    let binding = json!({
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "x"}, {"kind": "User", "name": "system:serviceaccount:shop:agent"}],
    });
    policy.put(RbacKind::ClusterRoleBinding, "", "b", &serde_json::to_vec(&binding).unwrap());
    policy
}

fn list_pods(user: User) -> Attributes {
    Attributes::resource(user, "list", "", "pods").in_namespace("shop")
}

fn impersonate_with(policy: &Policy, pairs: &[(&str, &str)]) -> Result<User, Status> {
    impersonate(policy, &list_pods(User::named("x")), &headers(pairs))
}

#[test]
fn without_headers_nothing_changes() {
    assert_eq!(impersonate_with(&policy(json!([])), &[]).unwrap(), User::named("x"));
}

#[test]
fn without_the_right_the_first_modes_error_is_returned() {
    assert_eq!(
        impersonate_with(&policy(json!([])), &[("impersonate-user", "alice")]).unwrap_err().message,
        "pods is forbidden: User \"x\" cannot impersonate-on:user-info:list resource \"pods\" in API group \"\" in the \
         namespace \"shop\""
    );
}

#[test]
fn plain_impersonate_suffices_and_every_part_is_checked() {
    let users = json!({"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"]});
    let may_users = policy(json!([users]));
    let alice = impersonate_with(&may_users, &[("impersonate-user", "alice")]).unwrap();
    assert_eq!((alice.name.as_str(), alice.groups), ("alice", vec![AUTHENTICATED.to_string()]));
    for more in [("impersonate-group", "devs"), ("impersonate-uid", "1"), ("impersonate-extra-scopes", "view")] {
        assert_eq!(
            impersonate_with(&may_users, &[("impersonate-user", "alice"), more]).unwrap_err().code,
            403,
            "{more:?}"
        );
    }
    let all = policy(json!([
        users,
        {"verbs": ["impersonate"], "apiGroups": [""], "resources": ["groups"], "resourceNames": ["devs"]},
        {"verbs": ["impersonate"], "apiGroups": [AUTHENTICATION], "resources": ["uids", "userextras/acme.io/scopes"]},
    ]));
    let full = [
        ("impersonate-user", "alice"),
        ("impersonate-group", "devs"),
        ("impersonate-uid", "1"),
        ("impersonate-extra-acme.io%2fscopes", "view"),
    ];
    let alice = impersonate_with(&all, &full).unwrap();
    assert_eq!(alice.groups, ["devs", AUTHENTICATED]);
    assert_eq!(alice.extra["acme.io/scopes"], ["view"]);
    assert!(impersonate_with(&all, &[("impersonate-user", "alice"), ("impersonate-group", MASTERS)]).is_err());
}

#[test]
fn service_accounts_are_a_resource_of_their_own() {
    let may = policy(json!([{"verbs": ["impersonate"], "apiGroups": [""], "resources": ["serviceaccounts"]}]));
    let web = impersonate_with(&may, &[("impersonate-user", "system:serviceaccount:shop:web")]).unwrap();
    assert_eq!(web.groups, ["system:serviceaccounts", "system:serviceaccounts:shop", AUTHENTICATED]);
    assert!(impersonate_with(&may, &[("impersonate-user", "web")]).is_err());
}

#[test]
fn anonymous_is_never_authenticated() {
    let may = policy(json!([{"verbs": ["impersonate"], "apiGroups": [""], "resources": ["users"]}]));
    let anonymous = impersonate_with(&may, &[("impersonate-user", ANONYMOUS)]).unwrap();
    assert_eq!(anonymous.groups, [UNAUTHENTICATED]);
}

#[test]
fn constrained_impersonation_holds_for_the_named_verb_only() {
    let may = policy(json!([
        {"verbs": ["impersonate:user-info"], "apiGroups": [AUTHENTICATION], "resources": ["users", "groups"]},
        {"verbs": ["impersonate-on:user-info:list"], "apiGroups": [""], "resources": ["pods"]},
    ]));
    impersonate_with(&may, &[("impersonate-user", "alice")]).unwrap();
    let get = Attributes { verb: "get".into(), ..list_pods(User::named("x")) };
    assert!(impersonate(&may, &get, &headers(&[("impersonate-user", "alice")])).is_err());
    let masters = impersonate_with(&may, &[("impersonate-user", "alice"), ("impersonate-group", MASTERS)]).unwrap_err();
    assert!(masters.message.ends_with("impersonating the system:masters group is not allowed"), "{masters}");
}

#[test]
fn a_node_agent_impersonates_only_its_own_node() {
    let may = policy(json!([
        {"verbs": ["impersonate:associated-node"], "apiGroups": [AUTHENTICATION], "resources": ["nodes"]},
        {"verbs": ["impersonate-on:associated-node:list"], "apiGroups": [""], "resources": ["pods"]},
    ]));
    let mut agent = User::service_account("shop", "agent", "u");
    agent.extra.insert(NODE_NAME.into(), vec!["n1".into()]);
    let own = headers(&[("impersonate-user", "system:node:n1")]);
    assert_eq!(impersonate(&may, &list_pods(agent.clone()), &own).unwrap().groups, ["system:nodes", AUTHENTICATED]);
    let other = headers(&[("impersonate-user", "system:node:n2")]);
    assert!(impersonate(&may, &list_pods(agent), &other).is_err());
}

#[test]
fn parts_without_a_user_name_are_a_bad_request() {
    let refused = impersonate_with(&policy(json!([])), &[("impersonate-group", "devs")]).unwrap_err();
    assert_eq!(refused.code, 400);
    assert_eq!(
        refused.message,
        "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"devs\"}, Extra:map[string][]string(nil)} \
         without impersonating a user name"
    );
}
