//! Units: GitOpsDeployments.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use switchboard_gitops::argo::{application_name, status};
use switchboard_gitops::fleet::NoRoom;
use switchboard_gitops::flow::deployment::{self, Environment, Input, Known, removal_id};
use switchboard_gitops::flow::tenant::{self, Namespace};
use switchboard_gitops::kinds::Deployment;
use switchboard_gitops::kinds::environment::CONDITION;
use switchboard_gitops::repository::normalise;
use switchboard_kernel::operator::{Declaration, Outward, Stop, Unit};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::{Plan, Standing};
use switchboard_kernel::view::{Outside, View};
use switchboard_ledger::ids::{EngineInstanceId, ManagedEnvironmentId, Uid, UserId};
use switchboard_ledger::rows::{AppProjectRepository, Application, ClusterUser, EngineInstance, Operation};
use switchboard_ledger::{Change, Filter, Key, Row, Table};

use super::{Backend, DEPLOYMENTS_NAME, declared, roomless};
use crate::asked::{Asked, text};
use crate::error::{ServiceError, told};
use crate::instance::{self, Seat};
use crate::resources::{DEPLOYMENTS, ENVIRONMENTS};
use crate::store::aside;
use crate::writes::mutation;
use crate::{doorbell, ids, rows};

/// How soon is looked again for rows of an environment that should have some.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The operator of GitOpsDeployments.
#[derive(Clone)]
pub struct Deployments(pub Backend);

impl Outward for Deployments {
    fn name(&self) -> &str {
        DEPLOYMENTS_NAME
    }

    fn declaration(&self) -> Declaration {
        declared(&DEPLOYMENTS)
    }

    fn reach(&self, request: &Value) -> Result<Value, String> {
        let (this, asked) = (self.clone(), Arc::new(Asked::read(request).map_err(|error| told(&error))?));
        let question = Arc::clone(&asked);
        let plan = self.0.store().wait(async move || this.answer(&question).await)?;
        self.0.0.failing.note(&asked, &plan);
        serde_json::to_value(plan).map_err(|error| error.to_string())
    }

    fn decide(&self, unit: &Unit, view: &View, outside: &Outside<'_>) -> Result<Plan, Stop> {
        let live = view.get(&DEPLOYMENTS, unit.namespace(), unit.name())?.map(|object| object.value());
        let wanted = live.as_ref().map(|live| text(live, "/spec/destination/environment")).unwrap_or_default();
        let mut asked = Asked::of(unit, view, live)?;
        if !wanted.is_empty() {
            // With its status: that is written when the environment can be used, or no longer.
            asked.named = view.get(&ENVIRONMENTS, unit.namespace(), &wanted)?.map(|object| object.value());
        }
        asked.ask(outside)
    }
}

/// Where a deployment should go, as far as rows tell.
enum Target {
    Own(ManagedEnvironmentId),
    Of(ManagedEnvironmentId),
    Unusable,
}

/// All rows that a decision is made on.
struct Rows {
    user: ClusterUser,
    known: Vec<Known>,
    target: Target,
    instance: Option<Result<Seat, NoRoom>>,
    operations: Vec<Operation>,
    instances: BTreeSet<EngineInstanceId>,
    repositories: Vec<AppProjectRepository>,
    compared: Option<String>,
}

impl Deployments {
    async fn answer(&self, asked: &Asked) -> Result<Plan, ServiceError> {
        let live: Option<Deployment> = asked.typed()?;
        let removal =
            live.as_ref().filter(|live| live.metadata.is_deleted()).map(|live| removal_id(&live.metadata.id()));
        if let Some(removal) = &removal {
            // Before any row is read: what is over after that is told.
            self.0.removals().insert(removal.clone(), Unit::object(&asked.namespace, &asked.name));
        }
        let decided = self.0.store().settle(async |view| self.decide_on(view, asked, live.as_ref()).await);
        let (plan, may_be_unnamed) = decided.await?;
        let plan = self.0.0.roomless.note(Unit::object(&asked.namespace, &asked.name), plan);
        if let Some(removal) = removal.filter(|_| plan.standing == Standing::Ready) {
            self.0.removals().remove(&removal);
        }
        if may_be_unnamed {
            self.0.settled().mark(&asked.namespace);
        }
        Ok(plan)
    }

    async fn decide_on(
        &self,
        view: &mut switchboard_ledger::View,
        asked: &Asked,
        live: Option<&Deployment>,
    ) -> Result<(Vec<Change>, (Plan, bool)), ServiceError> {
        let now = asked.now()?;
        let tenant = asked.tenant();
        let wanted = live.filter(|live| !live.metadata.is_deleted());
        let mut changes = Vec::new();
        let known = rows::deployments(view, &self.0.named(asked, tenant.as_ref())).await?;
        let found = self.user(view, tenant.as_ref(), &known).await?;
        // Whoever is taken from rows has one.
        let is_tenant = found.is_some() || live.is_none();
        let user = match (found, &tenant) {
            (Some(user), None) => user,
            (found, Some(namespace)) if found.is_some() || live.is_some() => {
                let (user, new) = tenant::user(found.as_ref(), namespace, || UserId::from(ids::new()), now.moment);
                // Whoever only goes needs no row, but is let go.
                changes.extend(new.into_iter().filter(|_| wanted.is_some()));
                user
            }
            // Nothing of a namespace that was made anew is known yet: what is there is of an earlier one of its name.
            (None, Some(_)) if !known.is_empty() => match self.user(view, None, &known).await? {
                Some(earlier) => earlier,
                None => return Ok((changes, (Plan::nothing(), true))),
            },
            // There is nothing of it, or nobody whose it could be.
            _ => return Ok((changes, (Plan::nothing(), true))),
        };
        let rows = self.rows(view, asked, wanted, user, known, tenant.as_ref(), &mut changes).await?;
        let none = (no_instance(), Vec::new());
        let (instance, placed) = match &rows.instance {
            Some(Ok(seat)) => seat,
            Some(Err(full)) => {
                return Ok((vec![], (roomless::waits(full), rows.repositories.is_empty())));
            }
            None => &none,
        };
        let nowhere = Namespace { name: asked.namespace.clone(), uid: Uid::from("") };
        let urls: BTreeSet<String> = wanted.iter().map(|live| normalise(&live.spec.source.repo_url)).collect();
        let decision = deployment::decide(
            &Input {
                now,
                namespace: tenant.as_ref().unwrap_or(&nowhere),
                user: &rows.user,
                is_tenant,
                deployment: live,
                known: &rows.known,
                environment: match &rows.target {
                    Target::Own(id) => Environment::Own(id),
                    Target::Of(id) => Environment::Of(id),
                    Target::Unusable => Environment::Unusable,
                },
                instance,
                operations: &rows.operations,
                instances: &rows.instances,
                repositories: &rows.repositories,
                wanted_repositories: &urls,
                compared_environment: rows.compared.as_deref(),
                isolated: self.0.settings().isolated,
            },
            ids::new,
        );
        let open = doorbell::open_after(&rows.operations, &decision.changes);
        let mut plan = Plan::in_order();
        let writes = decision.writes.into_iter();
        plan.mutations.extend(writes.filter_map(|w| mutation(w, asked.object.as_ref(), Place::Configuration)));
        let overdue = doorbell::until_overdue_ms(&open, now.moment);
        plan.again = [decision.again_ms, overdue].into_iter().flatten().min().map(Duration::from_millis);
        if matches!(rows.target, Target::Unusable) && asked.named.as_ref().is_some_and(is_connected) {
            // Its rows were lost, and are about to be there again: its status will not say so.
            plan = plan.again_after(LOOK_AGAIN);
        }
        if decision.changes.is_empty() {
            // Nothing relies on what is new.
            changes.clear();
        } else {
            changes.extend(placed.iter().cloned());
        }
        let may_be_unnamed = wanted.is_none() || unnames(&decision.changes, &rows.repositories);
        changes.extend(decision.changes);
        let plan = if open.is_empty() { plan } else { plan.waiting("the agent to follow") };
        Ok((changes, (plan, may_be_unnamed)))
    }

    /// The tenant of a namespace that is there, or whoever the rows say it was.
    async fn user(
        &self,
        view: &mut switchboard_ledger::View,
        tenant: Option<&Namespace>,
        known: &[Known],
    ) -> Result<Option<ClusterUser>, ServiceError> {
        // A namespace that was made anew is another tenant, whatever rows of its name say.
        if let Some(tenant) = tenant {
            return Ok(rows::user(view, &tenant.uid).await?);
        }
        match known.iter().flat_map(|known| &known.owners).next() {
            Some(owner) => Ok(view.get(&Key::from(&owner.user)).await?),
            None => Ok(None),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what was read so far, each once")]
    async fn rows(
        &self,
        view: &mut switchboard_ledger::View,
        asked: &Asked,
        wanted: Option<&Deployment>,
        user: ClusterUser,
        known: Vec<Known>,
        tenant: Option<&Namespace>,
        changes: &mut Vec<Change>,
    ) -> Result<Rows, ServiceError> {
        let target = match (wanted, tenant) {
            (Some(wanted), Some(tenant)) => self.target(view, asked, wanted, tenant, changes).await?,
            _ => Target::Unusable,
        };
        let environment = match &target {
            Target::Own(id) | Target::Of(id) => Some(id),
            Target::Unusable => None,
        };
        let mut operations = Vec::new();
        for application in known.iter().filter_map(|known| known.application.as_ref()) {
            operations.extend(rows::operations(view, application.id.as_str()).await?);
        }
        let gone = asked.object.as_ref().filter(|_| wanted.is_none());
        let mut instances = BTreeSet::new();
        if let Some(uid) = gone.map(|gone| Uid::from(text(gone, "/metadata/uid"))) {
            operations.extend(rows::removals(view, &uid).await?);
            if known.is_empty() && operations.is_empty() {
                instances = rows::instances(view).await?;
            }
        }
        let repositories = match wanted.map(|wanted| normalise(&wanted.spec.source.repo_url)) {
            Some(url) => view.list(&Filter::all().is("clusteruser_id", &user.id).is("repo_url", url.as_str())).await?,
            None => Vec::new(),
        };
        let compared = compared(view, &known).await?;
        // One that is somewhere stays there, unless it goes to another environment: a unit is never split. One that goes nowhere
        // needs none.
        let uid = wanted.map(|wanted| wanted.metadata.id());
        let there = known.iter().find(|known| uid.as_ref() == Some(&known.mapping.deployment_uid));
        let there = there.and_then(|known| known.application.as_ref());
        let at = self.0.settings().engine.as_ref().filter(|_| matches!(target, Target::Own(_)));
        let stays = there.filter(|there| environment.is_none_or(|wanted| there.environment.as_ref() == Some(wanted)));
        let instance = match (stays, environment) {
            (Some(there), _) => rows::instance(view, &there.instance).await?.map(|one| Ok((one, Vec::new()))),
            (None, Some(environment)) => {
                let name = uid.as_ref().map(application_name).unwrap_or_default();
                Some(instance::place(view, &user.id, environment, &name, at, asked.now()?.moment).await?)
            }
            (None, None) => None,
        };
        Ok(Rows { user, known, target, instance, operations, instances, repositories, compared })
    }

    async fn target(
        &self,
        view: &mut switchboard_ledger::View,
        asked: &Asked,
        wanted: &Deployment,
        tenant: &Namespace,
        changes: &mut Vec<Change>,
    ) -> Result<Target, ServiceError> {
        if wanted.spec.destination.environment.is_empty() {
            if !self.0.settings().in_cluster {
                return Ok(Target::Unusable);
            }
            let found = rows::own_environment(view, &tenant.uid).await?;
            let (id, new) = tenant::own_environment(found.as_ref(), tenant, ids::new, asked.now()?.moment);
            changes.extend(new);
            return Ok(Target::Own(id));
        }
        let Some(environment) = asked.named.as_ref().filter(|named| named["metadata"]["deletionTimestamp"].is_null())
        else {
            return Ok(Target::Unusable);
        };
        // By its uid, and that is of an object of the tenant's own namespace: nobody else's can be named.
        let row = rows::environment_of(view, &Uid::from(text(environment, "/metadata/uid"))).await?;
        Ok(row.map_or(Target::Unusable, |row| Target::Of(ManagedEnvironmentId::from(row.relation_key))))
    }
}

/// Whether the repositories of a tenant may be others than its resources name once these changes are made: an Application changes or
/// goes, and with it what it names; or its repository has no row though it is named, because it is refused.
fn unnames(changes: &[Change], repositories: &[AppProjectRepository]) -> bool {
    let is_of = |change: &Change, table: &Table| change.table() == table && !matches!(change, Change::Insert { .. });
    let has_row =
        !repositories.is_empty() || changes.iter().any(|change| change.table() == AppProjectRepository::TABLE);
    !has_row || changes.iter().any(|change| is_of(change, Application::TABLE))
}

/// Whether an environment says that it can be used.
fn is_connected(environment: &Value) -> bool {
    let mut all = environment["status"]["conditions"].as_array().into_iter().flatten();
    all.any(|one| one["type"] == CONDITION && one["status"] == "True")
        && environment["metadata"]["deletionTimestamp"].is_null()
}

/// What goes needs no Argo CD to go to.
fn no_instance() -> EngineInstance {
    EngineInstance { id: "".into(), namespace: String::new(), namespace_uid: "".into(), cluster: "".into() }
}

/// The tenant's name for the environment that Argo CD compared with.
async fn compared(view: &mut switchboard_ledger::View, known: &[Known]) -> Result<Option<String>, ServiceError> {
    let packed = known.iter().find_map(|known| known.state.as_ref()?.status.clone()).unwrap_or_default();
    let Ok(said) = aside(packed.len(), move || status::unpack(&packed)).await else { return Ok(None) };
    match status::compared_environment(&said) {
        Some(id) => Ok(rows::name_of_environment(view, id).await?),
        None => Ok(None),
    }
}
