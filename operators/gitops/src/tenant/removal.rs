//! Removal of a tenant after its namespace.

use std::collections::BTreeSet;

use crate::ids::{EngineInstanceId, OperationState};
use crate::rows::{
    AppProjectRepository, ClusterAccess, ClusterCredentials, ClusterUser, KubernetesToDatabase, ManagedEnvironment,
    Operation,
};
use switchboard_sql::{DbTimestamp, RowChange};

/// Rows of a tenant without Applications, managed environments and repository credentials.
pub struct TenantRows<'a> {
    /// Tenant.
    pub user: &'a ClusterUser,
    /// Operations of the tenant.
    pub operations: &'a [Operation],
    /// Repositories of the tenant's project.
    pub repositories: &'a [AppProjectRepository],
    /// Argo CD instances that know the tenant.
    pub instances: &'a BTreeSet<EngineInstanceId>,
    /// Accesses of the tenant.
    pub accesses: &'a [ClusterAccess],
    /// Environment of the tenant's own namespace.
    pub own: Option<&'a OwnEnvironmentRows>,
}

/// Rows of the environment of a tenant's own namespace.
pub struct OwnEnvironmentRows {
    /// Mapping from the namespace to the environment.
    pub mapping: KubernetesToDatabase,
    /// Environment.
    pub environment: Option<ManagedEnvironment>,
    /// Credentials of the environment.
    pub credentials: Option<ClusterCredentials>,
    /// Whether Applications refer to the environment.
    pub is_used: bool,
}

/// Removes a tenant whose namespace no longer exists, after its project. Returns whether nothing is left.
///
/// # Guarantees
/// - No Operation remains without its owner: finished ones are deleted with the tenant. // test: guarantees_no_operation_outlives_its_owner
pub fn remove(rows: &TenantRows<'_>, id: impl FnMut() -> String, now: DbTimestamp) -> (Vec<RowChange>, bool) {
    let TenantRows { user, operations, repositories, instances, accesses, own } = rows;
    let is_over = |row: &Operation| matches!(row.state, OperationState::Completed | OperationState::Failed);
    if !operations.iter().all(is_over) {
        return (Vec::new(), false);
    }
    // A project may exist although its check was never requested: managed-gitops creates one for the owner of any
    // Operation.
    let has_check = |instance: &EngineInstanceId| {
        operations.iter().any(|row| row.resource_id == user.id.as_str() && row.instance == *instance)
    };
    if !repositories.is_empty() || !instances.iter().all(has_check) {
        let mut changes: Vec<RowChange> = repositories.iter().map(RowChange::delete).collect();
        changes.extend(super::request_project_checks(&user.id, instances, operations, id, now));
        return (changes, false);
    }
    if own.is_some_and(|own| own.is_used) {
        return (Vec::new(), false);
    }
    let mut changes: Vec<RowChange> = operations.iter().map(RowChange::delete).collect();
    changes.extend(accesses.iter().map(RowChange::delete));
    if let Some(own) = own {
        changes.push(RowChange::delete(&own.mapping));
        changes.extend(own.environment.iter().map(RowChange::delete));
        changes.extend(own.credentials.iter().map(RowChange::delete));
    }
    changes.push(RowChange::delete(*user));
    (changes, true)
}
