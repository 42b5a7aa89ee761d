//! Units of GitOpsDeploymentSyncRuns.

use std::time::Duration;

use switchboard_kernel::operator::{DecideError, Declaration, Operator, Unit};
use switchboard_kernel::plan::{Plan, UnitStatus};
use switchboard_kernel::resource::Selection;
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::View;
use switchboard_sql::{Filter, RowChange, RowKey};

use crate::backend::{Backend, SYNC_RUNS_NAME, declared};
use crate::error::ServiceError;
use crate::ids::UserId;
use crate::kinds::{GitOpsDeployment, SyncRun};
use crate::operation::notify;
use crate::request::{UnitRequest, text};
use crate::resources::{DEPLOYMENTS, SYNC_RUNS};
use crate::rows::{Application, ClusterUser, Operation, SyncOperation};
use crate::sync_run::{self, SyncRunInput, SyncRunRows};
use crate::tenant::{self, TenantNamespace};
use crate::writes::mutation;
use crate::{random_id, related_rows};

/// Delay until a queued run checks again whether the previous one has finished, without an event.
const QUEUED_RECHECK_DELAY: Duration = Duration::from_secs(15);
/// Ids per query.
const MAX_IDS_PER_QUERY: usize = 500;
/// Reason of a queued run.
const WAITS_FOR_ANOTHER_RUN: &str = "another sync run to finish";

/// Operator of GitOpsDeploymentSyncRuns.
#[derive(Clone)]
pub struct SyncRuns(pub Backend);

impl Operator for SyncRuns {
    fn name(&self) -> &str {
        SYNC_RUNS_NAME
    }

    fn declaration(&self) -> Declaration {
        declared(&SYNC_RUNS)
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let live = view.get(&SYNC_RUNS, unit.namespace(), unit.name())?.map(|object| object.value());
        let of = live.as_ref().map(|live| text(live, "/spec/gitopsDeploymentName")).unwrap_or_default();
        let mut request = UnitRequest::of(unit, view, live)?;
        if !of.is_empty() {
            // The status is read as well: its first change shows that the deployment has an Application.
            request.referenced = view.get(&DEPLOYMENTS, unit.namespace(), &of)?.map(|object| object.value());
        }
        let plan = request.query(view, |request| self.call(request))?;
        if matches!(&plan.status, UnitStatus::Waiting(why) if why == WAITS_FOR_ANOTHER_RUN) {
            // The list registers a dependency: the unit is triggered when another run of the namespace changes.
            view.list(&SYNC_RUNS, &Selection::namespace(unit.namespace()))?;
        }
        Ok(plan)
    }
}

impl SyncRuns {
    fn call(&self, request: UnitRequest) -> Result<Plan, String> {
        let this = self.clone();
        self.0.store().block_on(async move || this.answer(&request).await)
    }

    async fn answer(&self, request: &UnitRequest) -> Result<Plan, ServiceError> {
        let live: Option<SyncRun> = request.typed()?;
        let deployment: Option<GitOpsDeployment> =
            request.referenced.clone().map(serde_json::from_value).transpose()?;
        let store = self.0.store();
        store.transact(async |view| self.decide_on(view, request, live.as_ref(), deployment.as_ref()).await).await
    }

    async fn decide_on(
        &self,
        view: &mut switchboard_sql::LedgerView,
        request: &UnitRequest,
        live: Option<&SyncRun>,
        deployment: Option<&GitOpsDeployment>,
    ) -> Result<(Vec<RowChange>, Plan), ServiceError> {
        let tenant = request.tenant();
        let all = related_rows::sync_runs(view, &self.0.resource_ref(request, tenant.as_ref())).await?;
        let is_live = |known: &&SyncRunRows| live.is_some_and(|live| live.metadata.id() == known.mapping.resource_uid);
        let mut decision_so_far =
            SyncRunDecision { changes: Vec::new(), plan: Plan::ordered(), open: Vec::new(), is_queued: false };
        // A recreated run is another one; the sync of the previous one is ended first.
        for known in all.iter().filter(|known| !is_live(known)) {
            self.one(view, request, tenant.as_ref(), None, Some(known), None, &mut decision_so_far).await?;
        }
        if let Some(live) = live {
            let known = all.iter().find(is_live);
            self.one(view, request, tenant.as_ref(), Some(live), known, deployment, &mut decision_so_far).await?;
        }
        let overdue =
            notify::until_overdue_ms(&decision_so_far.open, request.now()?.timestamp).map(Duration::from_millis);
        decision_so_far.plan.requeue_after = [decision_so_far.plan.requeue_after, overdue].into_iter().flatten().min();
        let plan = match (decision_so_far.is_queued, decision_so_far.open.is_empty()) {
            (true, _) => decision_so_far.plan.waiting(WAITS_FOR_ANOTHER_RUN),
            (false, false) => decision_so_far.plan.waiting("the agent"),
            (false, true) => decision_so_far.plan,
        };
        Ok((decision_so_far.changes, plan))
    }

    #[expect(clippy::too_many_arguments, reason = "what was read so far, each once")]
    async fn one(
        &self,
        view: &mut switchboard_sql::LedgerView,
        request: &UnitRequest,
        tenant: Option<&TenantNamespace>,
        live: Option<&SyncRun>,
        known: Option<&SyncRunRows>,
        deployment: Option<&GitOpsDeployment>,
        decision_so_far: &mut SyncRunDecision,
    ) -> Result<(), ServiceError> {
        let application = application(view, known, deployment).await?;
        let (user, new) = match (self.user(view, tenant, application.as_ref(), request).await?, live, known) {
            (Some(found), ..) => found,
            // The run was deleted with its namespace after its Application; no tenant is left to request anything for.
            (None, None, Some(known)) if application.is_none() => {
                decision_so_far.changes.extend([RowChange::delete(&known.mapping), RowChange::delete(&known.sync)]);
                return Ok(());
            }
            (None, ..) => return Ok(()),
        };
        let operations = match known {
            Some(known) => related_rows::operations(view, known.sync.id.as_str()).await?,
            None => Vec::new(),
        };
        let queued = is_queued(view, known, application.as_ref(), &user.id).await?;
        let nowhere = TenantNamespace { name: request.namespace.clone(), uid: "".into() };
        let decision = sync_run::decide(
            &SyncRunInput {
                now: request.now()?,
                namespace: tenant.unwrap_or(&nowhere),
                user: &user,
                run: live,
                rows: known,
                deployment,
                application: application.as_ref(),
                is_behind_another: queued,
                operations: &operations,
            },
            random_id::new,
        );
        if !decision.changes.is_empty() {
            decision_so_far.changes.extend(new);
        }
        decision_so_far.open.extend(notify::open_after(&operations, &decision.changes));
        decision_so_far.changes.extend(decision.changes);
        let writes = decision.writes.into_iter();
        let writes = writes.filter_map(|w| mutation(w, request.object.as_ref(), ClusterType::Configuration));
        decision_so_far.plan.mutations.extend(writes);
        if queued {
            decision_so_far.plan.requeue_after = Some(QUEUED_RECHECK_DELAY);
            decision_so_far.is_queued = true;
        }
        Ok(())
    }

    async fn user(
        &self,
        view: &mut switchboard_sql::LedgerView,
        tenant: Option<&TenantNamespace>,
        application: Option<&Application>,
        request: &UnitRequest,
    ) -> Result<Option<(ClusterUser, Vec<RowChange>)>, ServiceError> {
        if let Some(tenant) = tenant {
            let found = related_rows::user(view, &tenant.uid).await?;
            let now = request.now()?.timestamp;
            return Ok(Some(tenant::user(found.as_ref(), tenant, || UserId::from(random_id::new()), now)));
        }
        let Some(application) = application else { return Ok(None) };
        let Some(owner) = related_rows::owner_of(view, &application.id).await? else { return Ok(None) };
        let user: Option<ClusterUser> = view.get(&RowKey::from(&owner.user)).await?;
        Ok(user.map(|user| (user, Vec::new())))
    }
}

/// Decision about a run, and about earlier runs of the same name.
struct SyncRunDecision {
    changes: Vec<RowChange>,
    plan: Plan,
    open: Vec<Operation>,
    /// Whether another run of the same Application comes first.
    is_queued: bool,
}

async fn application(
    view: &mut switchboard_sql::LedgerView,
    known: Option<&SyncRunRows>,
    deployment: Option<&GitOpsDeployment>,
) -> Result<Option<Application>, ServiceError> {
    if let Some(known) = known {
        return Ok(match &known.sync.application {
            Some(id) => view.get(&RowKey::from(id)).await?,
            None => None,
        });
    }
    match deployment {
        Some(deployment) => Ok(related_rows::application_of(view, &deployment.metadata.id()).await?),
        None => Ok(None),
    }
}

/// Whether another run of the same Application is in progress. Only open runs are read: an Application may have any
/// number of finished ones.
async fn is_queued(
    view: &mut switchboard_sql::LedgerView,
    known: Option<&SyncRunRows>,
    application: Option<&Application>,
    user: &UserId,
) -> Result<bool, ServiceError> {
    let (None, Some(application)) = (known, application) else { return Ok(false) };
    for some in related_rows::open_syncs(view, user).await?.chunks(MAX_IDS_PER_QUERY) {
        let of = Filter::all().is("application_id", &application.id).limit(1);
        let open = of.is_any_of("syncoperation_id", some.iter().map(String::as_str));
        if !view.list::<SyncOperation>(&open).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
