#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;

fn fields(errors: &[FieldError]) -> Vec<&str> {
    errors.iter().map(|e| e.field.as_str()).collect()
}

fn check(metadata: Value) -> Vec<String> {
    validate(&metadata, true, NameRule::Subdomain, "metadata").iter().map(ToString::to_string).collect()
}

#[test]
fn a_plain_object_is_fine() {
    assert_eq!(check(json!({"name": "a", "namespace": "b", "labels": {"a.b/c": "d"}})), Vec::<String>::new());
}

#[test]
fn a_name_or_generate_name_is_required() {
    assert_eq!(check(json!({"namespace": "b"})), ["metadata.name: Required value: name or generateName is required"]);
    let wrong = validate(&json!({"name": "a", "generateName": "B."}), false, NameRule::Label, "metadata");
    assert_eq!(fields(&wrong), ["metadata.generateName"]);
}

#[test]
fn a_generated_name_may_end_in_a_dash() {
    assert!(NameRule::Subdomain.check("web-", true).is_empty());
    assert!(!NameRule::Subdomain.check("web-", false).is_empty());
}

#[test]
fn namespaces_are_given_exactly_where_they_belong() {
    assert_eq!(check(json!({"name": "a"})), ["metadata.namespace: Required value"]);
    let global = validate(&json!({"name": "a", "namespace": "b"}), false, NameRule::Subdomain, "metadata");
    assert_eq!(global[0].to_string(), "metadata.namespace: Forbidden: not allowed on this type");
}

#[test]
fn annotations_have_a_bound() {
    let large = "x".repeat(MAX_ANNOTATIONS_BYTES);
    let wrong = check(json!({"name": "a", "namespace": "b", "annotations": {"k": large}}));
    assert_eq!(wrong, ["metadata.annotations: Too long: may not be more than 262144 bytes"]);
}

#[test]
fn both_finalizers_of_deletion_exclude_each_other() {
    let wrong = check(json!({"name": "a", "namespace": "b", "finalizers": ["orphan", "foregroundDeletion"]}));
    assert!(wrong[0].ends_with("finalizer orphan and foregroundDeletion cannot be both set"));
}

#[test]
fn objects_being_deleted_accept_no_finalizers() {
    let old = json!({"name": "a", "deletionTimestamp": "2020-01-01T00:00:00Z", "resourceVersion": "1"});
    let mut new = old.clone();
    new["finalizers"] = json!(["b/c", "a/b"]);
    let wrong = validate_update(&new, &old, "metadata");
    let detail = "no new finalizers can be added if the object is being deleted, found new finalizers []string{\"a/b\", \"b/c\"}";
    assert_eq!(wrong[0].detail, detail);
}

#[test]
fn identity_does_not_change() {
    let old = json!({"name": "a", "namespace": "n", "uid": "u", "generation": 3, "resourceVersion": "1"});
    let new = json!({"name": "b", "namespace": "m", "uid": "v", "generation": 2});
    let wrong = validate_update(&new, &old, "metadata");
    let expected =
        ["metadata.resourceVersion", "metadata.generation", "metadata.name", "metadata.namespace", "metadata.uid"];
    assert_eq!(fields(&wrong), expected);
}

#[test]
fn system_fields_are_kept() {
    let old = json!({"metadata": {"uid": "u", "creationTimestamp": "t", "deletionTimestamp": "d", "deletionGracePeriodSeconds": 3}});
    let mut new = json!({"metadata": {"creationTimestamp": "other"}});
    keep_system_fields(&mut new, &old);
    assert_eq!(new, old);
}

#[test]
fn managers_are_named_and_short() {
    assert!(field_manager("kubectl", "m").is_empty());
    assert_eq!(field_manager(&"x".repeat(129), "m").len(), 1);
    assert!(field_manager("a\tb", "m")[0].detail.contains("U+0009"));
}
