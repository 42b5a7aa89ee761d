//! Evaluates RBAC rules for reads on behalf of a service account.
//!
//! All operators read through one shared cache, so the API server does not authorize each plug's reads. RBAC objects
//! are read from the same cache instead, and a changed Role triggers the units that depend on it. Writes are made as
//! the service account, and the API server authorizes them.

use serde_json::Value;
use switchboard_kernel::object::Object;
use switchboard_kernel::operator::{DecideError, ServiceAccount};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::view::View;

const GROUP: &str = "rbac.authorization.k8s.io";
/// Roles of a namespace.
pub const ROLES: Resource = Resource::namespaced(GROUP, "v1", "Role", "roles");
/// RoleBindings of a namespace.
pub const ROLE_BINDINGS: Resource = Resource::namespaced(GROUP, "v1", "RoleBinding", "rolebindings");
/// ClusterRoles.
pub const CLUSTER_ROLES: Resource = Resource::cluster_scoped(GROUP, "v1", "ClusterRole", "clusterroles");
/// ClusterRoleBindings.
pub const CLUSTER_ROLE_BINDINGS: Resource =
    Resource::cluster_scoped(GROUP, "v1", "ClusterRoleBinding", "clusterrolebindings");

/// Request to authorize: one verb on one object.
#[derive(Clone, Copy, Debug)]
pub struct ResourceAttributes<'a> {
    /// Verb, such as `get`.
    pub verb: &'a str,
    /// Kind of the object.
    pub resource: &'a Resource,
    /// Namespace of the object.
    pub namespace: &'a str,
    /// Name of the object.
    pub name: &'a str,
}

/// Checks whether RBAC allows a request. The inner error is a message in the format of the API server.
///
/// # Errors
/// [`DecideError::NotCached`] if roles are not cached yet.
pub fn authorize(
    view: &View,
    account: &ServiceAccount,
    act: &ResourceAttributes<'_>,
) -> Result<Result<(), String>, DecideError> {
    let everywhere = view.list(&CLUSTER_ROLE_BINDINGS, &Selection::all())?;
    for binding in bindings_of(&everywhere, account, "") {
        if allows(view, &binding, "", act)? {
            return Ok(Ok(()));
        }
    }
    let here = match act.namespace.is_empty() {
        true => Vec::new(),
        false => view.list(&ROLE_BINDINGS, &Selection::namespace(act.namespace))?,
    };
    for binding in bindings_of(&here, account, act.namespace) {
        if allows(view, &binding, act.namespace, act)? {
            return Ok(Ok(()));
        }
    }
    Ok(Err(forbidden(account, act)))
}

/// Adds a hint to the message of a forbidden request.
pub fn with_hint(words: &str, account: &ServiceAccount) -> String {
    let ServiceAccount { namespace, name } = account;
    format!(
        "{words}; grant the permission to {namespace}/{name} with a Role and a RoleBinding, or set another account in spec.serviceAccountName"
    )
}

/// Reads all bindings and roles that [`authorize`] reads in a namespace, so that their changes trigger the unit.
///
/// # Errors
/// [`DecideError::NotCached`] if roles are not cached yet.
pub fn watch_roles(view: &View, namespace: &str) -> Result<(), DecideError> {
    view.list(&ROLE_BINDINGS, &Selection::namespace(namespace))?;
    view.list(&ROLES, &Selection::namespace(namespace))?;
    view.list(&CLUSTER_ROLE_BINDINGS, &Selection::all())?;
    Ok(())
}

fn forbidden(account: &ServiceAccount, act: &ResourceAttributes<'_>) -> String {
    let ResourceAttributes { verb, resource, namespace, name } = act;
    let group = &resource.group;
    let place = match namespace.is_empty() {
        true => "at the cluster scope".to_string(),
        false => format!("in the namespace \"{namespace}\""),
    };
    format!(
        "{resource} \"{name}\" is forbidden: User \"{}\" cannot {verb} resource \"{}\" in API group \"{group}\" {place}",
        account.user(),
        resource.plural
    )
}

fn bindings_of(bindings: &[Object], account: &ServiceAccount, namespace: &str) -> Vec<Value> {
    let user = account.user();
    let groups = [
        "system:serviceaccounts".to_string(),
        format!("system:serviceaccounts:{}", account.namespace),
        "system:authenticated".to_string(),
    ];
    let is_meant = |subject: &Value| {
        let name = subject["name"].as_str().unwrap_or_default();
        match subject["kind"].as_str() {
            Some("ServiceAccount") => {
                let of = subject["namespace"].as_str().filter(|of| !of.is_empty()).unwrap_or(namespace);
                name == account.name && of == account.namespace
            }
            Some("User") => name == user || name == "*",
            Some("Group") => groups.iter().any(|group| group == name),
            _ => false,
        }
    };
    let values = bindings.iter().map(Object::value);
    values.filter(|binding| list(&binding["subjects"]).any(is_meant)).collect()
}

fn allows(view: &View, binding: &Value, namespace: &str, act: &ResourceAttributes<'_>) -> Result<bool, DecideError> {
    let name = binding["roleRef"]["name"].as_str().unwrap_or_default();
    let role = match binding["roleRef"]["kind"].as_str() {
        Some("Role") if !namespace.is_empty() => view.get(&ROLES, namespace, name)?,
        Some("ClusterRole") => view.get(&CLUSTER_ROLES, "", name)?,
        _ => None,
    };
    Ok(role.is_some_and(|role| list(&role.value()["rules"]).any(|rule| covers(rule, act))))
}

fn covers(rule: &Value, act: &ResourceAttributes<'_>) -> bool {
    let holds = |field: &str, wanted: &str| list(&rule[field]).any(|one| one == "*" || one == wanted);
    let names: Vec<&Value> = list(&rule["resourceNames"]).collect();
    holds("verbs", act.verb)
        && holds("apiGroups", &act.resource.group)
        && holds("resources", &act.resource.plural)
        && (names.is_empty() || names.iter().any(|one| *one == act.name))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests;
