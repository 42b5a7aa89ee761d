#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn errors_read_like_upstreams() {
    let list = Attributes::resource(User::named("x"), "list", "", "pods").in_namespace("default");
    assert_eq!(
        list.forbidden("").message,
        r#"pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "default""#
    );
    let mut scale = Attributes::resource(User::named("x"), "update", "apps", "deployments").named("web");
    scale.subresource = "scale".into();
    assert_eq!(
        scale.forbidden("RBAC: role.rbac.authorization.k8s.io \"r\" not found").message,
        "deployments.apps \"web\" is forbidden: User \"x\" cannot update resource \"deployments/scale\" in API group \
         \"apps\" at the cluster scope: RBAC: role.rbac.authorization.k8s.io \"r\" not found"
    );
    let path = Attributes::path(User::named("<x>"), "get", "/metrics");
    assert_eq!(path.forbidden("").message, r#"forbidden: User "&lt;x&gt;" cannot get path "/metrics""#);
}

#[test]
fn service_account_names_are_split_only_when_valid() {
    assert_eq!(split_service_account("system:serviceaccount:shop:web.v1"), Some(("shop", "web.v1")));
    for bad in ["system:serviceaccount:shop", "system:serviceaccount:Shop:web", "system:serviceaccount:a:b:c", "web"] {
        assert_eq!(split_service_account(bad), None, "{bad}");
    }
}

#[test]
fn users_and_paths_are_quoted_as_go_does() {
    let path = Attributes::path(User::named("a\u{7}\u{200b}\u{301}é"), "get", "/\u{7}");
    let expected = "forbidden: User \"a\\a\\u200b\u{301}é\" cannot get path \"/\\a\"";
    assert_eq!(path.forbidden("").message, expected);
    assert_eq!(quoted_list(&["\u{7}".to_string(), "é".to_string()]), r#"["\a" "é"]"#);
}
