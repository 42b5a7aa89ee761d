use serde_json::{Value, json};

use super::*;

fn carried() -> Value {
    serde_json::from_str(switchboard_object::DISCOVERY).expect("the carried discovery is JSON")
}

#[test]
fn aggregated_documents_are_those_of_the_release() {
    let registry = Registry::built_in();
    assert_eq!(aggregated(&registry, true)["items"], carried()["/api"]["items"]);
    assert_eq!(aggregated(&registry, false)["items"], carried()["/apis"]["items"]);
}

#[test]
fn plain_lists_carry_subresources_and_storage_hashes() {
    let registry = Registry::built_in();
    let core = registry.group("").expect("the core group is built in");
    let list = resource_list(core, &core.versions[0]);
    assert!(list.get("apiVersion").is_none());
    let named = |name: &str| list["resources"].as_array().into_iter().flatten().find(|r| r["name"] == name).cloned();
    // Hashes as kube-apiserver reports them.
    assert_eq!(named("configmaps").map(|r| r["storageVersionHash"].clone()), Some(json!("qFsyl6wFWjQ=")));
    assert_eq!(named("bindings").map(|r| r.get("storageVersionHash").is_none()), Some(true));
    let token = named("serviceaccounts/token").expect("service accounts have tokens");
    assert_eq!((&token["group"], &token["version"]), (&json!("authentication.k8s.io"), &json!("v1")));
}

#[test]
fn a_group_names_its_preferred_version() {
    let registry = Registry::built_in();
    let autoscaling = group(registry.group("autoscaling").expect("autoscaling is built in"));
    assert_eq!(autoscaling["preferredVersion"]["version"], "v2");
    assert_eq!(autoscaling["versions"].as_array().map(Vec::len), Some(2));
    let groups = group_list(&registry);
    assert!(groups["groups"].as_array().into_iter().flatten().all(|g| g["name"] != ""));
}
