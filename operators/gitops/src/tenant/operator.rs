//! Units of namespaces, each of which may be a tenant. The permissions of a tenant's project follow from all of its
//! resources. What is left of a tenant is deleted after its namespace.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};
use switchboard_kernel::operator::{AccessRule, DecideError, Declaration, Operator, Unit, Units};
use switchboard_kernel::plan::{Plan, UnitStatus};
use switchboard_kernel::resource::{Resource, Selection};
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::{Question, View};
use switchboard_sql::{DbTimestamp, Filter, RowChange, RowKey};

use crate::backend::{Backend, TENANTS_NAME};
use crate::error::ServiceError;
use crate::ids::Uid;
use crate::repository::normalize;
use crate::request::{self, stamp, text};
use crate::resources::{CREDENTIALS, DEPLOYMENTS, NAMESPACES};
use crate::rows::tenant_clusters::{ServiceAccount, TenantCluster};
use crate::rows::{
    AppProjectManagedEnvironment, AppProjectRepository, Application, ApplicationOwner, ClusterAccess, ClusterUser,
    ManagedEnvironment, Operation, RepositoryCredentials,
};
use crate::tenant::{self, OwnEnvironmentRows, TenantRows};
use crate::{random_id, related_rows};

/// Operator of namespaces.
#[derive(Clone)]
pub struct Tenants(pub Backend);

#[derive(Clone, Serialize)]
struct TenantRequest {
    now: String,
    stamp: String,
    namespace: String,
    /// Uid of the namespace; `None` if it is deleted or terminating.
    uid: Option<String>,
    /// Whether the namespace still exists.
    exists: bool,
    /// Repositories of the namespace's credentials.
    credentials: BTreeSet<String>,
    /// Repositories of the namespace's deployments, if they were read.
    deployments: Option<DeploymentRepositories>,
}

/// Repositories of all deployments of a namespace.
#[derive(Clone, Serialize)]
struct DeploymentRepositories {
    repositories: BTreeSet<String>,
    /// Number of marks when they were requested.
    marks: u64,
}

impl Question for TenantRequest {
    type Answer = TenantResponse;
    const KIND: &'static str = "gitops-tenant";
}

/// Response to a unit.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TenantResponse {
    plan: Plan,
    /// Number of marks, if the unit must read all deployments and request again.
    read_deployments: Option<u64>,
}

impl Operator for Tenants {
    fn name(&self) -> &str {
        TENANTS_NAME
    }

    fn declaration(&self) -> Declaration {
        let inputs: BTreeSet<AccessRule> = [&DEPLOYMENTS, &CREDENTIALS].into_iter().map(AccessRule::every).collect();
        let units =
            Units::Each { cluster_type: ClusterType::Configuration, resource: NAMESPACES, selection: Selection::all() };
        Declaration { inputs, outputs: BTreeSet::new(), service_account: None, units }
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let found = view.get(&NAMESPACES, "", unit.name())?.map(|object| object.value());
        let exists = found.is_some();
        let live = found.filter(|found| found["metadata"]["deletionTimestamp"].is_null());
        let mut request = TenantRequest {
            now: view.now().to_string(),
            stamp: stamp(view),
            namespace: unit.name().to_string(),
            uid: live.map(|live| text(&live, "/metadata/uid")),
            exists,
            credentials: repositories_of(view, unit.name(), &CREDENTIALS, "/spec/repository")?,
            deployments: None,
        };
        let query = |request: &TenantRequest| {
            view.ask(request.clone(), |request| self.call(request)).map_err(DecideError::Failed)
        };
        let response = query(&request)?;
        // Objects that are not read do not trigger the unit: deployments only count while there is something to
        // compare.
        let Some(marks) = response.read_deployments else { return Ok(response.plan) };
        let repositories = repositories_of(view, unit.name(), &DEPLOYMENTS, "/spec/source/repoURL")?;
        request.deployments = Some(DeploymentRepositories { repositories, marks });
        Ok(query(&request)?.plan)
    }
}

/// Returns the repositories that resources of a namespace refer to.
fn repositories_of(
    view: &View,
    namespace: &str,
    kind: &Resource,
    pointer: &str,
) -> Result<BTreeSet<String>, DecideError> {
    let mut into = BTreeSet::new();
    for object in view.list(kind, &Selection::namespace(namespace))? {
        let object = object.value();
        if object["metadata"]["deletionTimestamp"].is_null() {
            into.insert(normalize(&text(&object, pointer)));
        }
    }
    Ok(into)
}

impl Tenants {
    fn call(&self, request: TenantRequest) -> Result<TenantResponse, String> {
        let this = self.clone();
        self.0.store().block_on(async move || this.answer(&request).await)
    }

    /// Answers a request. A settled namespace takes no query.
    async fn answer(&self, request: &TenantRequest) -> Result<TenantResponse, ServiceError> {
        let mut hasher = DefaultHasher::new();
        (&request.uid, request.exists, &request.credentials).hash(&mut hasher);
        let (namespace, fingerprint) = (&request.namespace, hasher.finish());
        let Some(all) = &request.deployments else {
            return Ok(TenantResponse {
                read_deployments: self.0.settled().check(namespace, fingerprint),
                ..TenantResponse::default()
            });
        };
        let desired: BTreeSet<String> = all.repositories.union(&request.credentials).cloned().collect();
        let decided = self.0.store().transact(async |view| self.decide_on(view, request, &desired).await);
        let TenantDecision { plan, is_tenant, is_changed } = decided.await?;
        // The first row of a tenant triggers the unit when it is written. After a change the namespace stays unsettled:
        // a deployment that was created meanwhile may have relied on the changed row.
        let is_complete = is_tenant || desired.is_empty();
        if is_complete && !is_changed && plan.status == UnitStatus::Ready {
            self.0.settled().settle(namespace, fingerprint, all.marks, request.uid.is_some());
        }
        Ok(TenantResponse { plan, read_deployments: None })
    }

    async fn decide_on(
        &self,
        view: &mut switchboard_sql::LedgerView,
        request: &TenantRequest,
        desired: &BTreeSet<String>,
    ) -> Result<(Vec<RowChange>, TenantDecision), ServiceError> {
        let now = request::now(&request.now, &request.stamp)?.timestamp;
        let mut changes = Vec::new();
        let (mut plan, mut is_tenant) = (Plan::nothing(), false);
        if let Some(uid) = &request.uid
            && let Some(user) = related_rows::user(view, &Uid::from(uid.as_str())).await?
        {
            update_project(view, &user, desired, now, &mut changes).await?;
            is_tenant = true;
            if let Some(cluster) = self.0.settings().cluster.as_ref().filter(|_| self.0.settings().shared_database)
                && !related_rows::is_tenant_of_cluster(view, &user.id, cluster).await?
            {
                changes.push(RowChange::put(&TenantCluster { user: user.id.clone(), cluster: cluster.clone() }));
            }
        }
        let filter = Filter::all().is("display_name", request.namespace.as_str());
        let users: Vec<ClusterUser> = view.list(&filter).await?;
        for user in users.iter().filter(|user| request.uid.as_ref() != Some(&user.user_name)) {
            if !self.is_ours(view, user).await? {
                continue;
            }
            if request.uid.is_none() && request.exists {
                // Finalizers of the tenant's resources may still need its rows.
                plan = plan.waiting("the namespace to be deleted");
            } else if !self.remove_tenant(view, user, now, &mut changes).await? {
                // The kernel forgets a unit without an object when it is ready or waiting, but not when it is failing.
                plan = plan.failing("some rows of the deleted tenant still exist");
            }
        }
        let is_changed = !changes.is_empty();
        Ok((changes, TenantDecision { plan, is_tenant, is_changed }))
    }
}

/// Decision about a namespace.
struct TenantDecision {
    plan: Plan,
    /// Whether the namespace has a row.
    is_tenant: bool,
    /// Whether rows change.
    is_changed: bool,
}

impl Tenants {
    /// Whether a tenant of that name belongs to this backend.
    async fn is_ours(&self, view: &mut switchboard_sql::LedgerView, user: &ClusterUser) -> Result<bool, ServiceError> {
        let settings = self.0.settings();
        match &settings.cluster {
            _ if !settings.shared_database => Ok(true),
            Some(cluster) => Ok(related_rows::is_tenant_of_cluster(view, &user.id, cluster).await?),
            None => Ok(false),
        }
    }

    /// Removes a tenant like [`remove_tenant`]. With a shared database, the owner of a service account is known by its
    /// tenant only, so the tenant stays until the account is removed.
    async fn remove_tenant(
        &self,
        view: &mut switchboard_sql::LedgerView,
        user: &ClusterUser,
        now: DbTimestamp,
        changes: &mut Vec<RowChange>,
    ) -> Result<bool, ServiceError> {
        if self.0.settings().shared_database {
            let of_user = Filter::all().is("resource_namespace_uid", user.user_name.as_str()).limit(1);
            if !view.list::<ServiceAccount>(&of_user).await?.is_empty() {
                return Ok(false);
            }
        }
        remove_tenant(view, user, now, changes).await
    }
}

/// Updates the repositories of a tenant to those of its resources, and requests a check of the project from every
/// instance of the tenant.
async fn update_project(
    view: &mut switchboard_sql::LedgerView,
    user: &ClusterUser,
    desired: &BTreeSet<String>,
    now: DbTimestamp,
    changes: &mut Vec<RowChange>,
) -> Result<(), ServiceError> {
    let rows: Vec<AppProjectRepository> = view.list(&Filter::all().is("clusteruser_id", &user.id)).await?;
    changes.extend(tenant::repositories(&user.id, &rows, desired, random_id::new, now));
    if !changes.is_empty() {
        let operations = related_rows::operations(view, user.id.as_str()).await?;
        let instances = related_rows::instances_of(view, &user.id).await?;
        changes.extend(tenant::request_project_checks(&user.id, &instances, &operations, random_id::new, now));
    }
    Ok(())
}

/// Removes a tenant of which nothing is left, after its project. Returns false if something is left.
async fn remove_tenant(
    view: &mut switchboard_sql::LedgerView,
    user: &ClusterUser,
    now: DbTimestamp,
    changes: &mut Vec<RowChange>,
) -> Result<bool, ServiceError> {
    let of = |column| Filter::all().is(column, &user.id);
    let applications: Vec<ApplicationOwner> = view.list(&of("application_owner_user_id").limit(1)).await?;
    let environments: Vec<AppProjectManagedEnvironment> = view.list(&of("clusteruser_id").limit(1)).await?;
    let credentials: Vec<RepositoryCredentials> = view.list(&of("repo_cred_user_id").limit(1)).await?;
    if !applications.is_empty() || !environments.is_empty() || !credentials.is_empty() {
        return Ok(false);
    }
    let own = own_environment(view, user).await?;
    let rows = TenantRows {
        user,
        operations: &view.list::<Operation>(&of("operation_owner_user_id")).await?,
        repositories: &view.list::<AppProjectRepository>(&of("clusteruser_id")).await?,
        instances: &related_rows::instances_of(view, &user.id).await?,
        accesses: &view.list::<ClusterAccess>(&of("clusteraccess_user_id")).await?,
        own: own.as_ref(),
    };
    let (removal, is_removed) = tenant::remove(&rows, random_id::new, now);
    changes.extend(removal);
    Ok(is_removed)
}

/// Returns the environment of a tenant's own namespace.
async fn own_environment(
    view: &mut switchboard_sql::LedgerView,
    user: &ClusterUser,
) -> Result<Option<OwnEnvironmentRows>, ServiceError> {
    let Some(mapping) = related_rows::own_environment(view, &Uid::from(user.user_name.as_str())).await? else {
        return Ok(None);
    };
    let key = mapping.relation_key.as_str();
    let environment: Option<ManagedEnvironment> = view.get(&RowKey::from(key)).await?;
    let credentials = match &environment {
        Some(environment) => view.get(&RowKey::from(&environment.credentials)).await?,
        None => None,
    };
    let of_environment = Filter::all().is("managed_environment_id", key).limit(1);
    let is_used = !view.list::<Application>(&of_environment).await?.is_empty();
    Ok(Some(OwnEnvironmentRows { mapping, environment, credentials, is_used }))
}
