//! Rows that belong together, read in one view.

use std::collections::BTreeSet;

use switchboard_gitops::fleet::moving;
use switchboard_gitops::flow::operation::REMOVAL;
use switchboard_gitops::flow::tenant::Namespace;
use switchboard_gitops::flow::{credential, deployment, environment, sync_run};
use switchboard_ledger::ids::{
    ApiRelation, ApiResource, ApplicationId, EngineInstanceId, KubernetesRelation, ManagedEnvironmentId, OperationId,
    OperationResource, OperationState, Uid, UserId,
};
use switchboard_ledger::rows::fleet::Move;
use switchboard_ledger::rows::left::{Home, ServiceAccount};
use switchboard_ledger::rows::{
    ApiToDatabase, Application, ApplicationOwner, ClusterAccess, ClusterUser, DeploymentToApplication, EngineInstance,
    KubernetesToDatabase, ManagedEnvironment, Operation, RepositoryCredentials, SyncOperation,
};
use switchboard_ledger::{Filter, Key, LedgerError, View};

type Read<T> = Result<T, LedgerError>;

/// The tenant of a namespace.
///
/// # Errors
/// As reading.
pub async fn user(view: &mut View, namespace: &Uid) -> Read<Option<ClusterUser>> {
    Ok(view.list(&Filter::all().is("user_name", namespace.as_str())).await?.pop())
}

/// The environment that is a tenant's own namespace.
///
/// # Errors
/// As reading.
pub async fn own_environment(view: &mut View, namespace: &Uid) -> Read<Option<KubernetesToDatabase>> {
    let filter = Filter::all()
        .is("kubernetes_resource_uid", namespace.as_str())
        .is("db_relation_type", KubernetesRelation::ManagedEnvironment);
    Ok(view.list(&filter).await?.pop())
}

/// An Argo CD.
///
/// # Errors
/// As reading.
pub async fn instance(view: &mut View, id: &EngineInstanceId) -> Read<Option<EngineInstance>> {
    view.get(&Key::from(id)).await
}

/// Whether an Argo CD is on the cluster that is known by this uid. One whose cluster no uid is known of is taken to be: nobody can tell.
///
/// # Errors
/// As reading.
pub async fn is_at(view: &mut View, instance: &EngineInstance, cluster: &Uid) -> Read<bool> {
    let filter = Filter::all()
        .is("db_relation_type", KubernetesRelation::EngineCluster)
        .is("db_relation_key", instance.cluster.as_str());
    let known: Vec<KubernetesToDatabase> = view.list(&filter).await?;
    Ok(known.is_empty() || known.iter().any(|row| row.resource_uid == *cluster))
}

/// The Argo CD in a namespace of that cluster.
///
/// # Errors
/// As reading.
pub async fn instance_in(view: &mut View, namespace: &str, cluster: &Uid) -> Read<Option<EngineInstance>> {
    for instance in view.list::<EngineInstance>(&Filter::all().is("namespace_name", namespace)).await? {
        if is_at(view, &instance, cluster).await? {
            return Ok(Some(instance));
        }
    }
    Ok(None)
}

/// Operations about a row, of whatever table: ids are never the same.
///
/// # Errors
/// As reading.
pub async fn operations(view: &mut View, resource_id: &str) -> Read<Vec<Operation>> {
    view.list(&Filter::all().is("resource_id", resource_id)).await
}

/// Every Argo CD that knows a tenant: through which it may deploy, or which was asked about something of its own. Rows of the
/// first go with environments, and its project may be there yet.
///
/// # Errors
/// As reading.
pub async fn instances_of(view: &mut View, user: &UserId) -> Read<BTreeSet<EngineInstanceId>> {
    let accesses: Vec<ClusterAccess> = view.list(&Filter::all().is("clusteraccess_user_id", user)).await?;
    let asked: Vec<Operation> = view.list(&Filter::all().is("operation_owner_user_id", user)).await?;
    let accesses = accesses.into_iter().map(|access| access.instance);
    Ok(accesses.chain(asked.into_iter().map(|row| row.instance)).collect())
}

/// One Operation.
///
/// # Errors
/// As reading.
pub async fn operation(view: &mut View, id: &OperationId) -> Read<Option<Operation>> {
    view.get(&Key::from(id)).await
}

/// Operations that remove what a deployment was: one, or one for each Argo CD that may have had it.
///
/// # Errors
/// As reading.
pub async fn removals(view: &mut View, deployment: &Uid) -> Read<Vec<Operation>> {
    let id = deployment::removal_id(deployment);
    let mut all = operations(view, deployment.as_str()).await?;
    if !all.iter().any(|row| row.id == id) {
        all.extend(operation(view, &id).await?);
    }
    Ok(all)
}

/// Every Argo CD.
///
/// # Errors
/// As reading.
pub async fn instances(view: &mut View) -> Read<BTreeSet<EngineInstanceId>> {
    let all: Vec<EngineInstance> = view.list(&Filter::all()).await?;
    Ok(all.into_iter().map(|instance| instance.id).collect())
}

/// Operations that somebody still waits for. Those that are over, and by far the most, are not read.
///
/// # Errors
/// As reading.
pub async fn open_operations(view: &mut View) -> Read<Vec<Operation>> {
    let mut open = view.list(&Filter::all().is("state", OperationState::Waiting)).await?;
    open.extend(view.list::<Operation>(&Filter::all().is("state", OperationState::InProgress)).await?);
    Ok(open)
}

/// Whether the removal of anything that a tenant deployed is under way.
///
/// # Errors
/// As reading.
pub async fn has_open_removal(view: &mut View, user: &UserId) -> Read<bool> {
    let filter = Filter::all()
        .is("operation_owner_user_id", user)
        .is("resource_type", OperationResource::Application)
        .any("state", [OperationState::Waiting, OperationState::InProgress]);
    Ok(view.list::<Operation>(&filter).await?.iter().any(|row| row.id.as_str().starts_with(REMOVAL)))
}

/// Whether anything that uses an environment is on its way from one Argo CD to another.
///
/// # Errors
/// As reading.
pub async fn is_moving(view: &mut View, environment: &ManagedEnvironmentId) -> Read<bool> {
    let moves: Vec<Move> = view.list(&Filter::all().is("move_environment_id", environment)).await?;
    Ok(moves.iter().any(moving::is_open))
}

/// Syncs of a tenant that somebody still waits for.
///
/// # Errors
/// As reading.
pub async fn open_syncs(view: &mut View, user: &UserId) -> Read<Vec<String>> {
    let filter = Filter::all()
        .is("operation_owner_user_id", user)
        .is("resource_type", OperationResource::SyncOperation)
        .any("state", [OperationState::Waiting, OperationState::InProgress]);
    Ok(view.list::<Operation>(&filter).await?.into_iter().map(|row| row.resource_id).collect())
}

/// Whether somebody still waits for it.
pub fn is_open(row: &Operation) -> bool {
    matches!(row.state, OperationState::Waiting | OperationState::InProgress)
}

/// Deployments of a name: of this namespace, and of earlier ones of its name if the database is this backend's alone.
///
/// # Errors
/// As reading.
pub async fn deployments(view: &mut View, of: &Named<'_>) -> Read<Vec<deployment::Known>> {
    let filter = Filter::all().is("name", of.name).is("namespace", of.namespace);
    let mut known = Vec::new();
    for mapping in view.list::<DeploymentToApplication>(&filter).await? {
        if of.takes(view, mapping.namespace_uid.as_ref()).await? {
            known.push(deployment(view, mapping).await?);
        }
    }
    Ok(known)
}

/// All that belongs to a deployment.
///
/// # Errors
/// As reading.
pub async fn deployment(view: &mut View, mapping: DeploymentToApplication) -> Read<deployment::Known> {
    let key = Key::from(&mapping.application);
    let of = |column| Filter::all().is(column, &mapping.application);
    Ok(deployment::Known {
        application: view.get(&key).await?,
        state: view.get(&key).await?,
        owners: view.list(&of("application_owner_application_id")).await?,
        syncs: view.list(&of("application_id")).await?,
        mapping,
    })
}

/// Who is asked about: a resource by its name.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// That namespace, if it is there.
    pub tenant: Option<&'a Namespace>,
    /// Whether other backends keep their tenants in the same database: namespaces of one name may then be several.
    pub shared: bool,
    /// What the tenants' cluster is known by.
    pub cluster: Option<&'a Uid>,
}

impl Named<'_> {
    async fn takes(&self, view: &mut View, namespace: Option<&Uid>) -> Read<bool> {
        if !self.shared || self.tenant.is_some_and(|tenant| namespace == Some(&tenant.uid)) {
            return Ok(true);
        }
        // One that is gone, or was before: it is known which cluster it was on.
        let (Some(namespace), Some(cluster)) = (namespace, self.cluster) else { return Ok(false) };
        match user(view, namespace).await? {
            Some(user) => is_home(view, &user.id, cluster).await,
            None => Ok(false),
        }
    }

    async fn mappings(&self, view: &mut View, resource: ApiResource) -> Read<Vec<ApiToDatabase>> {
        let filter = Filter::all()
            .is("api_resource_type", resource)
            .is("api_resource_name", self.name)
            .is("api_resource_namespace", self.namespace);
        let mut taken = Vec::new();
        for mapping in view.list::<ApiToDatabase>(&filter).await? {
            if self.takes(view, Some(&mapping.namespace_uid)).await? {
                taken.push(mapping);
            }
        }
        Ok(taken)
    }
}

/// Whether a tenant is of this cluster.
///
/// # Errors
/// As reading.
pub async fn is_home(view: &mut View, user: &UserId, cluster: &Uid) -> Read<bool> {
    Ok(view.get::<Home>(&Key::from(user)).await?.is_some_and(|home| home.cluster == *cluster))
}

/// Sync runs of a name.
///
/// # Errors
/// As reading.
pub async fn sync_runs(view: &mut View, of: &Named<'_>) -> Read<Vec<sync_run::Known>> {
    let mut known = Vec::new();
    for mapping in of.mappings(view, ApiResource::SyncRun).await? {
        if let Some(sync) = view.get::<SyncOperation>(&Key::from(mapping.relation_key.as_str())).await? {
            known.push(sync_run::Known { mapping, sync });
        }
    }
    Ok(known)
}

/// Environments of a name, with everything that refers to them.
///
/// # Errors
/// As reading.
pub async fn environments(view: &mut View, of: &Named<'_>) -> Read<Vec<environment::Known>> {
    let mut known = Vec::new();
    for mapping in of.mappings(view, ApiResource::ManagedEnvironment).await? {
        let Some(row) = view.get::<ManagedEnvironment>(&Key::from(mapping.relation_key.as_str())).await? else {
            continue;
        };
        let Some(credentials) = view.get(&Key::from(&row.credentials)).await? else { continue };
        let of = |column| Filter::all().is(column, &row.id);
        known.push(environment::Known {
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

/// Service accounts of ours of environments of a name.
///
/// # Errors
/// As reading.
pub async fn accounts(view: &mut View, of: &Named<'_>) -> Read<Vec<ServiceAccount>> {
    let filter = Filter::all().is("resource_name", of.name).is("resource_namespace", of.namespace);
    let mut taken = Vec::new();
    for account in view.list::<ServiceAccount>(&filter).await? {
        if of.takes(view, Some(&account.namespace_uid)).await? {
            taken.push(account);
        }
    }
    Ok(taken)
}

/// Credentials of a name.
///
/// # Errors
/// As reading.
pub async fn credentials(view: &mut View, of: &Named<'_>) -> Read<Vec<credential::Known>> {
    let mut known = Vec::new();
    for mapping in of.mappings(view, ApiResource::RepositoryCredential).await? {
        let key = Key::from(mapping.relation_key.as_str());
        if let Some(row) = view.get::<RepositoryCredentials>(&key).await? {
            known.push(credential::Known { mapping, row });
        }
    }
    Ok(known)
}

/// The row of an environment's resource.
///
/// # Errors
/// As reading.
pub async fn environment_of(view: &mut View, resource: &Uid) -> Read<Option<ApiToDatabase>> {
    let filter = Filter::all()
        .is("api_resource_type", ApiResource::ManagedEnvironment)
        .is("api_resource_uid", resource.as_str())
        .is("db_relation_type", ApiRelation::ManagedEnvironment);
    Ok(view.list(&filter).await?.pop())
}

/// The resource of an environment's row.
///
/// # Errors
/// As reading.
pub async fn name_of_environment(view: &mut View, id: &str) -> Read<Option<String>> {
    let filter = Filter::all().is("db_relation_type", ApiRelation::ManagedEnvironment).is("db_relation_key", id);
    Ok(view.list::<ApiToDatabase>(&filter).await?.pop().map(|mapping| mapping.name))
}

/// The Application of a deployment.
///
/// # Errors
/// As reading.
pub async fn application_of(view: &mut View, deployment: &Uid) -> Read<Option<Application>> {
    let mapping: Option<DeploymentToApplication> = view.get(&Key::from(deployment)).await?;
    match mapping {
        Some(mapping) => view.get(&Key::from(&mapping.application)).await,
        None => Ok(None),
    }
}

/// Whose an Application is.
///
/// # Errors
/// As reading.
pub async fn owner_of(view: &mut View, application: &ApplicationId) -> Read<Option<ApplicationOwner>> {
    let filter = Filter::all().is("application_owner_application_id", application);
    Ok(view.list(&filter).await?.pop())
}
