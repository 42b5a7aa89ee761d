//! Units: GitOpsDeploymentManagedEnvironments.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use switchboard_gitops::flow::Decision;
use switchboard_gitops::flow::environment::{
    self, Answer, Input, Known, Question, Questions, SecretData, account, parting,
};
use switchboard_gitops::flow::recheck::Asking;
use switchboard_gitops::flow::tenant::{self, Namespace};
use switchboard_gitops::kinds::ManagedEnvironment;
use switchboard_gitops::kinds::environment::SECRET_KEY;
use switchboard_gitops::repository::without_login;
use switchboard_kernel::operator::{Declaration, Outward, Stop, Unit};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::Plan;
use switchboard_kernel::view::{Outside, View};
use switchboard_ledger::ids::UserId;
use switchboard_ledger::rows::left::ServiceAccount;
use switchboard_ledger::rows::{ClusterUser, Operation};
use switchboard_ledger::{Change, Key, Moment};

use super::{Backend, ENVIRONMENTS_NAME, declared};
use crate::asked::{Asked, secret, text};
use crate::desk::{Desk, Rest};
use crate::error::{ServiceError, told};
use crate::resources::{ENVIRONMENTS, SECRETS};
use crate::writes::mutation;
use crate::{ids, rows};

/// The operator of GitOpsDeploymentManagedEnvironments.
#[derive(Clone)]
pub struct Environments(pub Backend);

impl Outward for Environments {
    fn name(&self) -> &str {
        ENVIRONMENTS_NAME
    }

    fn declaration(&self) -> Declaration {
        declared(&ENVIRONMENTS)
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        let (this, asked) = (self.clone(), Asked::read(request).map_err(|error| told(&error))?);
        let plan = self.0.store().wait(async move || this.answer(&asked).await)?;
        serde_json::to_value(plan).map_err(|error| error.to_string())
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let live = view.get(&ENVIRONMENTS, unit.namespace(), unit.name())?.map(|object| object.value());
        let wanted = live.as_ref().map(|live| text(live, "/spec/credentialsSecret")).unwrap_or_default();
        let mut asked = Asked::of(unit, view, live)?;
        if !wanted.is_empty() {
            asked.secret = view.get(&SECRETS, unit.namespace(), &wanted)?.map(|object| secret(object.value()));
        }
        asked.ask(outside)
    }
}

impl Environments {
    async fn answer(&self, asked: &Asked) -> Result<Plan, ServiceError> {
        let live: Option<ManagedEnvironment> = asked.typed()?;
        let unit = Unit::object(&asked.namespace, &asked.name);
        let (now, print) = (asked.now()?.moment, asked.print());
        let (desk, accounts) = (&self.0.0.environments, &self.0.0.accounts);
        if let (Some(live), Some(rest)) = (&live, desk.rest(&unit, &print, now)) {
            return rested(rest, live, asked);
        }
        let answers = (desk.answer(&unit, now), accounts.answer(&unit, now));
        let store = self.0.store();
        let decided = store.settle(async |view| self.decide_on(view, asked, live.as_ref(), &answers).await);
        let (plan, questions) = decided.await?;
        // While anything else is to be done, it is not at rest.
        let is_all = questions.retire.is_none() && answers.1.is_none() && plan.again.is_none();
        let mut plan = plan;
        match (questions.verify, &live) {
            (Asking::Later(question), Some(live)) if is_all => {
                desk.stand(&unit, question, &print, self.0.recheck_ms(&live.metadata.id()), now);
                if let Some(Rest::For(ms, _)) = desk.rest(&unit, &print, now) {
                    plan.again = Some(Duration::from_millis(ms));
                }
            }
            (Asking::Later(_), _) => {}
            (Asking::Nothing, _) if desk.stood(&unit) => desk.forget(&unit),
            (verify, _) => plan = put(desk, &unit, verify.now(), answers.0.as_ref(), plan, now),
        }
        Ok(put(accounts, &unit, questions.retire, answers.1.as_ref(), plan, now))
    }

    async fn decide_on(
        &self,
        view: &mut switchboard_ledger::View,
        asked: &Asked,
        live: Option<&ManagedEnvironment>,
        (answer, retired): &(Option<Answer>, Option<Answer>),
    ) -> Result<(Vec<Change>, (Plan, Questions)), ServiceError> {
        let tenant = asked.tenant();
        let named = self.0.named(asked, tenant.as_ref());
        let known = rows::environments(view, &named).await?;
        if live.is_none_or(|live| live.metadata.is_deleted())
            && parting::waits(asked.leaving, is_removing(view, &known).await?, &known)
        {
            let mut plan = Plan::nothing().waiting("what is deployed to it to go");
            plan.again = Some(Duration::from_millis(parting::LOOK_AGAIN_MS));
            return Ok((vec![], (plan, Questions::default())));
        }
        let accounts = rows::accounts(view, &named).await?;
        tell_given_up(&accounts, retired.as_ref(), asked.now()?.moment);
        let Some((user, mut changes)) = self.user(view, asked, live, tenant.as_ref(), &known).await? else {
            let mut decision = Decision::default();
            let retire = account::leave(&accounts, retired.as_ref(), asked.now()?.moment, &mut decision);
            return Ok((decision.changes, (Plan::nothing(), Questions { retire, ..Questions::default() })));
        };
        let mut operations = operations(view, &known).await?;
        operations.extend(rows::operations(view, user.id.as_str()).await?);
        let instances = rows::instances_of(view, &user.id).await?;
        let nowhere = Namespace { name: asked.namespace.clone(), uid: "".into() };
        let data = asked.secret.as_ref().map(secret_data);
        let input = Input {
            now: asked.now()?,
            namespace: tenant.as_ref().unwrap_or(&nowhere),
            user: &user,
            environment: live,
            secret: data.as_ref(),
            known: &known,
            operations: &operations,
            instances: &instances,
            accounts: &accounts,
            answer: answer.as_ref(),
            retired: retired.as_ref(),
        };
        let (decision, questions) = environment::decide(&input, ids::new);
        let mut plan = Plan::in_order();
        let writes = decision.writes.into_iter();
        plan.mutations.extend(writes.filter_map(|w| mutation(w, asked.object.as_ref(), Place::Configuration)));
        plan.again = decision.again_ms.map(Duration::from_millis);
        if decision.changes.is_empty() {
            changes.clear();
        }
        changes.extend(decision.changes);
        Ok((changes, (plan, questions)))
    }

    /// The tenant: of the namespace, or of the rows when the namespace is gone. None when there is nothing to be done.
    async fn user(
        &self,
        view: &mut switchboard_ledger::View,
        asked: &Asked,
        live: Option<&ManagedEnvironment>,
        tenant: Option<&Namespace>,
        known: &[Known],
    ) -> Result<Option<(ClusterUser, Vec<Change>)>, ServiceError> {
        if live.is_none() && known.is_empty() {
            return Ok(None);
        }
        if let Some(tenant) = tenant {
            let found = rows::user(view, &tenant.uid).await?;
            let now = asked.now()?.moment;
            return Ok(Some(tenant::user(found.as_ref(), tenant, || UserId::from(ids::new()), now)));
        }
        let owner = known.iter().flat_map(|known| &known.permissions).map(|permission| &permission.user).next();
        match owner {
            Some(owner) => Ok(view.get(&Key::from(owner)).await?.map(|user| (user, Vec::new()))),
            None => Ok(None),
        }
    }
}

/// Of what stands, what was answered last is told. Nobody asks the database.
fn rested(rest: Rest<Answer>, live: &ManagedEnvironment, asked: &Asked) -> Result<Plan, ServiceError> {
    let Rest::For(ms, answer) = rest else { return Ok(Plan::nothing()) };
    let mut plan = Plan::in_order().again_after(Duration::from_millis(ms));
    let writes = environment::retell(live, answer.as_ref(), asked.now()?).writes.into_iter();
    plan.mutations.extend(writes.filter_map(|w| mutation(w, asked.object.as_ref(), Place::Configuration)));
    Ok(plan)
}

/// Says what stays on a target: its row goes now, and nothing else will.
fn tell_given_up(accounts: &[ServiceAccount], retired: Option<&Answer>, now: Moment) {
    for one in accounts.iter().filter(|one| account::is_given_up(one, now) && !account::is_gone(one, retired)) {
        let (host, uid) = (without_login(&one.host), &one.resource_uid);
        tracing::warn!(%host, "gave up removing service account argocd-manager-{uid}: remove it and its role by hand");
    }
}

/// Asks what is to be asked, or says when to look again at what was answered with no.
fn put(
    desk: &Desk<Question, Answer>,
    unit: &Unit,
    question: Option<Question>,
    answer: Option<&Answer>,
    mut plan: Plan,
    now: Moment,
) -> Plan {
    match question {
        Some(question) => {
            desk.ask(unit, question);
            plan = plan.waiting("the cluster to answer");
        }
        None if matches!(answer, Some(Answer::Refused { .. } | Answer::Kept { .. })) => {
            let again = desk.again_ms(unit, now).map(Duration::from_millis);
            plan.again = [plan.again, again].into_iter().flatten().min();
        }
        None => desk.forget(unit),
    }
    plan
}

/// Whether something of a tenant that may use an environment is being removed: through which environment, no row says any more. Or
/// whether what uses it is on its way to another Argo CD: the row of a move goes with the environment, and what it holds would stay.
async fn is_removing(view: &mut switchboard_ledger::View, known: &[Known]) -> Result<bool, ServiceError> {
    for known in known {
        if rows::is_moving(view, &known.environment.id).await? {
            return Ok(true);
        }
    }
    for permission in known.iter().flat_map(|known| &known.permissions) {
        if rows::has_open_removal(view, &permission.user).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn operations(view: &mut switchboard_ledger::View, known: &[Known]) -> Result<Vec<Operation>, ServiceError> {
    let mut all = Vec::new();
    for known in known {
        all.extend(rows::operations(view, known.environment.id.as_str()).await?);
        for application in &known.applications {
            all.extend(rows::operations(view, application.id.as_str()).await?);
        }
    }
    Ok(all)
}

/// What is needed of a tenant's Secret.
fn secret_data(object: &Value) -> SecretData {
    let kubeconfig = object["data"][SECRET_KEY].as_str().and_then(|encoded| STANDARD.decode(encoded).ok());
    SecretData {
        r#type: text(object, "/type"),
        kubeconfig: kubeconfig.map(|bytes| String::from_utf8_lossy(&bytes).into_owned().into()),
    }
}
