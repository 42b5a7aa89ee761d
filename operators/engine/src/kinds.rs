//! Kinds that the engine serves, and lookup of a manifest's kind on the destination cluster.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;
use switchboard_kernel::operator::DecideError;
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::ClusterView;
use switchboard_object::DISCOVERY;
use switchboard_object::kind::GroupVersion;

use crate::object_fields::{list, text};

/// API group of Argo CD's kinds.
pub const GROUP: &str = "argoproj.io";
/// API version of Argo CD's kinds.
pub const VERSION: &str = "v1alpha1";
/// Application: a source and the destination to deploy it to.
pub const APPLICATIONS: Resource = Resource::namespaced(GROUP, VERSION, "Application", "applications");
/// AppProject: the permissions of Applications.
pub const PROJECTS: Resource = Resource::namespaced(GROUP, VERSION, "AppProject", "appprojects");
/// Secret: declares clusters and repository credentials.
pub const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");
/// Namespace: created if an Application requests it.
pub const NAMESPACES: Resource = Resource::cluster_scoped("", "v1", "Namespace", "namespaces");
/// CustomResourceDefinition: declares kinds that are not built in.
pub const DEFINITIONS: Resource =
    Resource::cluster_scoped("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");

static BUILT_IN: LazyLock<HashMap<(String, String), Resource>> = LazyLock::new(|| {
    let documents: Value = serde_json::from_str(DISCOVERY).expect("the built-in discovery is JSON");
    let groups: Vec<Value> =
        ["/api", "/apis"].iter().flat_map(|path| list(&documents[*path], "/items").cloned()).collect();
    groups.iter().flat_map(resources_of_group).collect()
});

/// Returns the resource of a manifest's kind, or `None` while the cluster does not serve the kind.
///
/// # Errors
/// [`DecideError::NotCached`] if the CustomResourceDefinitions have not been read yet.
pub fn resolve(at: ClusterView<'_>, api_version: &str, kind: &str) -> Result<Option<Resource>, DecideError> {
    if let Some(known) = BUILT_IN.get(&(api_version.to_string(), kind.to_string())) {
        return Ok(Some(known.clone()));
    }
    let Some(version) = GroupVersion::parse(api_version).filter(|version| !version.group.is_empty()) else {
        return Ok(None);
    };
    let definitions = at.list(&DEFINITIONS, &Selection::all())?;
    // Most definitions belong to other groups and have long schemas, so the name is used to filter by group.
    let mut of_group = definitions
        .iter()
        .filter(|definition| definition.key.name.split_once('.').is_some_and(|(_, group)| group == version.group));
    Ok(of_group.find_map(|definition| resource_of_definition(&definition.value(), &version, kind)))
}

fn resource_of_definition(definition: &Value, version: &GroupVersion, kind: &str) -> Option<Resource> {
    let serves = list(definition, "/spec/versions").any(|one| one["name"] == version.version && one["served"] == true);
    // A new definition is not served until it is established.
    let established =
        list(definition, "/status/conditions").any(|one| one["type"] == "Established" && one["status"] == "True");
    (serves && established && text(definition, "/spec/names/kind") == kind).then(|| Resource {
        group: Cow::Owned(version.group.clone()),
        version: Cow::Owned(version.version.clone()),
        kind: Cow::Owned(kind.to_string()),
        plural: Cow::Owned(text(definition, "/spec/names/plural").to_string()),
        namespaced: definition["spec"]["scope"] != "Cluster",
    })
}

fn resources_of_group(group: &Value) -> Vec<((String, String), Resource)> {
    let name = text(group, "/metadata/name");
    let mut found = Vec::new();
    for version in list(group, "/versions") {
        let resources = list(version, "/resources").filter(|one| list(one, "/verbs").any(|verb| verb == "patch"));
        for resource in resources {
            let kind = text(resource, "/responseKind/kind").to_string();
            let resource = Resource {
                group: Cow::Owned(name.to_string()),
                version: Cow::Owned(text(version, "/version").to_string()),
                kind: Cow::Owned(kind.clone()),
                plural: Cow::Owned(text(resource, "/resource").to_string()),
                namespaced: resource["scope"] == "Namespaced",
            };
            found.push(((resource.api_version(), kind), resource));
        }
    }
    found
}
