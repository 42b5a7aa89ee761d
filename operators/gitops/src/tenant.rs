//! Tenants. A tenant is a namespace, identified by its UID: a recreated namespace is another tenant.

pub mod desired_project;
pub(crate) mod operator;
pub mod project;
mod removal;
pub(crate) mod settled_namespaces;

use std::collections::BTreeSet;

use switchboard_sql::{DbTimestamp, RowChange};

pub use removal::{OwnEnvironmentRows, TenantRows, remove};

use crate::ids::{
    AppProjectRepositoryId, CredentialsId, EngineInstanceId, KubernetesRelation, KubernetesResource,
    ManagedEnvironmentId, OperationId, OperationResource, Uid, UserId,
};
use crate::kinds::field;
use crate::operation::{self, OperationRequest};
use crate::repository::{has_login, is_pattern};
use crate::rows::{
    AppProjectRepository, ClusterAccess, ClusterCredentials, ClusterUser, KubernetesToDatabase, ManagedEnvironment,
    Operation,
};

/// Placeholder in unused credentials of the cluster Argo CD runs on, the same as in managed-gitops.
const PLACEHOLDER_TOKEN: &str = "serviceaccount_bearer_token";

/// Namespace of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantNamespace {
    /// Name of the namespace.
    pub name: String,
    /// UID of the namespace.
    pub uid: Uid,
}

/// Returns the existing or a new row of a namespace's tenant.
pub fn user(
    found: Option<&ClusterUser>,
    namespace: &TenantNamespace,
    id: impl FnOnce() -> UserId,
    now: DbTimestamp,
) -> (ClusterUser, Vec<RowChange>) {
    match found {
        Some(user) if user.display_name.as_deref() == Some(namespace.name.as_str()) => (user.clone(), vec![]),
        // Rows of older managed-gitops versions have no name.
        Some(user) => {
            let named = ClusterUser { display_name: Some(namespace.name.clone()), ..user.clone() };
            (named.clone(), vec![RowChange::update(user, &named)])
        }
        None => {
            let user = ClusterUser {
                id: id(),
                user_name: namespace.uid.as_str().to_string(),
                created_on: now,
                display_name: Some(namespace.name.clone()),
            };
            (user.clone(), vec![RowChange::insert(&user)])
        }
    }
}

/// Requests that every Argo CD instance of a tenant updates its project, whose permissions change in the same
/// transaction.
pub fn request_project_checks(
    user: &UserId,
    instances: &BTreeSet<EngineInstanceId>,
    asked: &[Operation],
    mut id: impl FnMut() -> String,
    now: DbTimestamp,
) -> Vec<RowChange> {
    // No Application has the id of a tenant: the agent finds nothing to deploy and updates the project.
    let (resource, resource_id) = (OperationResource::Application, user.as_str());
    let wish = |instance| OperationRequest { instance, resource, resource_id, owner: user };
    let ask = |instance| operation::request_or_renew(asked, &wish(instance), || OperationId::from(id()), now);
    instances.iter().map(ask).collect()
}

/// Returns the environment of the tenant's own namespace, with the changes that create it if it is new.
pub fn own_environment(
    found: Option<&KubernetesToDatabase>,
    namespace: &TenantNamespace,
    mut id: impl FnMut() -> String,
    now: DbTimestamp,
) -> (ManagedEnvironmentId, Vec<RowChange>) {
    if let Some(mapping) = found {
        return (ManagedEnvironmentId::from(mapping.relation_key.as_str()), vec![]);
    }
    let credentials = ClusterCredentials {
        id: CredentialsId::from(id()),
        host: Some("host".to_string()),
        kube_config: Some("kube_config".into()),
        kube_config_context: Some("kube_config_context".to_string()),
        bearer_token: Some(PLACEHOLDER_TOKEN.into()),
        service_account_namespace: Some("serviceaccount_ns".to_string()),
        allow_insecure: false,
        namespaces: None,
        cluster_resources: false,
        created_on: now,
        ca_data: None,
        client_certificate: None,
        client_key: None,
        own_service_account: false,
        source_digest: None,
    };
    let environment = ManagedEnvironment {
        id: ManagedEnvironmentId::from(id()),
        name: format!("Managed Environment for {}", namespace.name).chars().take(256).collect(),
        credentials: credentials.id.clone(),
        created_on: now,
    };
    let mapping = KubernetesToDatabase {
        resource: KubernetesResource::Namespace,
        resource_uid: namespace.uid.clone(),
        relation: KubernetesRelation::ManagedEnvironment,
        relation_key: environment.id.as_str().to_string(),
    };
    let changes = vec![RowChange::insert(&credentials), RowChange::insert(&environment), RowChange::insert(&mapping)];
    (environment.id, changes)
}

/// Returns the change that gives a tenant access to an environment through an Argo CD instance.
pub fn access(
    user: &UserId,
    environment: &ManagedEnvironmentId,
    instance: &EngineInstanceId,
    now: DbTimestamp,
) -> RowChange {
    RowChange::ensure(&ClusterAccess {
        user: user.clone(),
        environment: environment.clone(),
        instance: instance.clone(),
        created_on: now,
    })
}

/// Aligns the repositories that a tenant's project permits with those of its resources. URLs with a login are invalid
/// and are not added; one that managed-gitops wrote is kept while a resource names it. Patterns are removed, because
/// they permit other repositories.
pub fn repositories(
    user: &UserId,
    rows: &[AppProjectRepository],
    wanted: &BTreeSet<String>,
    mut id: impl FnMut() -> String,
    now: DbTimestamp,
) -> Vec<RowChange> {
    let gone =
        rows.iter().filter(|row| !wanted.contains(&row.repo_url) || is_pattern(&row.repo_url)).map(RowChange::delete);
    let is_allowed = |url: &&String| !has_login(url) && !is_pattern(url);
    let new = wanted.iter().filter(is_allowed).filter(|url| !rows.iter().any(|row| row.repo_url == **url));
    let mut add = |url: &String| {
        RowChange::insert(&AppProjectRepository {
            id: AppProjectRepositoryId::from(id()),
            user: user.clone(),
            repo_url: url.clone(),
            created_on: now,
        })
    };
    let mut changes: Vec<RowChange> = gone.collect();
    // A resource with an invalid URL is rejected elsewhere and must not block the other repositories.
    changes.extend(new.filter(|url| field::validate("", url).is_ok()).map(&mut add));
    changes
}

#[cfg(test)]
mod tests;
