//! Desired project of a tenant, for the agent and for moves.

use serde_json::Value;
use switchboard_sql::{Filter, LedgerError, LedgerView, RowKey};

use crate::deployment::new_namespace;
use crate::ids::{Uid, UserId};
use crate::related_rows;
use crate::rows::{Application, ClusterUser};
use crate::tenant::project;

/// Returns the desired project of a tenant for a namespace; `None` for a tenant without repositories and environments.
/// With `with_namespaces`, all deployments are read and the namespaces they request are permitted.
///
/// # Errors
/// When the database fails.
pub async fn desired_project(
    view: &mut LedgerView,
    user: &UserId,
    namespace: &str,
    with_namespaces: bool,
) -> Result<Option<Value>, LedgerError> {
    let of_user = Filter::all().is("clusteruser_id", user);
    let (repositories, environments) = (view.list(&of_user).await?, view.list(&of_user).await?);
    if repositories.is_empty() && environments.is_empty() {
        return Ok(None);
    }
    let tenant: Option<ClusterUser> = view.get(&RowKey::from(user)).await?;
    let own = match &tenant {
        Some(tenant) => related_rows::own_environment(view, &Uid::from(tenant.user_name.as_str())).await?,
        None => None,
    };
    // Only tenants that deploy to their own namespace may do so: a namespace of the same name on another cluster is not
    // the tenant's.
    let own: Vec<String> =
        tenant.filter(|_| own.is_some()).and_then(|tenant| tenant.display_name).into_iter().collect();
    let project = project::object(user, namespace, &repositories, &environments, &own);
    let used = environments.iter().map(|row| &row.environment);
    let applications: Vec<Application> = match with_namespaces && own.is_empty() && !environments.is_empty() {
        true => view.list(&Filter::all().is_any_of("managed_environment_id", used)).await?,
        false => Vec::new(),
    };
    Ok(Some(new_namespace::permit_namespaces(project, &applications)))
}
