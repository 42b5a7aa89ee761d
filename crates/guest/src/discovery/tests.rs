#![allow(clippy::unwrap_used)]

use serde_json::json;
use switchboard_gather::contract::ResourceType;

use super::*;

/// One resource, as a cluster with its CRD says it.
fn lamps(version: &str) -> Value {
    let resource = json!({"resource": "lamps", "scope": "Namespaced", "verbs": ["list"],
        "responseKind": {"group": "", "version": "", "kind": "Lamp"}, "shortNames": ["la"]});
    let version_of = json!({"version": "v1", "freshness": "Current", "resources": [resource]});
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "items": [{"metadata": {"name": "config.openshift.io"}, "versions": [version_of]}]})
}

/// A list of a type that the program's documents do not have never comes back.
#[test]
fn a_program_is_told_of_what_is_usual_beside_what_the_cluster_has_of_a_group() {
    let told = told(&Discovery::new(Value::Null, lamps("v2")));
    for resource in ["lamps", "ingresses"] {
        assert!(told.served(&ResourceType::new("config.openshift.io", "v1", resource)).is_some(), "{resource}");
    }
    assert!(!told.apis().to_string().contains("shortNames"), "nobody reads those");
}
