//! Units: GitOpsDeploymentRepositoryCredentials.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use switchboard_gitops::flow::credential::{self, Answer, Input, Question, SecretData};
use switchboard_gitops::flow::recheck::Asking;
use switchboard_gitops::flow::tenant::{self, Namespace};
use switchboard_gitops::kinds::RepositoryCredential;
use switchboard_gitops::kinds::credential::Outcome;
use switchboard_kernel::operator::{Declaration, Outward, Stop, Unit};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::Plan;
use switchboard_kernel::view::{Outside, View};
use switchboard_ledger::ids::UserId;
use switchboard_ledger::rows::ClusterUser;
use switchboard_ledger::{Change, Key};

use super::{Backend, CREDENTIALS_NAME, declared};
use crate::asked::{Asked, secret, text};
use crate::desk::Rest;
use crate::error::{ServiceError, told};
use crate::resources::{CREDENTIALS, SECRETS};
use crate::writes::mutation;
use crate::{ids, instance, rows};

/// The operator of GitOpsDeploymentRepositoryCredentials.
#[derive(Clone)]
pub struct Credentials(pub Backend);

impl Outward for Credentials {
    fn name(&self) -> &str {
        CREDENTIALS_NAME
    }

    fn declaration(&self) -> Declaration {
        declared(&CREDENTIALS)
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        let (this, asked) = (self.clone(), Asked::read(request).map_err(|error| told(&error))?);
        let plan = self.0.store().wait(async move || this.answer(&asked).await)?;
        serde_json::to_value(plan).map_err(|error| error.to_string())
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let live = view.get(&CREDENTIALS, unit.namespace(), unit.name())?.map(|object| object.value());
        let wanted = live.as_ref().map(|live| text(live, "/spec/secret")).unwrap_or_default();
        let mut asked = Asked::of(unit, view, live)?;
        if !wanted.is_empty() {
            asked.secret = view.get(&SECRETS, unit.namespace(), &wanted)?.map(|object| secret(object.value()));
        }
        asked.ask(outside)
    }
}

impl Credentials {
    async fn answer(&self, asked: &Asked) -> Result<Plan, ServiceError> {
        let live: Option<RepositoryCredential> = asked.typed()?;
        let unit = Unit::object(&asked.namespace, &asked.name);
        let desk = &self.0.0.credentials;
        let (now, print) = (asked.now()?.moment, asked.print());
        if let (Some(live), Some(rest)) = (&live, desk.rest(&unit, &print, now)) {
            return rested(rest, live, asked);
        }
        let answer = desk.answer(&unit, now);
        let store = self.0.store();
        let decided = store.settle(async |view| self.decide_on(view, asked, live.as_ref(), answer.as_ref()).await);
        let (mut plan, asking) = decided.await?;
        match (asking, &live) {
            (Asking::Now(question), _) => {
                desk.ask(&unit, question);
                plan = plan.waiting("the repository to answer");
            }
            (Asking::Later(question), Some(live)) => {
                desk.stand(&unit, question, &print, self.0.recheck_ms(&live.metadata.id()), now);
                if let Some(Rest::For(ms, _)) = desk.rest(&unit, &print, now) {
                    plan.again = Some(Duration::from_millis(ms));
                }
            }
            _ if answer.is_some_and(|answer| answer.outcome != Outcome::Valid) && !desk.stood(&unit) => {
                plan.again = desk.again_ms(&unit, now).map(Duration::from_millis);
            }
            _ => desk.forget(&unit),
        }
        Ok(plan)
    }

    async fn decide_on(
        &self,
        view: &mut switchboard_ledger::View,
        asked: &Asked,
        live: Option<&RepositoryCredential>,
        answer: Option<&Answer>,
    ) -> Result<(Vec<Change>, (Plan, Asking<Question>)), ServiceError> {
        let tenant = asked.tenant();
        let known = rows::credentials(view, &self.0.named(asked, tenant.as_ref())).await?;
        let Some((user, mut changes)) = self.user(view, asked, live, tenant.as_ref(), &known).await? else {
            return Ok((vec![], (Plan::nothing(), Asking::Nothing)));
        };
        let mut operations = Vec::new();
        for known in &known {
            operations.extend(rows::operations(view, known.row.id.as_str()).await?);
        }
        let Some(instance) = instance::of_tenant(view, &user.id, asked.now()?.moment).await? else {
            let waits = Plan::nothing().waiting(
                "an Argo CD: none is known; the namespace that `gitops.namespace` names is made known when it is there",
            );
            return Ok((vec![], (waits, Asking::Nothing)));
        };
        let used_by = match live.filter(|live| !live.metadata.is_deleted()) {
            Some(_) => instance::of_units(view, &user.id).await?,
            // Where a unit is on its way to is a copy, and the move knows only what there is.
            None => instance::of_credentials(view, &user.id).await?,
        };
        let nowhere = Namespace { name: asked.namespace.clone(), uid: "".into() };
        let data = asked.secret.as_ref().map(secret_data);
        let input = Input {
            now: asked.now()?,
            namespace: tenant.as_ref().unwrap_or(&nowhere),
            user: &user,
            credential: live,
            secret: data.as_ref(),
            known: &known,
            instance: &instance,
            used_by: &used_by,
            operations: &operations,
            answer,
        };
        let (decision, asking) = credential::decide(&input, ids::new);
        let mut plan = Plan::in_order();
        let writes = decision.writes.into_iter();
        plan.mutations.extend(writes.filter_map(|w| mutation(w, asked.object.as_ref(), Place::Configuration)));
        if decision.changes.is_empty() {
            changes.clear();
        }
        changes.extend(decision.changes);
        Ok((changes, (plan, asking)))
    }

    async fn user(
        &self,
        view: &mut switchboard_ledger::View,
        asked: &Asked,
        live: Option<&RepositoryCredential>,
        tenant: Option<&Namespace>,
        known: &[credential::Known],
    ) -> Result<Option<(ClusterUser, Vec<Change>)>, ServiceError> {
        if live.is_none() && known.is_empty() {
            return Ok(None);
        }
        if let Some(tenant) = tenant {
            let found = rows::user(view, &tenant.uid).await?;
            let now = asked.now()?.moment;
            return Ok(Some(tenant::user(found.as_ref(), tenant, || UserId::from(ids::new()), now)));
        }
        match known.first() {
            Some(known) => Ok(view.get(&Key::from(&known.row.user)).await?.map(|user| (user, Vec::new()))),
            None => Ok(None),
        }
    }
}

/// Of what stands, what was answered last is told. Nobody asks the database.
fn rested(rest: Rest<Answer>, live: &RepositoryCredential, asked: &Asked) -> Result<Plan, ServiceError> {
    let Rest::For(ms, answer) = rest else { return Ok(Plan::nothing()) };
    let mut plan = Plan::in_order().again_after(Duration::from_millis(ms));
    let writes = credential::retell(live, answer.as_ref(), asked.now()?).writes.into_iter();
    plan.mutations.extend(writes.filter_map(|w| mutation(w, asked.object.as_ref(), Place::Configuration)));
    Ok(plan)
}

/// What is needed of a tenant's Secret.
fn secret_data(object: &Value) -> SecretData {
    let value = |key: &str| {
        let bytes = object["data"][key].as_str().and_then(|encoded| STANDARD.decode(encoded).ok());
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    };
    SecretData {
        r#type: text(object, "/type"),
        username: value("username"),
        password: value("password").into(),
        ssh_key: value("sshPrivateKey").into(),
    }
}
