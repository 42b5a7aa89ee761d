#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn resource(group: &'static str, kind: &'static str, plural: &'static str) -> Resource {
    Resource::namespaced(group, "v1", kind, plural)
}

fn there(name: &str) -> String {
    if name == "foreign" { name.to_string() } else { format!("acme-{name}") }
}

/// Returns the object with mapped namespaces.
fn changed(resource: &Resource, mut object: Value) -> Value {
    map_object(resource, &mut object, &there);
    object
}

#[test]
fn an_object_and_a_namespace_are_found_under_their_mapped_names() {
    let secret = json!({"metadata": {"name": "a", "namespace": "auth"}, "data": {"namespace": "auth"}});
    let expected = json!({"metadata": {"name": "a", "namespace": "acme-auth"}, "data": {"namespace": "auth"}});
    assert_eq!(changed(&resource("", "Secret", "secrets"), secret), expected);
    let labels = json!({"kubernetes.io/metadata.name": "auth", "app": "auth"});
    let namespace = changed(
        &Resource::cluster_scoped("", "v1", "Namespace", "namespaces"),
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
    let operation = |namespace: &str, user: &str| WriteOp::Patch {
        patch_type: PatchType::Json,
        body: json!([
            {"op": "test", "path": "/subjects/0/namespace", "value": namespace},
            {"op": "add", "path": "/subjects/-", "value": {"kind": "ServiceAccount", "namespace": namespace, "name": "x"}},
            {"op": "replace", "path": "/subjects", "value": [{"kind": "User", "name": user}]},
            {"op": "remove", "path": "/metadata/labels/auth"},
            {"op": "add", "path": "/metadata/labels/app", "value": "auth"},
        ]),
    };
    let mut patched = operation("auth", "system:serviceaccount:auth:a");
    map_operation(&bindings, &mut patched, &there).unwrap();
    assert_eq!(patched, operation("acme-auth", "system:serviceaccount:acme-auth:a"));
    let merge = |namespace: &str| WriteOp::Patch {
        patch_type: PatchType::Merge,
        body: json!({"subjects": [{"kind": "ServiceAccount", "namespace": namespace}]}),
    };
    let mut merged = merge("auth");
    map_operation(&bindings, &mut merged, &there).unwrap();
    assert_eq!(merged, merge("acme-auth"));
    let event = |namespace: &str| WriteOp::Patch {
        patch_type: PatchType::Json,
        body: json!([{"op": "replace", "path": "/involvedObject/namespace", "value": namespace}]),
    };
    let mut inside = event("auth");
    map_operation(&resource("", "Event", "events"), &mut inside, &there).unwrap();
    assert_eq!(inside, event("acme-auth"));
}

#[test]
fn every_typed_reference_is_changed() {
    let account = |namespace: &str| format!("system:serviceaccount:{namespace}:a");
    let accounts = |namespace: &str| format!("system:serviceaccounts:{namespace}");
    let service = |namespace: &str| json!({"service": {"name": "a", "namespace": namespace, "port": 1}});
    let mirror = |namespace: &str| json!([{"requestMirror": {"backendRef": {"name": "a", "namespace": namespace}}}]);
    type Manifest<'a> = (&'static str, &'static str, &'a dyn Fn(&str) -> Value);
    let cases: [Manifest<'_>; 8] = [
        (FLOWS, "FlowSchema", &|n| {
            json!({"spec": {"rules": [{
                "subjects": [{"serviceAccount": {"namespace": n, "name": "*"}}, {"user": {"name": account(n)}}, {"group": {"name": accounts(n)}}],
                "resourceRules": [{"namespaces": [n]}, {"namespaces": ["*"]}],
            }]}})
        }),
        (
            "security.openshift.io",
            "SecurityContextConstraints",
            &|n| json!({"users": [account(n), "admin"], "groups": [accounts(n), "system:nodes"]}),
        ),
        (
            CONSOLE,
            "ConsolePlugin",
            &|n| json!({"spec": {"backend": service(n), "proxy": [{"alias": "a", "endpoint": service(n)}]}}),
        ),
        (GATEWAY, "Gateway", &|n| {
            let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": n}});
            json!({"spec": {"listeners": [{"tls": {"certificateRefs": [{"name": "a", "namespace": n}]},
                "allowedRoutes": {"namespaces": {"from": "Selector", "selector": selector}}}]}})
        }),
        (GATEWAY, "HTTPRoute", &|n| {
            json!({"spec": {"rules": [{"filters": mirror(n), "backendRefs": [{"namespace": n, "filters": mirror(n)}]}]},
                "status": {"parents": [{"parentRef": {"name": "a", "namespace": n}}]}})
        }),
        (GATEWAY, "GRPCRoute", &|n| json!({"spec": {"rules": [{"filters": mirror(n)}]}})),
        (
            "networking.k8s.io",
            "IngressClass",
            &|n| json!({"spec": {"parameters": {"kind": "P", "name": "a", "scope": "Namespace", "namespace": n}}}),
        ),
        (
            "snapshot.storage.k8s.io",
            "VolumeSnapshotContent",
            &|n| json!({"spec": {"volumeSnapshotRef": {"kind": "VolumeSnapshot", "name": "a", "namespace": n}}}),
        ),
    ];
    for (group, kind, made) in cases {
        assert_eq!(changed(&resource(group, kind, "things"), made("auth")), made("acme-auth"), "{kind}");
    }
}

#[test]
fn a_patch_that_reaches_into_a_selector_is_changed_or_refused() {
    const POLICY: &str = "/spec/ingress/0/from/0/namespaceSelector/matchExpressions";
    let policies = resource("networking.k8s.io", "NetworkPolicy", "networkpolicies");
    let patched = |steps: Value| {
        let mut operation = WriteOp::Patch { patch_type: PatchType::Json, body: steps };
        map_operation(&policies, &mut operation, &there).map(|()| operation)
    };
    let expression = |key: &str, namespace: &str| json!({"key": key, "operator": "In", "values": [namespace]});
    for made in [
        &(|n: &str| json!([{"op": "replace", "path": POLICY, "value": [expression(NAME_LABEL, n), expression("app", "auth")]}]))
            as &dyn Fn(&str) -> Value,
        &|n| json!([{"op": "add", "path": format!("{POLICY}/-"), "value": expression(NAME_LABEL, n)}]),
        &|_| json!([{"op": "add", "path": format!("{POLICY}/-"), "value": expression("app", "auth")}]),
        &|n| {
            json!([{"op": "test", "path": format!("{POLICY}/0/key"), "value": NAME_LABEL},
                {"op": "replace", "path": format!("{POLICY}/0/values"), "value": [n]},
                {"op": "add", "path": format!("{POLICY}/0/values/-"), "value": n}])
        },
        &|_| {
            json!([{"op": "test", "path": format!("{POLICY}/0/key"), "value": "app"},
                {"op": "replace", "path": format!("{POLICY}/0/values"), "value": ["auth"]}])
        },
    ] {
        assert_eq!(
            patched(made("auth")).unwrap(),
            WriteOp::Patch { patch_type: PatchType::Json, body: made("acme-auth") }
        );
    }
    let why = patched(json!([{"op": "replace", "path": format!("{POLICY}/0/values"), "value": ["auth"]}])).unwrap_err();
    assert!(why.contains("matchExpressions/0/values are namespaces; let the patch replace the whole"), "{why}");
}
