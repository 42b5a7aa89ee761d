//! The kinds the engine serves, and how a manifest's kind is found on the cluster it goes to.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;
use switchboard_kernel::operator::Stop;
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::At;
use switchboard_object::DISCOVERY;
use switchboard_object::kind::GroupVersion;

use crate::field::{list, text};

/// The group of Argo CD's kinds.
pub const GROUP: &str = "argoproj.io";
/// Their version.
pub const VERSION: &str = "v1alpha1";
/// What is deployed.
pub const APPLICATIONS: Resource = Resource::namespaced(GROUP, VERSION, "Application", "applications");
/// What an Application may do.
pub const PROJECTS: Resource = Resource::namespaced(GROUP, VERSION, "AppProject", "appprojects");
/// Clusters and repositories are Secrets.
pub const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");
/// Made when an Application says so.
pub const NAMESPACES: Resource = Resource::cluster_wide("", "v1", "Namespace", "namespaces");
/// Where kinds that are not built in are found.
pub const DEFINITIONS: Resource =
    Resource::cluster_wide("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");

static BUILT_IN: LazyLock<HashMap<(String, String), Resource>> = LazyLock::new(|| {
    let documents: Value = serde_json::from_str(DISCOVERY).expect("the carried discovery is JSON");
    let groups: Vec<Value> =
        ["/api", "/apis"].iter().flat_map(|path| list(&documents[*path], "/items").cloned()).collect();
    groups.iter().flat_map(of_group).collect()
});

/// The kind of a manifest; `None` while the cluster serves no such kind.
///
/// # Errors
/// [`Stop::Parked`] when the definitions were not read yet.
pub fn kind(at: At<'_>, api_version: &str, kind: &str) -> Result<Option<Resource>, Stop> {
    if let Some(known) = BUILT_IN.get(&(api_version.to_string(), kind.to_string())) {
        return Ok(Some(known.clone()));
    }
    let Some(version) = GroupVersion::parse(api_version).filter(|version| !version.group.is_empty()) else {
        return Ok(None);
    };
    let definitions = at.list(&DEFINITIONS, &Selection::all())?;
    // Most definitions are of other groups, and their schemas are long: the name says the group.
    let mut of_group = definitions
        .iter()
        .filter(|definition| definition.key.name.split_once('.').is_some_and(|(_, group)| group == version.group));
    Ok(of_group.find_map(|definition| defined(&definition.value(), &version, kind)))
}

fn defined(definition: &Value, version: &GroupVersion, kind: &str) -> Option<Resource> {
    let serves = list(definition, "/spec/versions").any(|one| one["name"] == version.version && one["served"] == true);
    // A definition that was just made is not served yet.
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

fn of_group(group: &Value) -> Vec<((String, String), Resource)> {
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
