//! AppProject: what a tenant's Applications may use, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use switchboard_ledger::ids::UserId;
use switchboard_ledger::rows::{AppProjectManagedEnvironment, AppProjectRepository};

use super::keys::without_nothing;
use super::{API_VERSION, IN_CLUSTER, environment_name, new_namespace, project_name};

/// The kind.
pub const KIND: &str = "AppProject";

/// The annotation that says whose a project is.
const USERNAME: &str = "username";

/// The project of a tenant on an Argo CD of this namespace.
///
/// The original permits every namespace of Argo CD's own cluster to every tenant. Here a tenant has its own namespaces there,
/// and none if there are none. What has no namespace is nobody's, but for [`new_namespace`](super::new_namespace::permitted).
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

/// Whether a project that is there permits what it should and nothing else, in whatever order, and says whose it is.
///
/// All of the spec counts: a role, a source namespace or a permitted kind that somebody added is more than the tenant has.
pub fn same(live: &Value, wanted: &Value) -> bool {
    let (mut has, mut should) = (permitted(live), permitted(wanted));
    if new_namespace::lost_names(live, wanted) {
        has.remove(new_namespace::PERMITTED);
        should.remove(new_namespace::PERMITTED);
    }
    has == should && live["metadata"]["annotations"][USERNAME] == wanted["metadata"]["annotations"][USERNAME]
}

/// By key, what a project permits; where the order says nothing, without it.
fn permitted(project: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let spec = without_nothing(project["spec"].clone());
    let set = |(key, value): (&String, &Value)| match value.as_array() {
        Some(items) => (key.clone(), items.iter().map(Value::to_string).collect()),
        None => (key.clone(), BTreeSet::from([value.to_string()])),
    };
    spec.as_object().into_iter().flatten().map(set).collect()
}
