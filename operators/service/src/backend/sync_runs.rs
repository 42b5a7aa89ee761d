//! Units: GitOpsDeploymentSyncRuns.

use std::time::Duration;

use serde_json::Value;
use switchboard_gitops::flow::sync_run::{self, Input, Known};
use switchboard_gitops::flow::tenant::{self, Namespace};
use switchboard_gitops::kinds::{Deployment, SyncRun};
use switchboard_kernel::operator::{Declaration, Outward, Stop, Unit};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::{Plan, Standing};
use switchboard_kernel::resource::Selection;
use switchboard_kernel::view::{Outside, View};
use switchboard_ledger::ids::UserId;
use switchboard_ledger::rows::{Application, ClusterUser, Operation, SyncOperation};
use switchboard_ledger::{Change, Filter, Key};

use super::{Backend, SYNC_RUNS_NAME, declared};
use crate::asked::{Asked, text};
use crate::error::{ServiceError, told};
use crate::resources::{DEPLOYMENTS, SYNC_RUNS};
use crate::writes::mutation;
use crate::{doorbell, ids, rows};

/// How soon a run looks again whether the one before it is over, though no other run of the namespace has changed.
const BEHIND: Duration = Duration::from_secs(15);
/// How many rows are asked for by name at once.
const ASKED_AT_ONCE: usize = 500;
/// What it waits for.
const ANOTHER: &str = "another run to end";

/// The operator of GitOpsDeploymentSyncRuns.
#[derive(Clone)]
pub struct SyncRuns(pub Backend);

impl Outward for SyncRuns {
    fn name(&self) -> &str {
        SYNC_RUNS_NAME
    }

    fn declaration(&self) -> Declaration {
        declared(&SYNC_RUNS)
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        let (this, asked) = (self.clone(), Asked::read(request).map_err(|error| told(&error))?);
        let plan = self.0.store().wait(async move || this.answer(&asked).await)?;
        serde_json::to_value(plan).map_err(|error| error.to_string())
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let live = view.get(&SYNC_RUNS, unit.namespace(), unit.name())?.map(|object| object.value());
        let of = live.as_ref().map(|live| text(live, "/spec/gitopsDeploymentName")).unwrap_or_default();
        let mut asked = Asked::of(unit, view, live)?;
        if !of.is_empty() {
            // With its status: an Application is first told of there.
            asked.named = view.get(&DEPLOYMENTS, unit.namespace(), &of)?.map(|object| object.value());
        }
        let plan = asked.ask(outside)?;
        if matches!(&plan.standing, Standing::Waiting(why) if why == ANOTHER) {
            // What is read is waited for: the others of the namespace are told when they are over.
            view.list(&SYNC_RUNS, &Selection::namespace(unit.namespace()))?;
        }
        Ok(plan)
    }
}

impl SyncRuns {
    async fn answer(&self, asked: &Asked) -> Result<Plan, ServiceError> {
        let live: Option<SyncRun> = asked.typed()?;
        let deployment: Option<Deployment> = asked.named.clone().map(serde_json::from_value).transpose()?;
        let store = self.0.store();
        store.settle(async |view| self.decide_on(view, asked, live.as_ref(), deployment.as_ref()).await).await
    }

    async fn decide_on(
        &self,
        view: &mut switchboard_ledger::View,
        asked: &Asked,
        live: Option<&SyncRun>,
        deployment: Option<&Deployment>,
    ) -> Result<(Vec<Change>, Plan), ServiceError> {
        let tenant = asked.tenant();
        let all = rows::sync_runs(view, &self.0.named(asked, tenant.as_ref())).await?;
        let is_live = |known: &&Known| live.is_some_and(|live| live.metadata.id() == known.mapping.resource_uid);
        let mut part = Part { changes: Vec::new(), plan: Plan::in_order(), open: Vec::new(), is_behind: false };
        // A run that was deleted and made anew is another: the old one is ended first.
        for known in all.iter().filter(|known| !is_live(known)) {
            self.one(view, asked, tenant.as_ref(), None, Some(known), None, &mut part).await?;
        }
        if let Some(live) = live {
            let known = all.iter().find(is_live);
            self.one(view, asked, tenant.as_ref(), Some(live), known, deployment, &mut part).await?;
        }
        let overdue = doorbell::until_overdue_ms(&part.open, asked.now()?.moment).map(Duration::from_millis);
        part.plan.again = [part.plan.again, overdue].into_iter().flatten().min();
        let plan = match (part.is_behind, part.open.is_empty()) {
            (true, _) => part.plan.waiting(ANOTHER),
            (false, false) => part.plan.waiting("the agent to follow"),
            (false, true) => part.plan,
        };
        Ok((part.changes, plan))
    }

    #[expect(clippy::too_many_arguments, reason = "what was read so far, each once")]
    async fn one(
        &self,
        view: &mut switchboard_ledger::View,
        asked: &Asked,
        tenant: Option<&Namespace>,
        live: Option<&SyncRun>,
        known: Option<&Known>,
        deployment: Option<&Deployment>,
        part: &mut Part,
    ) -> Result<(), ServiceError> {
        let application = application(view, known, deployment).await?;
        let (user, new) = match (self.user(view, tenant, application.as_ref(), asked).await?, live, known) {
            (Some(found), ..) => found,
            // It went with its namespace, and what it was about went first: nobody is left to ask for anything.
            (None, None, Some(known)) if application.is_none() => {
                part.changes.extend([Change::delete(&known.mapping), Change::delete(&known.sync)]);
                return Ok(());
            }
            (None, ..) => return Ok(()),
        };
        let operations = match known {
            Some(known) => rows::operations(view, known.sync.id.as_str()).await?,
            None => Vec::new(),
        };
        let behind = is_behind(view, known, application.as_ref(), &user.id).await?;
        let nowhere = Namespace { name: asked.namespace.clone(), uid: "".into() };
        let decision = sync_run::decide(
            &Input {
                now: asked.now()?,
                namespace: tenant.unwrap_or(&nowhere),
                user: &user,
                run: live,
                known,
                deployment,
                application: application.as_ref(),
                is_behind_another: behind,
                operations: &operations,
            },
            ids::new,
        );
        if !decision.changes.is_empty() {
            part.changes.extend(new);
        }
        part.open.extend(doorbell::open_after(&operations, &decision.changes));
        part.changes.extend(decision.changes);
        let writes = decision.writes.into_iter();
        let writes = writes.filter_map(|w| mutation(w, asked.object.as_ref(), Place::Configuration));
        part.plan.mutations.extend(writes);
        if behind {
            part.plan.again = Some(BEHIND);
            part.is_behind = true;
        }
        Ok(())
    }

    async fn user(
        &self,
        view: &mut switchboard_ledger::View,
        tenant: Option<&Namespace>,
        application: Option<&Application>,
        asked: &Asked,
    ) -> Result<Option<(ClusterUser, Vec<Change>)>, ServiceError> {
        if let Some(tenant) = tenant {
            let found = rows::user(view, &tenant.uid).await?;
            let now = asked.now()?.moment;
            return Ok(Some(tenant::user(found.as_ref(), tenant, || UserId::from(ids::new()), now)));
        }
        let Some(application) = application else { return Ok(None) };
        let Some(owner) = rows::owner_of(view, &application.id).await? else { return Ok(None) };
        let user: Option<ClusterUser> = view.get(&Key::from(&owner.user)).await?;
        Ok(user.map(|user| (user, Vec::new())))
    }
}

/// What becomes of one run, and of earlier ones of its name.
struct Part {
    changes: Vec<Change>,
    plan: Plan,
    open: Vec<Operation>,
    /// Another run of the same Application is first.
    is_behind: bool,
}

async fn application(
    view: &mut switchboard_ledger::View,
    known: Option<&Known>,
    deployment: Option<&Deployment>,
) -> Result<Option<Application>, ServiceError> {
    if let Some(known) = known {
        return Ok(match &known.sync.application {
            Some(id) => view.get(&Key::from(id)).await?,
            None => None,
        });
    }
    match deployment {
        Some(deployment) => Ok(rows::application_of(view, &deployment.metadata.id()).await?),
        None => Ok(None),
    }
}

/// Whether another run of the same Application is under way. Only what is open is looked at: an Application may have had any number of
/// runs that are over.
async fn is_behind(
    view: &mut switchboard_ledger::View,
    known: Option<&Known>,
    application: Option<&Application>,
    user: &UserId,
) -> Result<bool, ServiceError> {
    let (None, Some(application)) = (known, application) else { return Ok(false) };
    for some in rows::open_syncs(view, user).await?.chunks(ASKED_AT_ONCE) {
        let of = Filter::all().is("application_id", &application.id).limit(1);
        let open = of.any("syncoperation_id", some.iter().map(String::as_str));
        if !view.list::<SyncOperation>(&open).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
