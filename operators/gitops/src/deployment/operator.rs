//! Units of GitOpsDeployments.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use switchboard_kernel::operator::{DecideError, Declaration, Operator, Unit};
use switchboard_kernel::plan::{Plan, UnitStatus};
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::View;
use switchboard_sql::{Filter, Row, RowChange, RowKey, Table};

use super::unplaced;
use crate::argocd::application_name;
use crate::backend::{Backend, DEPLOYMENTS_NAME, declared};
use crate::deployment::{self, DeploymentInput, DeploymentRows, TargetEnvironment, removal_id, status};
use crate::environment::kind::CONDITION;
use crate::error::ServiceError;
use crate::ids::{EngineInstanceId, ManagedEnvironmentId, OperationId, Uid, UserId};
use crate::kinds::GitOpsDeployment;
use crate::operation::notify;
use crate::placement::NoCapacity;
use crate::placement::selection::{self, PlacedInstance};
use crate::repository::normalize;
use crate::request::{UnitRequest, text};
use crate::resources::{DEPLOYMENTS, ENVIRONMENTS};
use crate::rows::{AppProjectRepository, Application, ClusterUser, EngineInstance, Operation};
use crate::store::run_blocking_if_large;
use crate::tenant::{self, TenantNamespace};
use crate::writes::mutation;
use crate::{random_id, related_rows};

/// Delay until the missing rows of a connected environment are checked again.
const ENVIRONMENT_RECHECK_DELAY: Duration = Duration::from_secs(1);

/// Operator of GitOpsDeployments.
#[derive(Clone)]
pub struct Deployments(pub Backend);

impl Operator for Deployments {
    fn name(&self) -> &str {
        DEPLOYMENTS_NAME
    }

    fn declaration(&self) -> Declaration {
        declared(&DEPLOYMENTS)
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let live = view.get(&DEPLOYMENTS, unit.namespace(), unit.name())?.map(|object| object.value());
        let wanted = live.as_ref().map(|live| text(live, "/spec/destination/environment")).unwrap_or_default();
        let mut request = UnitRequest::of(unit, view, live)?;
        if !wanted.is_empty() {
            // The status is read as well: it shows whether the environment can be used.
            request.referenced = view.get(&ENVIRONMENTS, unit.namespace(), &wanted)?.map(|object| object.value());
        }
        request.query(view, |request| self.call(request))
    }
}

/// Target of a deployment, according to the rows.
enum DeploymentTarget {
    Own(ManagedEnvironmentId),
    Of(ManagedEnvironmentId),
    Unusable,
}

/// Rows that a decision is based on.
struct DeploymentInputs {
    user: ClusterUser,
    known: Vec<DeploymentRows>,
    target: DeploymentTarget,
    instance: Option<Result<PlacedInstance, NoCapacity>>,
    operations: Vec<Operation>,
    instances: BTreeSet<EngineInstanceId>,
    repositories: Vec<AppProjectRepository>,
    compared_environment: Option<String>,
}

impl Deployments {
    pub(super) fn call(&self, request: UnitRequest) -> Result<Plan, String> {
        let (this, request) = (self.clone(), Arc::new(request));
        let question = Arc::clone(&request);
        let plan = self.0.store().block_on(async move || this.answer(&question).await)?;
        self.0.0.failing.record(&request, &plan);
        Ok(plan)
    }

    async fn answer(&self, request: &UnitRequest) -> Result<Plan, ServiceError> {
        let live: Option<GitOpsDeployment> = request.typed()?;
        let removal =
            live.as_ref().filter(|live| live.metadata.is_deleted()).map(|live| removal_id(&live.metadata.id()));
        if let Some(removal) = &removal {
            // Recorded before any row is read, so that an Operation that finishes afterwards triggers the unit.
            self.0.removals().insert(removal.clone(), Unit::object(&request.namespace, &request.name));
        }
        let decided = self.0.store().transact(async |view| self.decide_on(view, request, live.as_ref()).await);
        let (plan, may_leave_unreferenced) = decided.await?;
        let plan = self.0.0.unplaced.record(Unit::object(&request.namespace, &request.name), plan);
        if let Some(removal) = removal.filter(|_| plan.status == UnitStatus::Ready) {
            self.0.removals().remove(&removal);
        }
        if may_leave_unreferenced {
            self.0.settled().mark(&request.namespace);
        }
        Ok(plan)
    }

    async fn decide_on(
        &self,
        view: &mut switchboard_sql::LedgerView,
        request: &UnitRequest,
        live: Option<&GitOpsDeployment>,
    ) -> Result<(Vec<RowChange>, (Plan, bool)), ServiceError> {
        let now = request.now()?;
        let tenant = request.tenant();
        let wanted = live.filter(|live| !live.metadata.is_deleted());
        let known = related_rows::deployments(view, &self.0.resource_ref(request, tenant.as_ref())).await?;
        let removals = self.await_removals(request, &known, wanted);
        let found = self.user(view, tenant.as_ref(), &known).await?;
        let (user, tenant_changes) = match (found, &tenant) {
            (Some(user), None) => (user, Vec::new()),
            (found, Some(namespace)) if found.is_some() || live.is_some() => {
                tenant::user(found.as_ref(), namespace, || UserId::from(random_id::new()), now.timestamp)
            }
            // A recreated namespace has no rows yet; existing rows belong to an earlier namespace of the same name.
            (None, Some(_)) if !known.is_empty() => match self.user(view, None, &known).await? {
                Some(earlier) => (earlier, Vec::new()),
                None => return Ok((vec![], (Plan::nothing(), true))),
            },
            // There is nothing to do, or the owner is unknown.
            _ => return Ok((vec![], (Plan::nothing(), true))),
        };
        let mut target_changes = Vec::new();
        let rows = self.rows(view, request, wanted, user, known, tenant.as_ref(), &mut target_changes).await?;
        let instance = match rows.instance {
            Some(Ok((instance, placed))) => {
                target_changes.extend(placed);
                instance
            }
            Some(Err(full)) => {
                return Ok((tenant_changes, (unplaced::waiting_plan(&full), rows.repositories.is_empty())));
            }
            None => no_instance(),
        };
        let nowhere = TenantNamespace { name: request.namespace.clone(), uid: Uid::from("") };
        let urls: BTreeSet<String> = wanted.iter().map(|live| normalize(&live.spec.source.repo_url)).collect();
        let decision = deployment::decide(
            &DeploymentInput {
                now,
                namespace: tenant.as_ref().unwrap_or(&nowhere),
                user: &rows.user,
                tenant_changes: &tenant_changes,
                deployment: live,
                rows: &rows.known,
                environment: match &rows.target {
                    DeploymentTarget::Own(id) => TargetEnvironment::OwnNamespace(id),
                    DeploymentTarget::Of(id) => TargetEnvironment::Managed(id),
                    DeploymentTarget::Unusable => TargetEnvironment::Unusable,
                },
                instance: &instance,
                target_changes: &target_changes,
                operations: &rows.operations,
                instances: &rows.instances,
                repositories: &rows.repositories,
                wanted_repositories: &urls,
                compared_environment: rows.compared_environment.as_deref(),
                isolated: self.0.settings().isolated,
            },
            random_id::new,
        );
        let open = notify::open_after(&rows.operations, &decision.changes);
        if open.is_empty() {
            removals.iter().for_each(|removal| drop(self.0.removals().remove(removal)));
        }
        let mut plan = Plan::ordered();
        let writes = decision.writes.into_iter();
        plan.mutations.extend(writes.filter_map(|w| mutation(w, request.object.as_ref(), ClusterType::Configuration)));
        let overdue = notify::until_overdue_ms(&open, now.timestamp);
        plan.requeue_after =
            [decision.requeue_after_ms, overdue].into_iter().flatten().min().map(Duration::from_millis);
        if matches!(rows.target, DeploymentTarget::Unusable) && request.referenced.as_ref().is_some_and(is_connected) {
            // The rows were lost and are about to be recreated; the environment's status does not show it.
            plan = plan.requeue_after(ENVIRONMENT_RECHECK_DELAY);
        }
        let may_leave_unreferenced = wanted.is_none() || may_leave_unreferenced(&decision.changes, &rows.repositories);
        let plan = if open.is_empty() { plan } else { plan.waiting("the agent") };
        Ok((decision.changes, (plan, may_leave_unreferenced)))
    }

    /// Records the removals of a deleted deployment, so that the unit runs when their Operations finish: its rows, which
    /// name the unit, are deleted with it.
    fn await_removals(
        &self,
        request: &UnitRequest,
        known: &[DeploymentRows],
        wanted: Option<&GitOpsDeployment>,
    ) -> Vec<OperationId> {
        if wanted.is_some() {
            return Vec::new();
        }
        let removals: Vec<OperationId> = known.iter().map(|known| removal_id(&known.mapping.deployment_uid)).collect();
        let unit = Unit::object(&request.namespace, &request.name);
        self.0.removals().extend(removals.iter().map(|removal| (removal.clone(), unit.clone())));
        removals
    }

    /// Returns the tenant of an existing namespace, or the owner according to the rows.
    async fn user(
        &self,
        view: &mut switchboard_sql::LedgerView,
        tenant: Option<&TenantNamespace>,
        known: &[DeploymentRows],
    ) -> Result<Option<ClusterUser>, ServiceError> {
        // A recreated namespace is another tenant, whatever the rows of the same name contain.
        if let Some(tenant) = tenant {
            return Ok(related_rows::user(view, &tenant.uid).await?);
        }
        match known.iter().flat_map(|known| &known.owners).next() {
            Some(owner) => Ok(view.get(&RowKey::from(&owner.user)).await?),
            None => Ok(None),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what was read so far, each once")]
    async fn rows(
        &self,
        view: &mut switchboard_sql::LedgerView,
        request: &UnitRequest,
        wanted: Option<&GitOpsDeployment>,
        user: ClusterUser,
        known: Vec<DeploymentRows>,
        tenant: Option<&TenantNamespace>,
        changes: &mut Vec<RowChange>,
    ) -> Result<DeploymentInputs, ServiceError> {
        let target = match (wanted, tenant) {
            (Some(wanted), Some(tenant)) => self.target(view, request, wanted, tenant, changes).await?,
            _ => DeploymentTarget::Unusable,
        };
        let environment = match &target {
            DeploymentTarget::Own(id) | DeploymentTarget::Of(id) => Some(id),
            DeploymentTarget::Unusable => None,
        };
        let mut operations = Vec::new();
        for application in known.iter().filter_map(|known| known.application.as_ref()) {
            operations.extend(related_rows::operations(view, application.id.as_str()).await?);
        }
        let gone = request.object.as_ref().filter(|_| wanted.is_none());
        let mut instances = BTreeSet::new();
        if let Some(uid) = gone.map(|gone| Uid::from(text(gone, "/metadata/uid"))) {
            operations.extend(related_rows::removals(view, &uid).await?);
            if known.is_empty() && operations.is_empty() {
                instances = related_rows::instances(view).await?;
            }
        }
        let repositories = match wanted.map(|wanted| normalize(&wanted.spec.source.repo_url)) {
            Some(url) => view.list(&Filter::all().is("clusteruser_id", &user.id).is("repo_url", url.as_str())).await?,
            None => Vec::new(),
        };
        let compared_environment = compared_environment(view, &known).await?;
        // A deployment keeps its instance, unless its environment changes: a placement is never split. A deployment
        // without a target needs no instance.
        let uid = wanted.map(|wanted| wanted.metadata.id());
        let there = known.iter().find(|known| uid.as_ref() == Some(&known.mapping.deployment_uid));
        let there = there.and_then(|known| known.application.as_ref());
        let at = self.0.settings().engine.as_ref().filter(|_| matches!(target, DeploymentTarget::Own(_)));
        let stays = there.filter(|there| environment.is_none_or(|wanted| there.environment.as_ref() == Some(wanted)));
        let instance = match (stays, environment) {
            (Some(there), _) => related_rows::instance(view, &there.instance).await?.map(|one| Ok((one, Vec::new()))),
            (None, Some(environment)) => {
                let name = uid.as_ref().map(application_name).unwrap_or_default();
                Some(selection::place(view, &user.id, environment, &name, at, request.now()?.timestamp).await?)
            }
            (None, None) => None,
        };
        Ok(DeploymentInputs {
            user,
            known,
            target,
            instance,
            operations,
            instances,
            repositories,
            compared_environment,
        })
    }

    async fn target(
        &self,
        view: &mut switchboard_sql::LedgerView,
        request: &UnitRequest,
        wanted: &GitOpsDeployment,
        tenant: &TenantNamespace,
        changes: &mut Vec<RowChange>,
    ) -> Result<DeploymentTarget, ServiceError> {
        if wanted.spec.destination.environment.is_empty() {
            if !self.0.settings().in_cluster {
                return Ok(DeploymentTarget::Unusable);
            }
            let found = related_rows::own_environment(view, &tenant.uid).await?;
            let (id, new) = tenant::own_environment(found.as_ref(), tenant, random_id::new, request.now()?.timestamp);
            changes.extend(new);
            return Ok(DeploymentTarget::Own(id));
        }
        let Some(environment) =
            request.referenced.as_ref().filter(|named| named["metadata"]["deletionTimestamp"].is_null())
        else {
            return Ok(DeploymentTarget::Unusable);
        };
        // By uid, which belongs to an object of the tenant's own namespace, so environments of other tenants cannot be
        // named.
        let row = related_rows::environment_of(view, &Uid::from(text(environment, "/metadata/uid"))).await?;
        Ok(row.map_or(DeploymentTarget::Unusable, |row| {
            DeploymentTarget::Of(ManagedEnvironmentId::from(row.relation_key))
        }))
    }
}

/// Whether the changes may leave a repository unreferenced, or a referenced repository without a row because its URL
/// was rejected.
fn may_leave_unreferenced(changes: &[RowChange], repositories: &[AppProjectRepository]) -> bool {
    let is_of =
        |change: &RowChange, table: &Table| change.table() == table && !matches!(change, RowChange::Insert { .. });
    let has_row =
        !repositories.is_empty() || changes.iter().any(|change| change.table() == AppProjectRepository::TABLE);
    !has_row || changes.iter().any(|change| is_of(change, Application::TABLE))
}

/// Whether the status of an environment shows that it can be used.
fn is_connected(environment: &Value) -> bool {
    let mut all = environment["status"]["conditions"].as_array().into_iter().flatten();
    all.any(|one| one["type"] == CONDITION && one["status"] == "True")
        && environment["metadata"]["deletionTimestamp"].is_null()
}

/// Returns a placeholder: a deletion needs no instance.
fn no_instance() -> EngineInstance {
    EngineInstance { id: "".into(), namespace: String::new(), namespace_uid: "".into(), cluster: "".into() }
}

/// Returns the tenant's name of the environment that Argo CD compared with.
async fn compared_environment(
    view: &mut switchboard_sql::LedgerView,
    known: &[DeploymentRows],
) -> Result<Option<String>, ServiceError> {
    let packed = known.iter().find_map(|known| known.state.as_ref()?.status.clone()).unwrap_or_default();
    let Ok(said) = run_blocking_if_large(packed.len(), move || status::unpack(&packed)).await else { return Ok(None) };
    match status::compared_environment(&said) {
        Some(id) => Ok(related_rows::name_of_environment(view, id).await?),
        None => Ok(None),
    }
}
