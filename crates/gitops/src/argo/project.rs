//! AppProject: what a tenant's Applications may use, and nothing else.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use switchboard_ledger::ids::UserId;
use switchboard_ledger::rows::{AppProjectManagedEnvironment, AppProjectRepository};

use super::{API_VERSION, IN_CLUSTER, environment_name, project_name};

/// The kind.
pub const KIND: &str = "AppProject";

/// The project of a tenant on an Argo CD of this namespace.
///
/// The original permits every namespace of Argo CD's own cluster to every tenant. Here a tenant has its own namespaces there,
/// and none if there are none.
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
            "annotations": { "username": user.as_str() },
        },
        "spec": { "sourceRepos": repositories, "destinations": destinations },
    })
}

/// Whether two projects permit the same, in whatever order.
pub fn same(one: &Value, other: &Value) -> bool {
    let set = |project: &Value, key: &str| -> BTreeSet<String> {
        project["spec"][key].as_array().into_iter().flatten().map(Value::to_string).collect()
    };
    ["sourceRepos", "destinations"].iter().all(|key| set(one, key) == set(other, key))
}
