#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::decision::WriteResult;
use crate::plan::{Mutation, WriteOp};

const BINDINGS: Resource =
    Resource::cluster_scoped("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings");
const POLICIES: Resource = Resource::namespaced("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies");

fn topology() -> Topology {
    let named = [("openshift-config".to_string(), "settings".to_string())].into();
    let of_acme = NamespaceMapping::new("acme-", named).unwrap();
    Topology::standalone(&ClusterName::new("main")).with_namespaces([0; 3].map(|_| of_acme.clone())).unwrap()
}

fn object(resource: &Resource, namespace: &str, value: &Value) -> Object {
    let table = TableKey { cluster: ClusterName::new("main"), resource: Arc::new(resource.clone()) };
    let key = ObjectKey { table, namespace: namespace.into(), name: "a".into() };
    Object { key, revision: 1, json: Arc::from(value.to_string().into_bytes()) }
}

/// Returns the operator's view of an object, and the result of writing it back.
fn there_and_back(resource: &Resource, namespace: &str, value: &Value) -> (Value, Value) {
    let topology = topology();
    let seen = topology.to_operator(ClusterType::Configuration, object(resource, namespace, value)).unwrap();
    let shown = seen.full_value();
    let write = Mutation { name: "a".into(), ..Mutation::update(resource, shown.clone()) };
    let mut write = Write { object: seen.key, mutation: write, result: WriteResult::Skipped };
    topology.resolve_write(&mut write).unwrap();
    let WriteOp::Update(written) = write.mutation.operation else { panic!() };
    (shown, written)
}

fn binding(namespace: &str) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "a"}, "subjects": [
        {"kind": "ServiceAccount", "namespace": namespace, "name": "x"},
        {"kind": "User", "name": format!("system:serviceaccount:{namespace}:x")},
        {"kind": "Group", "name": format!("system:serviceaccounts:{namespace}")},
    ]})
}

#[test]
fn a_reference_to_a_foreign_namespace_is_unchanged() {
    let (shown, written) = there_and_back(&BINDINGS, "", &binding("monitoring"));
    assert_eq!(shown["subjects"][0]["namespace"], "foreign.monitoring");
    assert_eq!(written, binding("monitoring"));
    let (shown, written) = there_and_back(&BINDINGS, "", &binding("acme-web"));
    assert_eq!(shown["subjects"][0]["namespace"], "web");
    assert_eq!(written, binding("acme-web"));
}

#[test]
fn writes_to_foreign_namespaces_are_refused() {
    let maps = Resource::namespaced("", "v1", "ConfigMap", "configmaps");
    let body = json!({"metadata": {"name": "a", "namespace": "foreign.kube-system"}});
    let namespaces = Resource::cluster_scoped("", "v1", "Namespace", "namespaces");
    let namespace = Mutation::delete(&namespaces, "", "foreign.kube-system");
    for mutation in [Mutation::create(&maps, body), namespace] {
        let object = object(&maps, "x", &json!({})).key;
        let mut write = Write { object, mutation, result: WriteResult::Skipped };
        let why = topology().resolve_write(&mut write).unwrap_err();
        assert!(why.contains("`foreign.kube-system` is not one of the operator's"), "{why}");
    }
}

proptest! {
    #[test]
    fn guarantees_an_object_written_back_is_unchanged(
        names in proptest::collection::vec("(acme-)?(foreign\\.)?(monitoring|settings|openshift-config|[ab]{1,3})", 3),
    ) {
        let subjects = binding(&names[0]);
        prop_assert_eq!(there_and_back(&BINDINGS, "", &subjects).1, subjects);
        let labels = json!({"matchLabels": {"kubernetes.io/metadata.name": names[1]},
            "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [names[2]]}]});
        let policy = json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": {"name": "a", "namespace": "acme-web"},
            "spec": {"ingress": [{"from": [{"namespaceSelector": labels}]}]}});
        prop_assert_eq!(there_and_back(&POLICIES, "acme-web", &policy).1, policy);
    }
}

#[test]
fn references_to_all_namespaces_are_unchanged() {
    let flows = Resource::cluster_scoped("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas");
    let rules = |own: &str, other: &str, user: &str| json!([{"resourceRules": [{"namespaces": ["*", own, other]}], "subjects": [{"kind": "User", "user": {"name": user}}]}]);
    let real = json!({"metadata": {"name": "a"}, "spec": {"rules":
        rules("acme-web", "monitoring", "system:serviceaccount:acme-web:x")}});
    let (shown, written) = there_and_back(&flows, "", &real);
    assert_eq!(shown["spec"]["rules"], rules("web", "foreign.monitoring", "system:serviceaccount:web:x"));
    assert_eq!(written["spec"], real["spec"]);
}
