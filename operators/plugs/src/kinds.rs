//! Lookup of resources by `apiVersion` and `kind`: built-in kinds from the embedded discovery document, other kinds
//! from the CustomResourceDefinitions of the cluster.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::View;
use switchboard_object::DISCOVERY;
use switchboard_object::kind::GroupVersion;

/// Kind of CustomResourceDefinitions.
pub const DEFINITIONS: Resource =
    Resource::cluster_scoped("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");

static BUILT_IN: LazyLock<HashMap<(String, String), Resource>> = LazyLock::new(|| {
    let documents: Value = serde_json::from_str(DISCOVERY).expect("the carried discovery is JSON");
    let groups = ["/api", "/apis"].into_iter().flat_map(|path| list(&documents[path]["items"]));
    groups.flat_map(group_resources).collect()
});

/// Returns the resource of a kind, or `None` if the cluster does not serve the kind.
///
/// # Errors
/// [`DecideError::NotCached`] if the definitions are not cached yet.
pub fn resource(view: &View, api_version: &str, kind: &str) -> Result<Option<Resource>, DecideError> {
    if let Some(known) = built_in(api_version, kind) {
        return Ok(Some(known.clone()));
    }
    let Some(version) = GroupVersion::parse(api_version).filter(|version| !version.group.is_empty()) else {
        return Ok(None);
    };
    let definitions = view.list(&DEFINITIONS, &Selection::all())?;
    // Filter by name first, which contains the group: most definitions belong to other groups, and their schemas are
    // long.
    let of_group = definitions
        .iter()
        .filter(|definition| definition.key.name.split_once('.').is_some_and(|(_, group)| group == version.group));
    Ok(of_group.filter_map(|definition| defined_resource(&definition.value(), &version, kind)).next())
}

/// Returns a kind that every cluster of this Kubernetes release serves.
pub fn built_in(api_version: &str, kind: &str) -> Option<&'static Resource> {
    BUILT_IN.get(&(api_version.to_string(), kind.to_string()))
}

fn defined_resource(definition: &Value, version: &GroupVersion, kind: &str) -> Option<Resource> {
    let spec = &definition["spec"];
    let serves = list(&spec["versions"]).any(|one| one["name"] == version.version && one["served"] == true);
    if !serves || spec["names"]["kind"] != kind {
        return None;
    }
    Some(Resource {
        group: Cow::Owned(version.group.clone()),
        version: Cow::Owned(version.version.clone()),
        kind: Cow::Owned(kind.to_string()),
        plural: Cow::Owned(spec["names"]["plural"].as_str()?.to_string()),
        namespaced: spec["scope"] != "Cluster",
    })
}

fn group_resources(group: &Value) -> Vec<((String, String), Resource)> {
    let name = group["metadata"]["name"].as_str().unwrap_or_default();
    let mut found = Vec::new();
    for version in list(&group["versions"]) {
        let in_version = version["version"].as_str().unwrap_or_default();
        for resource in list(&version["resources"]).filter(|one| list(&one["verbs"]).any(|verb| verb == "patch")) {
            let kind = resource["responseKind"]["kind"].as_str().unwrap_or_default();
            let resource = Resource {
                group: Cow::Owned(name.to_string()),
                version: Cow::Owned(in_version.to_string()),
                kind: Cow::Owned(kind.to_string()),
                plural: Cow::Owned(resource["resource"].as_str().unwrap_or_default().to_string()),
                namespaced: resource["scope"] == "Namespaced",
            };
            found.push(((resource.api_version(), kind.to_string()), resource));
        }
    }
    found
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn built_in_kinds_are_known_by_group_and_version() {
        let maps = built_in("v1", "ConfigMap").unwrap();
        assert_eq!(*maps, Resource::namespaced("", "v1", "ConfigMap", "configmaps"));
        let jobs = built_in("batch/v1", "Job").unwrap();
        assert_eq!((jobs.path("shop").as_str(), jobs.namespaced), ("/apis/batch/v1/namespaces/shop/jobs", true));
        assert!(!built_in("v1", "Namespace").unwrap().namespaced);
        assert_eq!(built_in("batch/v1", "ConfigMap"), None);
    }

    #[test]
    fn a_definition_serves_its_versions_and_no_other() {
        let definition = serde_json::json!({"spec": {"group": "x.io", "scope": "Cluster", "names": {"kind": "Box", "plural": "boxen"},
            "versions": [{"name": "v1", "served": true}, {"name": "v2", "served": false}]}});
        let boxes = defined_resource(&definition, &GroupVersion::new("x.io", "v1"), "Box").unwrap();
        assert_eq!((boxes.plural.as_ref(), boxes.namespaced), ("boxen", false));
        assert_eq!(defined_resource(&definition, &GroupVersion::new("x.io", "v2"), "Box"), None);
        assert_eq!(defined_resource(&definition, &GroupVersion::new("x.io", "v1"), "Crate"), None);
    }
}
