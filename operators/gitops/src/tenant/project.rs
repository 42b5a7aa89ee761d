//! AppProject: restricts what a tenant's Applications may use.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::argocd::keys::without_empty;
use crate::argocd::{API_VERSION, IN_CLUSTER, environment_name, project_name};
use crate::deployment::new_namespace;
use crate::ids::UserId;
use crate::rows::{AppProjectManagedEnvironment, AppProjectRepository};

/// Kind.
pub const KIND: &str = "AppProject";

/// Annotation with the owner of a project.
const USERNAME: &str = "username";

/// Builds the project of a tenant for an Argo CD in this namespace.
///
/// managed-gitops permits every namespace of Argo CD's own cluster to every tenant. Here a tenant may use its own
/// namespaces only. Cluster-scoped objects are denied, except for
/// [`new_namespace`](crate::deployment::new_namespace::permit_namespaces).
pub fn object(
    user: &UserId,
    namespace: &str,
    repositories: &[AppProjectRepository],
    environments: &[AppProjectManagedEnvironment],
    own_namespaces: &[String],
) -> Value {
    let repositories: BTreeSet<&str> = repositories.iter().map(|row| row.repo_url.as_str()).collect();
    let environments: BTreeSet<String> = environments.iter().map(|row| environment_name(&row.environment)).collect();
    let own: BTreeSet<&String> = own_namespaces.iter().collect();
    let mut destinations: Vec<Value> =
        environments.into_iter().map(|name| json!({ "name": name, "namespace": "*" })).collect();
    destinations.extend(own.into_iter().map(|own| json!({ "name": IN_CLUSTER, "namespace": own })));
    json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": project_name(user),
            "namespace": namespace,
            "annotations": { USERNAME: user.as_str() },
        },
        "spec": { "sourceRepos": repositories, "destinations": destinations },
    })
}

/// Whether a live project has the owner and exactly the permissions of the wanted one, in any order.
///
/// The whole spec is compared: an added role, source namespace or permitted kind would extend the tenant's permissions.
pub fn same(live: &Value, wanted: &Value) -> bool {
    let (mut has, mut should) = (permitted(live), permitted(wanted));
    if new_namespace::names_were_pruned(live, wanted) {
        has.remove(new_namespace::PERMITTED);
        should.remove(new_namespace::PERMITTED);
    }
    has == should && live["metadata"]["annotations"][USERNAME] == wanted["metadata"]["annotations"][USERNAME]
}

/// Returns the permissions of a project by key. Lists become sets, because their order has no meaning.
fn permitted(project: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let spec = without_empty(project["spec"].clone());
    let set = |(key, value): (&String, &Value)| match value.as_array() {
        Some(items) => (key.clone(), items.iter().map(Value::to_string).collect()),
        None => (key.clone(), BTreeSet::from([value.to_string()])),
    };
    spec.as_object().into_iter().flatten().map(set).collect()
}
