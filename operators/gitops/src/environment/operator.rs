//! Units of GitOpsDeploymentManagedEnvironments.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use switchboard_kernel::operator::{DecideError, Declaration, Operator, Unit};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::View;
use switchboard_sql::{DbTimestamp, RowChange, RowKey};

use crate::backend::{Backend, ENVIRONMENTS_NAME, declared};
use crate::environment::kind::SECRET_KEY;
use crate::environment::{
    self, ClusterCheck, ClusterCheckResult, ClusterChecks, EnvironmentInput, EnvironmentRows, KubeconfigSecret,
    service_account, teardown,
};
use crate::error::ServiceError;
use crate::external_checks::{CheckQueue, CheckState};
use crate::flow::ReconcileResult;
use crate::ids::UserId;
use crate::kinds::ManagedEnvironment;
use crate::recheck::CheckSchedule;
use crate::repository::without_login;
use crate::request::{UnitRequest, secret, text};
use crate::resources::{ENVIRONMENTS, SECRETS};
use crate::rows::tenant_clusters::ServiceAccount;
use crate::rows::{ClusterUser, Operation};
use crate::tenant::{self, TenantNamespace};
use crate::writes::mutation;
use crate::{random_id, related_rows};

/// Operator of GitOpsDeploymentManagedEnvironments.
#[derive(Clone)]
pub struct Environments(pub Backend);

impl Operator for Environments {
    fn name(&self) -> &str {
        ENVIRONMENTS_NAME
    }

    fn declaration(&self) -> Declaration {
        declared(&ENVIRONMENTS)
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let live = view.get(&ENVIRONMENTS, unit.namespace(), unit.name())?.map(|object| object.value());
        let wanted = live.as_ref().map(|live| text(live, "/spec/credentialsSecret")).unwrap_or_default();
        let mut request = UnitRequest::of(unit, view, live)?;
        if !wanted.is_empty() {
            request.secret = view.get(&SECRETS, unit.namespace(), &wanted)?.map(|object| secret(object.value()));
        }
        request.query(view, |request| self.call(request))
    }
}

impl Environments {
    fn call(&self, request: UnitRequest) -> Result<Plan, String> {
        let this = self.clone();
        self.0.store().block_on(async move || this.answer(&request).await)
    }

    async fn answer(&self, request: &UnitRequest) -> Result<Plan, ServiceError> {
        let live: Option<ManagedEnvironment> = request.typed()?;
        let unit = Unit::object(&request.namespace, &request.name);
        let (now, fingerprint) = (request.now()?.timestamp, request.fingerprint());
        let (queue, accounts) = (&self.0.0.environments, &self.0.0.accounts);
        if let (Some(live), Some(rest)) = (&live, queue.periodic_state(&unit, &fingerprint, now)) {
            return periodic_plan(rest, live, request);
        }
        let answers = (queue.answer(&unit, now), accounts.answer(&unit, now));
        let store = self.0.store();
        let decided = store.transact(async |view| self.decide_on(view, request, live.as_ref(), &answers).await);
        let (plan, questions) = decided.await?;
        // Periodic checks start when nothing else is left to do.
        let is_all = questions.retire.is_none() && answers.1.is_none() && plan.requeue_after.is_none();
        let mut plan = plan;
        match (questions.verify, &live) {
            (CheckSchedule::Later(question), Some(live)) if is_all => {
                queue.recheck_periodically(&unit, question, &fingerprint, self.0.recheck_ms(&live.metadata.id()), now);
                if let Some(CheckState::Fresh(ms, _)) = queue.periodic_state(&unit, &fingerprint, now) {
                    plan.requeue_after = Some(Duration::from_millis(ms));
                }
            }
            (CheckSchedule::Later(_), _) => {}
            (CheckSchedule::Nothing, _) if queue.is_periodic(&unit) => queue.forget(&unit),
            (verify, _) => plan = enqueue_or_wait(queue, &unit, verify.now(), answers.0.as_ref(), plan, now),
        }
        Ok(enqueue_or_wait(accounts, &unit, questions.retire, answers.1.as_ref(), plan, now))
    }

    async fn decide_on(
        &self,
        view: &mut switchboard_sql::LedgerView,
        request: &UnitRequest,
        live: Option<&ManagedEnvironment>,
        (answer, retired): &(Option<ClusterCheckResult>, Option<ClusterCheckResult>),
    ) -> Result<(Vec<RowChange>, (Plan, ClusterChecks)), ServiceError> {
        let tenant = request.tenant();
        let named = self.0.resource_ref(request, tenant.as_ref());
        let known = related_rows::environments(view, &named).await?;
        if live.is_none_or(|live| live.metadata.is_deleted())
            && teardown::must_wait(request.is_terminating, is_removing(view, &known).await?, &known)
        {
            let mut plan = Plan::nothing().waiting("its deployments to be deleted");
            plan.requeue_after = Some(Duration::from_millis(teardown::POLL_MS));
            return Ok((vec![], (plan, ClusterChecks::default())));
        }
        let accounts = related_rows::accounts(view, &named).await?;
        log_abandoned(&accounts, retired.as_ref(), request.now()?.timestamp);
        let Some((user, mut changes)) = self.user(view, request, live, tenant.as_ref(), &known).await? else {
            let mut decision = ReconcileResult::default();
            let retire =
                service_account::retire_unwanted(&accounts, retired.as_ref(), request.now()?.timestamp, &mut decision);
            return Ok((decision.changes, (Plan::nothing(), ClusterChecks { retire, ..ClusterChecks::default() })));
        };
        let mut operations = operations(view, &known).await?;
        operations.extend(related_rows::operations(view, user.id.as_str()).await?);
        let instances = related_rows::instances_of(view, &user.id).await?;
        let nowhere = TenantNamespace { name: request.namespace.clone(), uid: "".into() };
        let data = request.secret.as_ref().map(secret_data);
        let input = EnvironmentInput {
            now: request.now()?,
            namespace: tenant.as_ref().unwrap_or(&nowhere),
            user: &user,
            environment: live,
            secret: data.as_ref(),
            rows: &known,
            operations: &operations,
            instances: &instances,
            accounts: &accounts,
            check_result: answer.as_ref(),
            retire_result: retired.as_ref(),
        };
        let (decision, questions) = environment::decide(&input, random_id::new);
        let mut plan = Plan::ordered();
        let writes = decision.writes.into_iter();
        plan.mutations.extend(writes.filter_map(|w| mutation(w, request.object.as_ref(), ClusterType::Configuration)));
        plan.requeue_after = decision.requeue_after_ms.map(Duration::from_millis);
        if decision.changes.is_empty() {
            changes.clear();
        }
        changes.extend(decision.changes);
        Ok((changes, (plan, questions)))
    }

    /// Returns the tenant of the namespace, or the owner according to the rows if the namespace is deleted. `None` if
    /// nothing is to be done.
    async fn user(
        &self,
        view: &mut switchboard_sql::LedgerView,
        request: &UnitRequest,
        live: Option<&ManagedEnvironment>,
        tenant: Option<&TenantNamespace>,
        known: &[EnvironmentRows],
    ) -> Result<Option<(ClusterUser, Vec<RowChange>)>, ServiceError> {
        if live.is_none() && known.is_empty() {
            return Ok(None);
        }
        if let Some(tenant) = tenant {
            let found = related_rows::user(view, &tenant.uid).await?;
            let now = request.now()?.timestamp;
            return Ok(Some(tenant::user(found.as_ref(), tenant, || UserId::from(random_id::new()), now)));
        }
        let owner = known.iter().flat_map(|known| &known.permissions).map(|permission| &permission.user).next();
        match owner {
            Some(owner) => Ok(view.get(&RowKey::from(owner)).await?.map(|user| (user, Vec::new()))),
            None => Ok(None),
        }
    }
}

/// Returns the plan of a periodic check, from the last result and without queries.
fn periodic_plan(
    rest: CheckState<ClusterCheckResult>,
    live: &ManagedEnvironment,
    request: &UnitRequest,
) -> Result<Plan, ServiceError> {
    let CheckState::Fresh(ms, answer) = rest else { return Ok(Plan::nothing()) };
    let mut plan = Plan::ordered().requeue_after(Duration::from_millis(ms));
    let writes = environment::report_check(live, answer.as_ref(), request.now()?).writes.into_iter();
    plan.mutations.extend(writes.filter_map(|w| mutation(w, request.object.as_ref(), ClusterType::Configuration)));
    Ok(plan)
}

/// Logs the service accounts that stay on a target: their rows are deleted now, and nothing else removes them.
fn log_abandoned(accounts: &[ServiceAccount], retired: Option<&ClusterCheckResult>, now: DbTimestamp) {
    for one in accounts
        .iter()
        .filter(|one| service_account::is_abandoned(one, now) && !service_account::is_retired(one, retired))
    {
        let (host, uid) = (without_login(&one.host), &one.resource_uid);
        tracing::warn!(%host, "could not remove service account argocd-manager-{uid} in time; remove it and its role manually");
    }
}

/// Enqueues a check, or sets the delay until a failed check is retried.
fn enqueue_or_wait(
    queue: &CheckQueue<ClusterCheck, ClusterCheckResult>,
    unit: &Unit,
    question: Option<ClusterCheck>,
    answer: Option<&ClusterCheckResult>,
    mut plan: Plan,
    now: DbTimestamp,
) -> Plan {
    match question {
        Some(question) => {
            queue.enqueue(unit, question);
            plan = plan.waiting("the cluster to respond");
        }
        None if matches!(answer, Some(ClusterCheckResult::Refused { .. } | ClusterCheckResult::Kept { .. })) => {
            let again = queue.retry_after_ms(unit, now).map(Duration::from_millis);
            plan.requeue_after = [plan.requeue_after, again].into_iter().flatten().min();
        }
        None => queue.forget(unit),
    }
    plan
}

/// Whether something that the environment is used for is being removed or moved. A removal has no row that names its
/// environment. The row of a move is deleted with the environment, and the objects held by the move would stay.
async fn is_removing(view: &mut switchboard_sql::LedgerView, known: &[EnvironmentRows]) -> Result<bool, ServiceError> {
    for known in known {
        if related_rows::is_moving(view, &known.environment.id).await? {
            return Ok(true);
        }
    }
    for permission in known.iter().flat_map(|known| &known.permissions) {
        if related_rows::has_open_removal(view, &permission.user).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn operations(
    view: &mut switchboard_sql::LedgerView,
    known: &[EnvironmentRows],
) -> Result<Vec<Operation>, ServiceError> {
    let mut all = Vec::new();
    for known in known {
        all.extend(related_rows::operations(view, known.environment.id.as_str()).await?);
        for application in &known.applications {
            all.extend(related_rows::operations(view, application.id.as_str()).await?);
        }
    }
    Ok(all)
}

/// Reads the tenant's Secret.
fn secret_data(object: &Value) -> KubeconfigSecret {
    let kubeconfig = object["data"][SECRET_KEY].as_str().and_then(|encoded| STANDARD.decode(encoded).ok());
    KubeconfigSecret {
        r#type: text(object, "/type"),
        kubeconfig: kubeconfig.map(|bytes| String::from_utf8_lossy(&bytes).into_owned().into()),
    }
}
