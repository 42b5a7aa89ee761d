#![allow(clippy::unwrap_used)]

use super::*;
use crate::contract::ResourceType;
use crate::mutation::{Action, read_directory};

const NONE: &[(String, String)] = &[];

fn request<'a>(verb: &'a str, name: &'a str, content_type: &'a str, body: &'a str) -> MutationRequest<'a> {
    MutationRequest {
        verb,
        of: ResourceType::new("", "v1", "configmaps"),
        kind: "ConfigMap",
        subresource: "",
        namespace: "shop",
        name,
        content_type,
        query: NONE,
        body: body.as_bytes(),
        controller: "Demo",
    }
}

const JSON: &str = "application/json";

#[test]
fn every_verb_has_its_action() {
    let body = r#"{"metadata":{"name":"web","namespace":"shop"}}"#;
    let cases = [
        ("create", "", "", JSON, Action::Create),
        ("update", "web", "", JSON, Action::Update),
        ("update", "web", "status", JSON, Action::UpdateStatus),
        ("patch", "web", "", "application/apply-patch+yaml", Action::Apply),
        ("patch", "web", "status", "application/apply-patch+yaml", Action::ApplyStatus),
        ("patch", "web", "", "application/merge-patch+json", Action::Patch),
        ("patch", "web", "status", "application/strategic-merge-patch+json", Action::PatchStatus),
        ("delete", "web", "", JSON, Action::Delete),
    ];
    for (verb, name, subresource, content_type, action) in cases {
        let made = to_mutation(
            &MutationRequest { subresource, ..request(verb, name, content_type, body) },
            ContractRules::Native,
        )
        .unwrap();
        assert_eq!((made.action, &*made.name, &*made.subresource), (action, "web", ""));
        assert_eq!((&*made.namespace, &*made.controller_instance_name), ("shop", "Demo"));
    }
}

#[test]
fn native_rules_record_requests_that_library_go_rejects() {
    let cases = [
        (
            request("delete", "web", JSON, r#"{"kind":"DeleteOptions"}"#),
            "request namespace \"shop\" does not equal body namespace \"\"",
        ),
        (
            MutationRequest { subresource: "scale", ..request("update", "web", JSON, "{}") },
            "subresource scale is not supported by this implementation",
        ),
        (
            request(
                "create",
                "",
                "application/json; charset=utf-8",
                r#"{"kind":"ConfigMap","metadata":{"name":"web"}}"#,
            ),
            "incorrect Content-Type header, expected one of: [application/json, application/apply-patch+yaml, application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json] but got: application/json; charset=utf-8",
        ),
        (request("delete", "web", JSON, ""), "unable to decode body: unexpected end of JSON input"),
    ];
    for (request, words) in cases {
        assert_eq!(to_mutation(&request, ContractRules::MultiOperatorManager).unwrap_err().to_string(), words);
        assert_eq!(to_mutation(&request, ContractRules::Native).unwrap().name, "web");
    }
    let namespace = MutationRequest {
        of: ResourceType::new("", "v1", "namespaces"),
        namespace: "",
        ..request("update", "shop", JSON, r#"{"kind":"Namespace","metadata":{"name":"shop"}}"#)
    };
    assert!(
        to_mutation(&namespace, ContractRules::MultiOperatorManager).is_err()
            && to_mutation(&namespace, ContractRules::Native).is_ok()
    );
}

#[test]
fn yaml_is_accepted_by_native_rules_only() {
    let body = "metadata:\n  name: web\ndata: {a: yes}\n";
    for (verb, name) in [("create", ""), ("update", "web"), ("delete", "web")] {
        let sent = request(verb, name, "application/yaml; charset=utf-8", body);
        let made = to_mutation(&sent, ContractRules::Native).unwrap();
        assert_eq!((&*made.name, &made.body_value().unwrap()["data"]["a"]), ("web", &serde_json::Value::Bool(true)));
        let refused = to_mutation(&sent, ContractRules::MultiOperatorManager).unwrap_err().to_string();
        assert!(refused.starts_with("incorrect Content-Type header"), "{refused}");
    }
}

#[test]
fn options_come_from_the_query() {
    let query =
        [("fieldManager", "x"), ("force", "true"), ("pretty", "true")].map(|(k, v)| (k.to_string(), v.to_string()));
    let apply = MutationRequest {
        query: &query,
        ..request("patch", "web", "application/apply-patch+yaml", "kind: ConfigMap\n")
    };
    let made = to_mutation(&apply, ContractRules::Native).unwrap();
    assert_eq!((&*made.options, &*made.field_manager), (&b"fieldManager: x\nforce: true\n"[..], "x"));
    let create = MutationRequest { query: &query, ..request("create", "", JSON, r#"{"metadata":{"name":"a"}}"#) };
    let made = to_mutation(&create, ContractRules::Native).unwrap();
    assert_eq!((&*made.options, &*made.field_manager), (&b"fieldManager: x\n"[..], ""));
}

#[test]
fn recordings_round_trip() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let recorder = MutationRecorder::create(&out, None, Naming::default()).unwrap();
    let one = to_mutation(&request("create", "", JSON, r#"{"metadata":{"name":"a"}}"#), ContractRules::Native).unwrap();
    let two = to_mutation(&request("delete", "b", "", ""), ContractRules::Native).unwrap();
    for mutation in [&two, &one, &two] {
        recorder.record(mutation).unwrap();
    }
    assert_eq!(recorder.count(), 3);
    assert!(out.join("Create/namespaces/shop/core/configmaps").is_dir());
    let read = read_directory(&out).unwrap();
    assert_eq!(read.mutations, [two.clone(), one, two]);
    assert!(read.ordered && read.problems.is_empty());
    let refused = MutationRecorder::create(&out, None, Naming::default()).unwrap_err().to_string();
    assert!(refused.contains("directory is not empty"), "{refused}");
}

#[test]
fn declared_outputs_determine_the_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = OutputResources::read("managementResources: {exactResources: [{version: v1, resource: configmaps, namespace: shop, name: a}]}\nuserWorkloadResources: {exactResources: [{version: v1, resource: configmaps, namespace: shop, name: a}]}").unwrap();
    let out = folder.path().join("out");
    let recorder = MutationRecorder::create(&out, Some(outputs), Naming::default()).unwrap();
    for name in ["a", "b"] {
        let body = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
        recorder.record(&to_mutation(&request("create", "", JSON, &body), ContractRules::Native).unwrap()).unwrap();
    }
    let read = read_directory(&out).unwrap();
    let places: Vec<(OutputCluster, &str)> = read.mutations.iter().map(|m| (m.cluster, &*m.name)).collect();
    assert_eq!(
        places,
        [(OutputCluster::Management, "a"), (OutputCluster::UserWorkload, "a"), (OutputCluster::Unspecified, "b")]
    );
}
