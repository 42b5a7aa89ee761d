//! Units of GitOpsDeploymentRepositoryCredentials.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use switchboard_kernel::operator::{DecideError, Declaration, Operator, Unit};
use switchboard_kernel::plan::Plan;
use switchboard_kernel::topology::ClusterType;
use switchboard_kernel::view::View;
use switchboard_sql::{RowChange, RowKey};

use crate::backend::{Backend, CREDENTIALS_NAME, declared};
use crate::credential::kind::CredentialOutcome;
use crate::credential::{self, CredentialCheck, CredentialCheckResult, CredentialInput, CredentialSecret};
use crate::error::ServiceError;
use crate::external_checks::CheckState;
use crate::ids::UserId;
use crate::kinds::RepositoryCredential;
use crate::placement::selection;
use crate::recheck::CheckSchedule;
use crate::request::{UnitRequest, secret, text};
use crate::resources::{CREDENTIALS, SECRETS};
use crate::rows::ClusterUser;
use crate::tenant::{self, TenantNamespace};
use crate::writes::mutation;
use crate::{random_id, related_rows};

/// Operator of GitOpsDeploymentRepositoryCredentials.
#[derive(Clone)]
pub struct Credentials(pub Backend);

impl Operator for Credentials {
    fn name(&self) -> &str {
        CREDENTIALS_NAME
    }

    fn declaration(&self) -> Declaration {
        declared(&CREDENTIALS)
    }

    fn decide(&self, unit: &Unit, view: &View) -> Result<Plan, DecideError> {
        let live = view.get(&CREDENTIALS, unit.namespace(), unit.name())?.map(|object| object.value());
        let wanted = live.as_ref().map(|live| text(live, "/spec/secret")).unwrap_or_default();
        let mut request = UnitRequest::of(unit, view, live)?;
        if !wanted.is_empty() {
            request.secret = view.get(&SECRETS, unit.namespace(), &wanted)?.map(|object| secret(object.value()));
        }
        request.query(view, |request| self.call(request))
    }
}

impl Credentials {
    fn call(&self, request: UnitRequest) -> Result<Plan, String> {
        let this = self.clone();
        self.0.store().block_on(async move || this.answer(&request).await)
    }

    async fn answer(&self, request: &UnitRequest) -> Result<Plan, ServiceError> {
        let live: Option<RepositoryCredential> = request.typed()?;
        let unit = Unit::object(&request.namespace, &request.name);
        let queue = &self.0.0.credentials;
        let (now, fingerprint) = (request.now()?.timestamp, request.fingerprint());
        if let (Some(live), Some(rest)) = (&live, queue.periodic_state(&unit, &fingerprint, now)) {
            return periodic_plan(rest, live, request);
        }
        let answer = queue.answer(&unit, now);
        let store = self.0.store();
        let decided = store.transact(async |view| self.decide_on(view, request, live.as_ref(), answer.as_ref()).await);
        let (mut plan, asking) = decided.await?;
        match (asking, &live) {
            (CheckSchedule::Now(question), _) => {
                queue.enqueue(&unit, question);
                plan = plan.waiting("the repository to respond");
            }
            (CheckSchedule::Later(question), Some(live)) => {
                queue.recheck_periodically(&unit, question, &fingerprint, self.0.recheck_ms(&live.metadata.id()), now);
                if let Some(CheckState::Fresh(ms, _)) = queue.periodic_state(&unit, &fingerprint, now) {
                    plan.requeue_after = Some(Duration::from_millis(ms));
                }
            }
            _ if answer.is_some_and(|answer| answer.outcome != CredentialOutcome::Valid)
                && !queue.is_periodic(&unit) =>
            {
                plan.requeue_after = queue.retry_after_ms(&unit, now).map(Duration::from_millis);
            }
            _ => queue.forget(&unit),
        }
        Ok(plan)
    }

    async fn decide_on(
        &self,
        view: &mut switchboard_sql::LedgerView,
        request: &UnitRequest,
        live: Option<&RepositoryCredential>,
        answer: Option<&CredentialCheckResult>,
    ) -> Result<(Vec<RowChange>, (Plan, CheckSchedule<CredentialCheck>)), ServiceError> {
        let tenant = request.tenant();
        let known = related_rows::credentials(view, &self.0.resource_ref(request, tenant.as_ref())).await?;
        let Some((user, mut changes)) = self.user(view, request, live, tenant.as_ref(), &known).await? else {
            return Ok((vec![], (Plan::nothing(), CheckSchedule::Nothing)));
        };
        let mut operations = Vec::new();
        for known in &known {
            operations.extend(related_rows::operations(view, known.row.id.as_str()).await?);
        }
        let Some(instance) = selection::of_tenant(view, &user.id, request.now()?.timestamp).await? else {
            let waits = Plan::nothing().waiting(
                "an Argo CD instance: none is registered; the one of `gitops.namespace` is registered once its namespace exists",
            );
            return Ok((vec![], (waits, CheckSchedule::Nothing)));
        };
        let used_by = match live.filter(|live| !live.metadata.is_deleted()) {
            Some(_) => selection::instances_of_placements(view, &user.id).await?,
            // During a move, the target has a copy as well, and the move only knows existing credentials.
            None => selection::of_credentials(view, &user.id).await?,
        };
        let nowhere = TenantNamespace { name: request.namespace.clone(), uid: "".into() };
        let data = request.secret.as_ref().map(secret_data);
        let input = CredentialInput {
            now: request.now()?,
            namespace: tenant.as_ref().unwrap_or(&nowhere),
            user: &user,
            credential: live,
            secret: data.as_ref(),
            rows: &known,
            instance: &instance,
            used_by: &used_by,
            operations: &operations,
            check_result: answer,
        };
        let (decision, asking) = credential::decide(&input, random_id::new);
        let mut plan = Plan::ordered();
        let writes = decision.writes.into_iter();
        plan.mutations.extend(writes.filter_map(|w| mutation(w, request.object.as_ref(), ClusterType::Configuration)));
        if decision.changes.is_empty() {
            changes.clear();
        }
        changes.extend(decision.changes);
        Ok((changes, (plan, asking)))
    }

    async fn user(
        &self,
        view: &mut switchboard_sql::LedgerView,
        request: &UnitRequest,
        live: Option<&RepositoryCredential>,
        tenant: Option<&TenantNamespace>,
        known: &[credential::CredentialRows],
    ) -> Result<Option<(ClusterUser, Vec<RowChange>)>, ServiceError> {
        if live.is_none() && known.is_empty() {
            return Ok(None);
        }
        if let Some(tenant) = tenant {
            let found = related_rows::user(view, &tenant.uid).await?;
            let now = request.now()?.timestamp;
            return Ok(Some(tenant::user(found.as_ref(), tenant, || UserId::from(random_id::new()), now)));
        }
        match known.first() {
            Some(known) => Ok(view.get(&RowKey::from(&known.row.user)).await?.map(|user| (user, Vec::new()))),
            None => Ok(None),
        }
    }
}

/// Returns the plan of a periodic check, from the last result and without queries.
fn periodic_plan(
    rest: CheckState<CredentialCheckResult>,
    live: &RepositoryCredential,
    request: &UnitRequest,
) -> Result<Plan, ServiceError> {
    let CheckState::Fresh(ms, answer) = rest else { return Ok(Plan::nothing()) };
    let mut plan = Plan::ordered().requeue_after(Duration::from_millis(ms));
    let writes = credential::report_check(live, answer.as_ref(), request.now()?).writes.into_iter();
    plan.mutations.extend(writes.filter_map(|w| mutation(w, request.object.as_ref(), ClusterType::Configuration)));
    Ok(plan)
}

/// Reads the tenant's Secret.
fn secret_data(object: &Value) -> CredentialSecret {
    let value = |key: &str| {
        let bytes = object["data"][key].as_str().and_then(|encoded| STANDARD.decode(encoded).ok());
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    };
    CredentialSecret {
        r#type: text(object, "/type"),
        username: value("username"),
        password: value("password").into(),
        ssh_key: value("sshPrivateKey").into(),
    }
}
