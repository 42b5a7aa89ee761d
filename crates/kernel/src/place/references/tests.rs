#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn resource(group: &'static str, kind: &'static str, plural: &'static str) -> Resource {
    Resource::namespaced(group, "v1", kind, plural)
}

fn there(name: &str) -> String {
    if name == "foreign" { name.to_string() } else { format!("acme-{name}") }
}

/// The object after its namespaces were changed.
fn changed(resource: &Resource, mut object: Value) -> Value {
    change_object(resource, &mut object, &there);
    object
}

#[test]
fn an_object_and_a_namespace_are_found_under_the_other_name() {
    let secret = json!({"metadata": {"name": "a", "namespace": "auth"}, "data": {"namespace": "auth"}});
    let expected = json!({"metadata": {"name": "a", "namespace": "acme-auth"}, "data": {"namespace": "auth"}});
    assert_eq!(changed(&resource("", "Secret", "secrets"), secret), expected);
    let labels = json!({"kubernetes.io/metadata.name": "auth", "app": "auth"});
    let namespace = changed(
        &Resource::cluster_wide("", "v1", "Namespace", "namespaces"),
        json!({"metadata": {"name": "auth", "labels": labels}}),
    );
    assert_eq!(namespace["metadata"]["name"], "acme-auth");
    assert_eq!(namespace["metadata"]["labels"], json!({"kubernetes.io/metadata.name": "acme-auth", "app": "auth"}));
}

#[test]
fn subjects_are_changed_in_every_way_they_name_an_account() {
    let bindings = resource(RBAC, "ClusterRoleBinding", "clusterrolebindings");
    let subjects = json!({"subjects": [
        {"kind": "ServiceAccount", "namespace": "auth", "name": "auth"},
        {"kind": "User", "name": "system:serviceaccount:auth:auth"},
        {"kind": "Group", "name": "system:serviceaccounts:auth"},
        {"kind": "Group", "name": "system:authenticated"},
        {"kind": "ServiceAccount", "namespace": "foreign", "name": "auth"},
    ]});
    let expected = json!({"subjects": [
        {"kind": "ServiceAccount", "namespace": "acme-auth", "name": "auth"},
        {"kind": "User", "name": "system:serviceaccount:acme-auth:auth"},
        {"kind": "Group", "name": "system:serviceaccounts:acme-auth"},
        {"kind": "Group", "name": "system:authenticated"},
        {"kind": "ServiceAccount", "namespace": "foreign", "name": "auth"},
    ]});
    assert_eq!(changed(&bindings, subjects), expected);
}

#[test]
fn services_behind_webhooks_and_apis_are_changed() {
    let service = |namespace: &str| json!({"service": {"namespace": namespace, "name": "auth"}});
    let selector = |namespace: &str| {
        json!({"matchLabels": {"kubernetes.io/metadata.name": namespace},
            "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]},
                {"key": "app", "operator": "In", "values": ["auth"]}]})
    };
    let hooks = |namespace: &str| json!({"webhooks": [{"clientConfig": service(namespace), "namespaceSelector": selector(namespace)}]});
    let webhooks = resource(ADMISSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations");
    assert_eq!(changed(&webhooks, hooks("auth")), hooks("acme-auth"));
    let api = resource("apiregistration.k8s.io", "APIService", "apiservices");
    assert_eq!(changed(&api, json!({"spec": service("auth")})), json!({"spec": service("acme-auth")}));
    let definition =
        |namespace: &str| json!({"spec": {"conversion": {"webhook": {"clientConfig": service(namespace)}}}});
    let definitions = resource("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions");
    assert_eq!(changed(&definitions, definition("auth")), definition("acme-auth"));
    let policy = |namespace: &str| json!({"spec": {"ingress": [{"from": [{"namespaceSelector": selector(namespace)}, {"podSelector": {}}]}]}});
    let policies = resource("networking.k8s.io", "NetworkPolicy", "networkpolicies");
    assert_eq!(changed(&policies, policy("auth")), policy("acme-auth"));
}

#[test]
fn an_event_about_a_namespace_names_it_as_well() {
    let events = resource("", "Event", "events");
    let event = |namespace: &str| {
        json!({"involvedObject": {"kind": "Namespace", "name": namespace, "namespace": namespace},
            "related": {"kind": "Pod", "name": "auth", "namespace": namespace}})
    };
    assert_eq!(changed(&events, event("auth")), event("acme-auth"));
}

#[test]
fn pods_that_keep_away_from_those_of_a_namespace_keep_away_from_the_real_ones() {
    let deployment = |namespace: &str| {
        json!({"spec": {"template": {"spec": {"affinity": {"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"namespaces": [namespace]}]}}}}}})
    };
    let deployments = resource("apps", "Deployment", "deployments");
    assert_eq!(changed(&deployments, deployment("auth")), deployment("acme-auth"));
}

#[test]
fn patches_are_changed_wherever_they_meet_a_namespace() {
    let bindings = resource(RBAC, "RoleBinding", "rolebindings");
    let act = |namespace: &str, user: &str| Act::Patch {
        form: PatchForm::Json,
        body: json!([
            {"op": "test", "path": "/subjects/0/namespace", "value": namespace},
            {"op": "add", "path": "/subjects/-", "value": {"kind": "ServiceAccount", "namespace": namespace, "name": "x"}},
            {"op": "replace", "path": "/subjects", "value": [{"kind": "User", "name": user}]},
            {"op": "remove", "path": "/metadata/labels/auth"},
            {"op": "add", "path": "/metadata/labels/app", "value": "auth"},
        ]),
    };
    let mut patched = act("auth", "system:serviceaccount:auth:a");
    change_act(&bindings, &mut patched, &there);
    assert_eq!(patched, act("acme-auth", "system:serviceaccount:acme-auth:a"));
    let merge = |namespace: &str| Act::Patch {
        form: PatchForm::Merge,
        body: json!({"subjects": [{"kind": "ServiceAccount", "namespace": namespace}]}),
    };
    let mut merged = merge("auth");
    change_act(&bindings, &mut merged, &there);
    assert_eq!(merged, merge("acme-auth"));
    let event = |namespace: &str| Act::Patch {
        form: PatchForm::Json,
        body: json!([{"op": "replace", "path": "/involvedObject/namespace", "value": namespace}]),
    };
    let mut inside = event("auth");
    change_act(&resource("", "Event", "events"), &mut inside, &there);
    assert_eq!(inside, event("acme-auth"));
}
