//! Reads of related rows.

use std::collections::BTreeSet;
use std::time::Duration;

use switchboard_sql::{Filter, LedgerError, LedgerView, RowKey};

use crate::ids::{
    ApiRelation, ApiResource, ApplicationId, EngineInstanceId, KubernetesRelation, KubernetesResource,
    ManagedEnvironmentId, OperationId, OperationResource, OperationState, Uid, UserId,
};
use crate::operation::REMOVAL_PREFIX;
use crate::rows::fleet::Move;
use crate::rows::tenant_clusters::{ServiceAccount, TenantCluster};
use crate::rows::{
    ApiToDatabase, Application, ApplicationOwner, ClusterAccess, ClusterUser, DeploymentToApplication, EngineInstance,
    KubernetesToDatabase, ManagedEnvironment, Operation, RepositoryCredentials, SyncOperation,
};
use crate::tenant::TenantNamespace;
use crate::{credential, deployment, environment, moves, sync_run};

/// Delay before rows are read again after a database error.
pub const RETRY_DELAY: Duration = Duration::from_secs(1);

type ReadResult<T> = Result<T, LedgerError>;

/// Returns the tenant of a namespace.
///
/// # Errors
/// When the database fails.
pub async fn user(view: &mut LedgerView, namespace: &Uid) -> ReadResult<Option<ClusterUser>> {
    Ok(view.list(&Filter::all().is("user_name", namespace.as_str())).await?.pop())
}

/// Returns the environment of a tenant's own namespace.
///
/// # Errors
/// When the database fails.
pub async fn own_environment(view: &mut LedgerView, namespace: &Uid) -> ReadResult<Option<KubernetesToDatabase>> {
    let filter = Filter::all()
        .is("kubernetes_resource_type", KubernetesResource::Namespace)
        .is("kubernetes_resource_uid", namespace.as_str())
        .is("db_relation_type", KubernetesRelation::ManagedEnvironment);
    Ok(view.list(&filter).await?.pop())
}

/// Returns an Argo CD instance.
///
/// # Errors
/// When the database fails.
pub async fn instance(view: &mut LedgerView, id: &EngineInstanceId) -> ReadResult<Option<EngineInstance>> {
    view.get(&RowKey::from(id)).await
}

/// Whether an instance is on the cluster with this identity. An instance of a cluster without a known uid counts,
/// because it may be.
///
/// # Errors
/// When the database fails.
pub async fn is_on_cluster(view: &mut LedgerView, instance: &EngineInstance, cluster: &Uid) -> ReadResult<bool> {
    let filter = Filter::all()
        .is("db_relation_type", KubernetesRelation::EngineCluster)
        .is("db_relation_key", instance.cluster.as_str());
    let known: Vec<KubernetesToDatabase> = view.list(&filter).await?;
    Ok(known.is_empty() || known.iter().any(|row| row.resource_uid == *cluster))
}

/// Returns the instance in a namespace of a cluster.
///
/// # Errors
/// When the database fails.
pub async fn instance_in(view: &mut LedgerView, namespace: &str, cluster: &Uid) -> ReadResult<Option<EngineInstance>> {
    for instance in view.list::<EngineInstance>(&Filter::all().is("namespace_name", namespace)).await? {
        if is_on_cluster(view, &instance, cluster).await? {
            return Ok(Some(instance));
        }
    }
    Ok(None)
}

/// Returns the Operations about a row of any table; ids are unique across tables.
///
/// # Errors
/// When the database fails.
pub async fn operations(view: &mut LedgerView, resource_id: &str) -> ReadResult<Vec<Operation>> {
    view.list(&Filter::all().is("resource_id", resource_id)).await
}

/// Returns the instances that know a tenant: those that it may deploy through, and those of its Operations. Accesses
/// are deleted with environments, while the project may still exist.
///
/// # Errors
/// When the database fails.
pub async fn instances_of(view: &mut LedgerView, user: &UserId) -> ReadResult<BTreeSet<EngineInstanceId>> {
    let accesses: Vec<ClusterAccess> = view.list(&Filter::all().is("clusteraccess_user_id", user)).await?;
    let operations: Vec<Operation> = view.list(&Filter::all().is("operation_owner_user_id", user)).await?;
    let accesses = accesses.into_iter().map(|access| access.instance);
    Ok(accesses.chain(operations.into_iter().map(|row| row.instance)).collect())
}

/// Returns an Operation.
///
/// # Errors
/// When the database fails.
pub async fn operation(view: &mut LedgerView, id: &OperationId) -> ReadResult<Option<Operation>> {
    view.get(&RowKey::from(id)).await
}

/// Returns the Operations that remove a deployment: a single one, or one for each instance that may have had it.
///
/// # Errors
/// When the database fails.
pub async fn removals(view: &mut LedgerView, deployment: &Uid) -> ReadResult<Vec<Operation>> {
    let id = deployment::removal_id(deployment);
    let mut all = operations(view, deployment.as_str()).await?;
    if !all.iter().any(|row| row.id == id) {
        all.extend(operation(view, &id).await?);
    }
    Ok(all)
}

/// Returns all instances.
///
/// # Errors
/// When the database fails.
pub async fn instances(view: &mut LedgerView) -> ReadResult<BTreeSet<EngineInstanceId>> {
    let all: Vec<EngineInstance> = view.list(&Filter::all()).await?;
    Ok(all.into_iter().map(|instance| instance.id).collect())
}

/// Returns the open Operations. Finished ones, which are far more, are not read.
///
/// # Errors
/// When the database fails.
pub async fn open_operations(view: &mut LedgerView) -> ReadResult<Vec<Operation>> {
    let mut open = view.list(&Filter::all().is("state", OperationState::Waiting)).await?;
    open.extend(view.list::<Operation>(&Filter::all().is("state", OperationState::InProgress)).await?);
    Ok(open)
}

/// Whether a removal of a tenant's deployment is in progress.
///
/// # Errors
/// When the database fails.
pub async fn has_open_removal(view: &mut LedgerView, user: &UserId) -> ReadResult<bool> {
    let filter = Filter::all()
        .is("operation_owner_user_id", user)
        .is("resource_type", OperationResource::Application)
        .is_any_of("state", [OperationState::Waiting, OperationState::InProgress]);
    Ok(view.list::<Operation>(&filter).await?.iter().any(|row| row.id.as_str().starts_with(REMOVAL_PREFIX)))
}

/// Whether a placement of the environment is being moved.
///
/// # Errors
/// When the database fails.
pub async fn is_moving(view: &mut LedgerView, environment: &ManagedEnvironmentId) -> ReadResult<bool> {
    let moves: Vec<Move> = view.list(&Filter::all().is("move_environment_id", environment)).await?;
    Ok(moves.iter().any(moves::is_open))
}

/// Returns the open syncs of a tenant.
///
/// # Errors
/// When the database fails.
pub async fn open_syncs(view: &mut LedgerView, user: &UserId) -> ReadResult<Vec<String>> {
    let filter = Filter::all()
        .is("operation_owner_user_id", user)
        .is("resource_type", OperationResource::SyncOperation)
        .is_any_of("state", [OperationState::Waiting, OperationState::InProgress]);
    Ok(view.list::<Operation>(&filter).await?.into_iter().map(|row| row.resource_id).collect())
}

/// Whether the Operation has not finished.
pub fn is_open(row: &Operation) -> bool {
    matches!(row.state, OperationState::Waiting | OperationState::InProgress)
}

/// Returns the deployments of a name, including those of earlier namespaces of the same name if the database is not
/// shared.
///
/// # Errors
/// When the database fails.
pub async fn deployments(
    view: &mut LedgerView,
    of: &TenantResource<'_>,
) -> ReadResult<Vec<deployment::DeploymentRows>> {
    let filter = Filter::all().is("name", of.name).is("namespace", of.namespace);
    let mut known = Vec::new();
    for mapping in view.list::<DeploymentToApplication>(&filter).await? {
        if of.includes(view, mapping.namespace_uid.as_ref()).await? {
            known.push(deployment(view, mapping).await?);
        }
    }
    Ok(known)
}

/// Returns all rows of a deployment.
///
/// # Errors
/// When the database fails.
pub async fn deployment(
    view: &mut LedgerView,
    mapping: DeploymentToApplication,
) -> ReadResult<deployment::DeploymentRows> {
    let key = RowKey::from(&mapping.application);
    let of = |column| Filter::all().is(column, &mapping.application);
    Ok(deployment::DeploymentRows {
        application: view.get(&key).await?,
        state: view.get(&key).await?,
        owners: view.list(&of("application_owner_application_id")).await?,
        syncs: view.list(&of("application_id")).await?,
        mapping,
    })
}

/// Resource of a tenant, by name.
#[derive(Clone, Copy, Debug)]
pub struct TenantResource<'a> {
    /// Namespace of the resource.
    pub namespace: &'a str,
    /// Name of the resource.
    pub name: &'a str,
    /// The namespace, if it exists.
    pub tenant: Option<&'a TenantNamespace>,
    /// Whether other backends keep their tenants in the same database, so that namespaces of the same name may be
    /// several.
    pub shared_database: bool,
    /// Identity of the tenants' cluster.
    pub cluster: Option<&'a Uid>,
}

impl TenantResource<'_> {
    async fn includes(&self, view: &mut LedgerView, namespace: Option<&Uid>) -> ReadResult<bool> {
        if !self.shared_database || self.tenant.is_some_and(|tenant| namespace == Some(&tenant.uid)) {
            return Ok(true);
        }
        // For a deleted or an earlier namespace, the cluster of the tenant is known.
        let (Some(namespace), Some(cluster)) = (namespace, self.cluster) else { return Ok(false) };
        match user(view, namespace).await? {
            Some(user) => is_tenant_of_cluster(view, &user.id, cluster).await,
            None => Ok(false),
        }
    }

    async fn mappings(&self, view: &mut LedgerView, resource: ApiResource) -> ReadResult<Vec<ApiToDatabase>> {
        let filter = Filter::all()
            .is("api_resource_type", resource)
            .is("api_resource_name", self.name)
            .is("api_resource_namespace", self.namespace);
        let mut taken = Vec::new();
        for mapping in view.list::<ApiToDatabase>(&filter).await? {
            if self.includes(view, Some(&mapping.namespace_uid)).await? {
                taken.push(mapping);
            }
        }
        Ok(taken)
    }
}

/// Whether a tenant belongs to this cluster.
///
/// # Errors
/// When the database fails.
pub async fn is_tenant_of_cluster(view: &mut LedgerView, user: &UserId, cluster: &Uid) -> ReadResult<bool> {
    Ok(view.get::<TenantCluster>(&RowKey::from(user)).await?.is_some_and(|home| home.cluster == *cluster))
}

/// Returns the sync runs of a name.
///
/// # Errors
/// When the database fails.
pub async fn sync_runs(view: &mut LedgerView, of: &TenantResource<'_>) -> ReadResult<Vec<sync_run::SyncRunRows>> {
    let mut known = Vec::new();
    for mapping in of.mappings(view, ApiResource::SyncRun).await? {
        if let Some(sync) = view.get::<SyncOperation>(&RowKey::from(mapping.relation_key.as_str())).await? {
            known.push(sync_run::SyncRunRows { mapping, sync });
        }
    }
    Ok(known)
}

/// Returns the environments of a name, with all rows that refer to them.
///
/// # Errors
/// When the database fails.
pub async fn environments(
    view: &mut LedgerView,
    of: &TenantResource<'_>,
) -> ReadResult<Vec<environment::EnvironmentRows>> {
    let mut known = Vec::new();
    for mapping in of.mappings(view, ApiResource::ManagedEnvironment).await? {
        let Some(row) = view.get::<ManagedEnvironment>(&RowKey::from(mapping.relation_key.as_str())).await? else {
            continue;
        };
        let Some(credentials) = view.get(&RowKey::from(&row.credentials)).await? else { continue };
        let of = |column| Filter::all().is(column, &row.id);
        known.push(environment::EnvironmentRows {
            mapping,
            credentials,
            permissions: view.list(&of("managed_environment_id")).await?,
            accesses: view.list(&of("clusteraccess_managed_environment_id")).await?,
            applications: view.list(&of("managed_environment_id")).await?,
            environment: row,
        });
    }
    Ok(known)
}

/// Returns the created service accounts of the environments of a name.
///
/// # Errors
/// When the database fails.
pub async fn accounts(view: &mut LedgerView, of: &TenantResource<'_>) -> ReadResult<Vec<ServiceAccount>> {
    let filter = Filter::all().is("resource_name", of.name).is("resource_namespace", of.namespace);
    let mut taken = Vec::new();
    for account in view.list::<ServiceAccount>(&filter).await? {
        if of.includes(view, Some(&account.namespace_uid)).await? {
            taken.push(account);
        }
    }
    Ok(taken)
}

/// Returns the repository credentials of a name.
///
/// # Errors
/// When the database fails.
pub async fn credentials(
    view: &mut LedgerView,
    of: &TenantResource<'_>,
) -> ReadResult<Vec<credential::CredentialRows>> {
    let mut known = Vec::new();
    for mapping in of.mappings(view, ApiResource::RepositoryCredential).await? {
        let key = RowKey::from(mapping.relation_key.as_str());
        if let Some(row) = view.get::<RepositoryCredentials>(&key).await? {
            known.push(credential::CredentialRows { mapping, row });
        }
    }
    Ok(known)
}

/// Returns the mapping of an environment's resource to its row.
///
/// # Errors
/// When the database fails.
pub async fn environment_of(view: &mut LedgerView, resource: &Uid) -> ReadResult<Option<ApiToDatabase>> {
    let filter = Filter::all()
        .is("api_resource_type", ApiResource::ManagedEnvironment)
        .is("api_resource_uid", resource.as_str())
        .is("db_relation_type", ApiRelation::ManagedEnvironment);
    Ok(view.list(&filter).await?.pop())
}

/// Returns the name of the resource of an environment's row.
///
/// # Errors
/// When the database fails.
pub async fn name_of_environment(view: &mut LedgerView, id: &str) -> ReadResult<Option<String>> {
    let filter = Filter::all().is("db_relation_type", ApiRelation::ManagedEnvironment).is("db_relation_key", id);
    Ok(view.list::<ApiToDatabase>(&filter).await?.pop().map(|mapping| mapping.name))
}

/// Returns the Application of a deployment.
///
/// # Errors
/// When the database fails.
pub async fn application_of(view: &mut LedgerView, deployment: &Uid) -> ReadResult<Option<Application>> {
    let mapping: Option<DeploymentToApplication> = view.get(&RowKey::from(deployment)).await?;
    match mapping {
        Some(mapping) => view.get(&RowKey::from(&mapping.application)).await,
        None => Ok(None),
    }
}

/// Returns the owner of an Application.
///
/// # Errors
/// When the database fails.
pub async fn owner_of(view: &mut LedgerView, application: &ApplicationId) -> ReadResult<Option<ApplicationOwner>> {
    let filter = Filter::all().is("application_owner_application_id", application);
    Ok(view.list(&filter).await?.pop())
}
