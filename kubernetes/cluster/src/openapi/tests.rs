#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bytes::Bytes;
use switchboard_object::kind::GroupVersionKind;

use super::*;
use crate::resource::{CrdVersion, LazySchema, ServedResource};

fn widget() -> Arc<ServedResource> {
    let crd = json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
        "type": "object", "description": "A widget.",
        "properties": {"spec": {"type": "object", "properties": {
            "port": {"x-kubernetes-int-or-string": true},
            "note": {"type": "string", "nullable": true, "default": "x"},
        }}},
    }}}]}});
    Arc::new(ServedResource {
        kind: GroupVersionKind::new("shop.example.com", "v1", "Widget"),
        plural: "widgets".into(),
        singular: "widget".into(),
        list_kind: "WidgetList".into(),
        short_names: vec![],
        categories: vec![],
        namespaced: true,
        verbs: ["get", "list", "create", "patch"].map(Into::into).to_vec(),
        subresources: vec![],
        schema: LazySchema::custom(Bytes::from(crd.to_string()), "v1".into()),
        custom: Some(Arc::new(CrdVersion { selectable_fields: vec![".spec.note".into()], ..CrdVersion::default() })),
    })
}

fn with_widget() -> Registry {
    Registry::built_in().with_custom("shop.example.com", "widgets", vec![widget()])
}

#[test]
fn every_reference_of_a_v3_document_is_in_it() {
    for group in with_widget().groups() {
        for version in &group.versions {
            let document = v3_document(version);
            let schemas = document["components"]["schemas"].as_object().unwrap();
            for name in definitions::references(&document.to_string()) {
                assert!(schemas.contains_key(&name), "{}/{} lacks {name}", group.name, version.name);
            }
        }
    }
}

#[test]
fn explain_finds_kind_and_description_of_a_custom_resource() {
    let registry = with_widget();
    let document = v3_document(&registry.group("shop.example.com").unwrap().versions[0]);
    let list = &document["paths"]["/apis/shop.example.com/v1/namespaces/{namespace}/widgets"];
    assert_eq!(list["get"]["x-kubernetes-group-version-kind"]["kind"], "Widget");
    let schema = &document["components"]["schemas"]["com.example.shop.v1.Widget"];
    assert_eq!(schema["description"], "A widget.");
    assert_eq!(schema["x-kubernetes-selectable-fields"], json!([{"fieldPath": "spec.note"}]));
}

#[test]
fn built_in_kinds_have_descriptions_in_both_documents() {
    let registry = Registry::built_in();
    let v3 = v3_document(&registry.group("apps").unwrap().versions[0]);
    let v2 = v2_document(&registry);
    for definitions in [&v3["components"]["schemas"], &v2["definitions"]] {
        let spec = &definitions["io.k8s.api.apps.v1.DeploymentSpec"];
        assert_eq!(
            spec["description"],
            "DeploymentSpec is the specification of the desired behavior of the Deployment."
        );
        let strategy = &spec["properties"]["strategy"];
        assert_eq!(strategy["description"], "The deployment strategy to use to replace existing pods with new ones.");
    }
    let reference = &v2["definitions"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"]["$ref"];
    assert_eq!(reference, "#/definitions/io.k8s.api.apps.v1.DeploymentStrategy");
}

#[test]
fn a_custom_kind_keeps_its_own_descriptions() {
    // The group and version make the definition's name that of a built-in one.
    let crd = json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    let kind = GroupVersionKind::new("apps.api.k8s.io", "v1", "Deployment");
    let mut resource = Arc::into_inner(widget()).unwrap();
    resource.schema = LazySchema::custom(Bytes::from(crd.to_string()), "v1".into());
    resource.kind = kind;
    let registry = Registry::built_in().with_custom("apps.api.k8s.io", "deployments", vec![Arc::new(resource)]);
    let document = v3_document(&registry.group("apps.api.k8s.io").unwrap().versions[0]);
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["io.k8s.api.apps.v1.Deployment"].get("description"), None);
    let metadata = schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["description"].as_str().unwrap();
    assert!(metadata.starts_with("ObjectMeta is metadata that all persisted resources must have"), "{metadata}");
}

#[test]
fn patches_state_field_validation_so_that_kubectl_leaves_it_to_the_server() {
    let registry = Registry::built_in();
    let document = v3_document(&registry.group("apps").unwrap().versions[0]);
    let patch = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    let names: Vec<_> = patch["parameters"].as_array().unwrap().iter().map(|p| p["name"].clone()).collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
}

#[test]
fn v2_omits_what_it_cannot_express() {
    let document = v2_document(&with_widget());
    let widget = &document["definitions"]["com.example.shop.v1.Widget"]["properties"]["spec"]["properties"];
    assert_eq!(widget["port"], json!({"x-kubernetes-int-or-string": true}));
    assert_eq!(widget["note"], json!({}));
    let quantity = &document["definitions"]["io.k8s.apimachinery.pkg.api.resource.Quantity"];
    assert_eq!(quantity["type"], "string");
    assert!(quantity.get("oneOf").is_none(), "{quantity}");
    assert!(!document.to_string().contains("#/components/"));
}

#[test]
fn the_index_changes_with_the_schema_and_only_then() {
    let plain = v3_index(&Registry::built_in());
    let more = v3_index(&with_widget());
    assert_eq!(plain["paths"]["apis/apps/v1"], more["paths"]["apis/apps/v1"]);
    assert!(more["paths"].get("apis/shop.example.com/v1").is_some());
}

#[test]
fn protobuf_begins_as_gnostic_writes_it() {
    let bytes = encode_v2(&json!({"swagger": "2.0", "info": {"title": "K", "version": "1"}, "definitions": {
        "a": {"type": "object", "required": ["b"], "minimum": 1.5},
    }}));
    let expected: &[u8] = &[
        0x0a, 3, b'2', b'.', b'0', // swagger
        0x12, 6, 0x0a, 1, b'K', 0x12, 1, b'1', // info
        0x42, 0, // paths
        0x4a, 30, 0x0a, 28, 0x0a, 1, b'a', 0x12, 23, // definitions: a =
        0x49, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, // minimum 1.5
        0x9a, 1, 1, b'b', // required
        0xb2, 1, 8, 0x0a, 6, b'o', b'b', b'j', b'e', b'c', b't', // type
    ];
    // The lengths depend on each other; only the order and the field numbers are compared.
    assert_eq!(&bytes[..15], &expected[..15]);
    assert!(bytes.windows(9).any(|w| w == &expected[24..33]));
    assert!(bytes.windows(11).any(|w| w == &expected[37..48]));
}
