//! What an Argo CD should have beside its Applications: Secrets of environments and repositories, and projects, as rows say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use switchboard_gitops::argo::{
    Thing, credential_name, environment_name, project, project_name, repository_secret, thing_of,
};
use switchboard_gitops::fleet::moving;
use switchboard_gitops::flow::operation::{Wish, ask};
use switchboard_kernel::host::Handle;
use switchboard_kernel::operator::{OperatorName, Unit};
use switchboard_kernel::plan::Plan;
use switchboard_ledger::ids::{EngineInstanceId, OperationId, OperationResource, UserId};
use switchboard_ledger::rows::fleet::{Move, Placement};
use switchboard_ledger::rows::{
    Application, ClusterAccess, ClusterUser, EngineInstance, ManagedEnvironment, RepositoryCredentials,
};
use switchboard_ledger::{Change, Filter, Key, Row, View};

use super::belongings::{Seen, Told};
use super::step::{cluster_secret, is_elsewhere, is_used_at};
use super::{APPLICATIONS_NAME, Agent, PROJECTS_NAME, SECRETS_NAME};
use crate::error::ServiceError;
use crate::{asked, ids, rows};

/// How many rows are read at once when everything is looked at.
const PAGE: u32 = 1000;

/// What rows say of an object.
enum Known {
    /// Nothing: none is about it, or it is at other Argo CDs by now, and its unit, or a move that gave up, left it behind.
    Nowhere,
    /// Nobody knows whether it is this Argo CD's, or it is on its way.
    Elsewhere,
    /// So it should be, on this tenant's behalf, and so it is asked for.
    Here(Value, UserId, OperationResource, String),
}

pub(super) async fn decide_on(
    view: &mut View,
    seen: &Seen,
    agent: &Agent,
) -> Result<(Vec<Change>, Told), ServiceError> {
    let nothing = || (vec![], Told::default());
    let found = rows::instance_in(view, &seen.namespace, &agent.0.cluster).await?;
    let Some(instance) = found else { return Ok(nothing()) };
    let Some(thing) = thing_of(&seen.name) else { return Ok(nothing()) };
    let (wanted, owner, resource, id) = match known(view, &thing, &instance, agent.is_isolated()).await? {
        Known::Here(wanted, owner, resource, id) => (wanted, owner, resource, id),
        Known::Elsewhere => return Ok(nothing()),
        Known::Nowhere => {
            let is_orphan = seen.object.as_ref().is_some_and(|object| is_ours(object, &thing));
            return Ok((vec![], Told { is_orphan, ..Told::default() }));
        }
    };
    let same = if matches!(thing, Thing::Project(_)) { project::same } else { repository_secret::same };
    if seen.object.as_ref().is_some_and(|live| same(live, &wanted)) {
        return Ok(nothing());
    }
    let operations = rows::operations(view, &id).await?;
    let mut changes = Vec::new();
    if !operations.iter().any(|row| rows::is_open(row) && row.instance == instance.id) {
        let wish = Wish { instance: &instance.id, resource, resource_id: &id, owner: &owner };
        let now = asked::now(&seen.now, &seen.stamp)?.moment;
        changes.extend(ask(&operations, &wish, || OperationId::from(ids::new()), now));
    }
    Ok((changes, Told { plan: Plan::nothing().waiting("to be put right"), is_orphan: false }))
}

/// Whether an object says of itself that it is one of ours.
fn is_ours(object: &Value, thing: &Thing) -> bool {
    let meta = &object["metadata"];
    let says = match thing {
        Thing::Environment(_) | Thing::Credential(_) => &meta["labels"][switchboard_gitops::argo::DATABASE_ID],
        Thing::Project(_) => &meta["annotations"]["username"],
    };
    *says == *thing.id() && meta["deletionTimestamp"].is_null()
}

async fn known(
    view: &mut View,
    thing: &Thing,
    instance: &EngineInstance,
    isolated: bool,
) -> Result<Known, ServiceError> {
    let namespace = instance.namespace.as_str();
    Ok(match thing {
        Thing::Environment(id) => {
            if view.get::<ManagedEnvironment>(&Key::from(id)).await?.is_none() {
                return Ok(Known::Nowhere);
            }
            let accesses: Vec<ClusterAccess> =
                view.list(&Filter::all().is("clusteraccess_managed_environment_id", id)).await?;
            let user = accesses.first().map(|access| access.user.clone());
            let Some(access) = accesses.into_iter().find(|access| access.instance == instance.id) else {
                return match user {
                    Some(user) => left_behind(view, &user, &instance.id).await,
                    None => Ok(Known::Elsewhere),
                };
            };
            // A tenant's own namespace has no Secret.
            let is_cluster = rows::name_of_environment(view, id.as_str()).await?.is_some();
            if !is_cluster || is_moving(view, &access.user).await? {
                return Ok(Known::Elsewhere);
            }
            match cluster_secret(view, id, namespace, isolated).await? {
                Some(wanted) => {
                    Known::Here(wanted, access.user, OperationResource::ManagedEnvironment, id.as_str().to_string())
                }
                None => Known::Elsewhere,
            }
        }
        Thing::Credential(id) => {
            let Some(row) = view.get::<RepositoryCredentials>(&Key::from(id)).await? else {
                return Ok(Known::Nowhere);
            };
            if !is_used_at(view, &row, &instance.id).await? {
                return left_behind(view, &row.user, &instance.id).await;
            }
            if is_moving(view, &row.user).await? {
                return Ok(Known::Elsewhere);
            }
            let wanted = repository_secret::object(&row, namespace, isolated);
            Known::Here(wanted, row.user, OperationResource::RepositoryCredentials, id.as_str().to_string())
        }
        Thing::Project(user) => {
            if view.get::<ClusterUser>(&Key::from(user)).await?.is_none() {
                return Ok(Known::Nowhere);
            }
            if !isolated {
                return Ok(Known::Elsewhere);
            }
            if is_elsewhere(view, user, &instance.id).await? {
                return left_behind(view, user, &instance.id).await;
            }
            if is_moving(view, user).await? {
                return Ok(Known::Elsewhere);
            }
            let of_user = Filter::all().is("clusteraccess_user_id", user);
            let accesses: Vec<ClusterAccess> = view.list(&of_user).await?;
            if !accesses.iter().any(|access| access.instance == instance.id) {
                return Ok(Known::Elsewhere);
            }
            match crate::project::wanted(view, user, namespace, true).await? {
                // As every look at a tenant's project is asked for.
                Some(wanted) => {
                    Known::Here(wanted, user.clone(), OperationResource::Application, user.as_str().to_string())
                }
                None => Known::Elsewhere,
            }
        }
    })
}

/// What a tenant uses at other Argo CDs alone, unless it is being carried from or to this one: then it is the move's.
async fn left_behind(view: &mut View, user: &UserId, at: &EngineInstanceId) -> Result<Known, ServiceError> {
    let moves: Vec<Move> = view.list(&Filter::all().is("move_user_id", user)).await?;
    let is_carried = moves.iter().any(|row| moving::is_open(row) && (row.source == *at || row.target == *at));
    Ok(if is_carried { Known::Elsewhere } else { Known::Nowhere })
}

/// Whether anything of a tenant is on its way to another Argo CD: until it is there, nobody but the move touches it.
async fn is_moving(view: &mut View, user: &UserId) -> Result<bool, ServiceError> {
    let placements: Vec<Placement> = view.list(&Filter::all().is("placement_user_id", user)).await?;
    Ok(placements.iter().any(|placement| placement.moving.is_some()))
}

impl Agent {
    /// Has everything looked at that rows say should be there: what went while nobody looked has no object to be woken by.
    ///
    /// # Errors
    /// When the database fails.
    pub(super) async fn look_at_all(&self, handle: &Handle) -> Result<(), ServiceError> {
        let mut view = self.store().ledger().view().await?;
        let mut places: BTreeMap<EngineInstanceId, String> = BTreeMap::new();
        for instance in view.list::<EngineInstance>(&Filter::all()).await? {
            if self.has(&mut view, &instance).await? {
                places.insert(instance.id, instance.namespace);
            }
        }
        let unit = |instance: &EngineInstanceId, name: &str| places.get(instance).map(|at| Unit::object(at, name));
        let mut woken: BTreeMap<&str, BTreeSet<Unit>> = BTreeMap::new();
        for row in all::<Application>(&mut view).await? {
            woken.entry(APPLICATIONS_NAME).or_default().extend(unit(&row.instance, &row.name));
        }
        let accesses: Vec<ClusterAccess> = all(&mut view).await?;
        for access in &accesses {
            let environment = unit(&access.instance, &environment_name(&access.environment));
            woken.entry(SECRETS_NAME).or_default().extend(environment);
            woken.entry(PROJECTS_NAME).or_default().extend(unit(&access.instance, &project_name(&access.user)));
        }
        for row in all::<RepositoryCredentials>(&mut view).await? {
            let used = accesses.iter().filter(|access| access.user == row.user).map(|access| &access.instance);
            let name = credential_name(&row.id);
            let units = used.chain([&row.instance]).filter_map(|instance| unit(instance, &name));
            woken.entry(SECRETS_NAME).or_default().extend(units);
        }
        view.end();
        for (operator, units) in woken {
            // A kernel that has stopped looks again when it is back.
            let _ = handle.tell(OperatorName::new(operator), units.into_iter().collect()).await;
        }
        Ok(())
    }
}

async fn all<R: Row>(view: &mut View) -> Result<Vec<R>, ServiceError> {
    let mut rows: Vec<R> = Vec::new();
    let mut page = Filter::all().limit(PAGE);
    loop {
        let found: Vec<R> = view.list(&page).await?;
        let Some(last) = found.last() else { return Ok(rows) };
        page = Filter::all().limit(PAGE).after(last.key());
        rows.extend(found);
    }
}
