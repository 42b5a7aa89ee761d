//! The project of a tenant, for whoever makes it: the agent, and a move that takes it along.

use serde_json::Value;
use switchboard_gitops::argo::{new_namespace, project};
use switchboard_ledger::ids::{Uid, UserId};
use switchboard_ledger::rows::{Application, ClusterUser};
use switchboard_ledger::{Filter, Key, LedgerError, View};

use crate::rows;

/// The project of a tenant as it should be in a namespace; none for a tenant with nothing to deploy from or to. With `looks`, with the
/// namespaces that its deployments ask for: that takes all of them.
///
/// # Errors
/// As reading.
pub async fn wanted(
    view: &mut View,
    user: &UserId,
    namespace: &str,
    looks: bool,
) -> Result<Option<Value>, LedgerError> {
    let of_user = Filter::all().is("clusteruser_id", user);
    let (repositories, environments) = (view.list(&of_user).await?, view.list(&of_user).await?);
    if repositories.is_empty() && environments.is_empty() {
        return Ok(None);
    }
    let tenant: Option<ClusterUser> = view.get(&Key::from(user)).await?;
    let own = match &tenant {
        Some(tenant) => rows::own_environment(view, &Uid::from(tenant.user_name.as_str())).await?,
        None => None,
    };
    // Only who deploys to its own namespace may: the name of a namespace of another cluster says nothing about this one.
    let own: Vec<String> =
        tenant.filter(|_| own.is_some()).and_then(|tenant| tenant.display_name).into_iter().collect();
    let project = project::object(user, namespace, &repositories, &environments, &own);
    let used = environments.iter().map(|row| &row.environment);
    let applications: Vec<Application> = match looks && own.is_empty() && !environments.is_empty() {
        true => view.list(&Filter::all().any("managed_environment_id", used)).await?,
        false => Vec::new(),
    };
    Ok(Some(new_namespace::permitted(project, &applications)))
}
