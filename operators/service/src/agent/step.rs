//! What is left to do about a row.

use serde_json::Value;
use switchboard_gitops::argo::{
    application::is_in_cluster, application_name, cluster_secret, credential_name, environment_name, new_namespace,
    project_name, repository_secret, spec_field,
};
use switchboard_gitops::flow::agent::{self, Around, CUT, Step};
use switchboard_gitops::flow::operation::removed;
use switchboard_ledger::ids::{
    ApplicationId, EngineInstanceId, ManagedEnvironmentId, OperationResource, OperationState, RepositoryCredentialsId,
    SyncOperationId, Uid, UserId,
};
use switchboard_ledger::rows::fleet::Placement;
use switchboard_ledger::rows::{
    AppProjectManagedEnvironment, AppProjectRepository, Application, ClusterAccess, ClusterCredentials,
    ManagedEnvironment, Operation, RepositoryCredentials, SyncOperation,
};
use switchboard_ledger::{Change, Filter, Key, Moment, View};

use super::operations::{Live, Names};
use crate::error::ServiceError;
use crate::{instance, project, rows};

/// What is said of an Operation that asks for an Argo CD.
const NO_PROVISIONING: &str =
    "an Argo CD is not made by an Operation: install it in its namespace, then use `switchboard gitops fleet add`";

/// What is next, and what of the row changes with it.
pub struct Next {
    /// What is next.
    pub next: Step,
    /// What is remembered of what is about to be done.
    pub begun: Option<Change>,
}

/// Which objects a row is about.
///
/// # Errors
/// As reading.
pub async fn names(view: &mut View, row: &Operation) -> Result<Names, ServiceError> {
    let id = row.resource_id.as_str();
    Ok(match row.resource {
        OperationResource::Application => {
            let application: Option<Application> = view.get(&Key::from(id)).await?;
            let owner = owner(view, row, application.as_ref()).await?;
            let project = owner.as_ref().map(project_name);
            match application {
                Some(application) => Names {
                    secrets: {
                        let mut secrets: Vec<String> = application.environment.iter().map(environment_name).collect();
                        secrets.extend(
                            repositories(view, owner.as_ref()).await?.iter().map(|row| credential_name(&row.id)),
                        );
                        secrets
                    },
                    applications: vec![application.name],
                    project,
                    ..Names::default()
                },
                // A row that is gone says no name. Our own removals do.
                None => {
                    let uid = removed(&row.id);
                    let applications = uid.map(|uid| application_name(&Uid::from(uid))).into_iter().collect();
                    let is_about_project = owner.as_ref().is_some_and(|owner| owner.as_str() == id);
                    let labelled = (uid.is_none() && !is_about_project).then(|| id.to_string());
                    let may_go = match &owner {
                        Some(owner) => {
                            !has_project(view, owner).await? || is_elsewhere(view, owner, &row.instance).await?
                        }
                        None => false,
                    };
                    Names { applications, labelled, project, may_go, ..Names::default() }
                }
            }
        }
        OperationResource::SyncOperation => match sync(view, row).await?.1 {
            Some(application) => Names { applications: vec![application.name], ..Names::default() },
            None => Names::default(),
        },
        OperationResource::ManagedEnvironment => {
            let mut secrets = vec![environment_name(&ManagedEnvironmentId::from(id))];
            let owned = repositories(view, row.owner.as_ref()).await?;
            secrets.extend(owned.iter().map(|row| credential_name(&row.id)));
            Names { secrets, ..Names::default() }
        }
        OperationResource::RepositoryCredentials => {
            Names { secrets: vec![credential_name(&RepositoryCredentialsId::from(id))], ..Names::default() }
        }
        OperationResource::EngineInstance => Names::default(),
    })
}

/// Where the unit is that a row is about; none if it is about no Application that is there.
///
/// # Errors
/// As reading.
pub async fn placement(view: &mut View, row: &Operation) -> Result<Option<Placement>, ServiceError> {
    let application: Option<Application> = match row.resource {
        OperationResource::Application => view.get(&Key::from(row.resource_id.as_str())).await?,
        OperationResource::SyncOperation => sync(view, row).await?.1,
        _ => None,
    };
    let Some(application) = application else { return Ok(None) };
    let Some(environment) = &application.environment else { return Ok(None) };
    match rows::owner_of(view, &application.id).await? {
        Some(owner) => Ok(instance::placement(view, &owner.user, environment).await?),
        None => Ok(None),
    }
}

/// What is left to do.
///
/// # Errors
/// As reading.
pub async fn step(
    view: &mut View,
    row: &Operation,
    namespace: &str,
    live: &Live,
    isolated: bool,
    now: Moment,
) -> Result<Next, ServiceError> {
    let next = |next: Step| Next { next, begun: None };
    let id = row.resource_id.as_str();
    Ok(match row.resource {
        OperationResource::Application => application(view, row, namespace, live, isolated, now).await?,
        OperationResource::SyncOperation => {
            let (sync, application) = sync(view, row).await?;
            let id = SyncOperationId::from(id);
            next(agent::sync(sync.as_ref(), &id, live.applications.first(), application.is_some()))
        }
        OperationResource::ManagedEnvironment => {
            let id = ManagedEnvironmentId::from(id);
            // One that was asked for before its unit went to another Argo CD has no place here any more.
            let wanted = match has_gone(view, &id, &row.instance).await? {
                true => None,
                false => cluster_secret(view, &id, namespace, isolated).await?,
            };
            let mut secrets: Vec<Value> = live.secret(&environment_name(&id)).into_iter().collect();
            if wanted.is_none() {
                // With the last unit of a tenant go the Secrets of its repositories.
                for row_of in repositories(view, row.owner.as_ref()).await? {
                    if !is_used_at(view, &row_of, &row.instance).await? {
                        secrets.extend(live.secret(&credential_name(&row_of.id)));
                    }
                }
            }
            next(agent::environment(wanted.as_ref(), &secrets))
        }
        OperationResource::RepositoryCredentials => {
            let wanted: Option<RepositoryCredentials> = view.get(&Key::from(id)).await?;
            // One whose tenant has nothing here any more has no place here.
            let wanted = match wanted {
                Some(wanted) if is_used_at(view, &wanted, &row.instance).await? => Some(wanted),
                _ => None,
            };
            next(agent::credential(wanted.as_ref(), namespace, &live.secrets, isolated))
        }
        // The original makes an ArgoCD resource for its operator, which is not there.
        OperationResource::EngineInstance => next(Step::Done(Err(NO_PROVISIONING.to_string()))),
    })
}

async fn application(
    view: &mut View,
    row: &Operation,
    namespace: &str,
    live: &Live,
    isolated: bool,
    now: Moment,
) -> Result<Next, ServiceError> {
    let wanted: Option<Application> = view.get(&Key::from(row.resource_id.as_str())).await?;
    if wanted.as_ref().is_some_and(|wanted| wanted.instance != row.instance) {
        return Ok(Next { next: agent::let_go(&live.applications), begun: None });
    }
    let owner = owner(view, row, wanted.as_ref()).await?;
    let project = match owner.as_ref().filter(|_| isolated) {
        // Its unit may have gone to another Argo CD meanwhile: who makes a project here again fights with the move that removes it.
        Some(owner) if wanted.is_none() && is_elsewhere(view, owner, &row.instance).await? => None,
        Some(owner) => {
            let is_about_project = owner.as_str() == row.resource_id;
            let looks = is_about_project || new_namespace::matters(wanted.as_ref(), live.project.as_ref());
            project::wanted(view, owner, namespace, looks).await?
        }
        None => None,
    };
    let environment = wanted.as_ref().and_then(|wanted| wanted.environment.as_ref());
    // There is none for the cluster that Argo CD runs on.
    let is_own =
        wanted.as_ref().is_some_and(|row| spec_field::read(&row.spec_field).is_ok_and(|spec| is_in_cluster(&spec)));
    let secret = match environment.filter(|_| !is_own) {
        Some(environment) => cluster_secret(view, environment, namespace, isolated).await?,
        None => None,
    };
    let mut wanted_repositories = Vec::new();
    for row in repositories(view, owner.as_ref().filter(|_| wanted.is_some())).await? {
        let wanted = repository_secret::object(&row, namespace, isolated);
        wanted_repositories.push((wanted, live.secret(&credential_name(&row.id))));
    }
    let live_secret = environment.and_then(|environment| live.secret(&environment_name(environment)));
    let around = Around {
        project: project.as_ref(),
        live_project: live.project.as_ref().filter(|_| isolated),
        is_project_used: live.in_project > 0,
        repositories: &wanted_repositories,
        secret: secret.as_ref(),
        live_secret: live_secret.as_ref(),
    };
    let Some(wanted) = wanted else { return Ok(removal(row, live, &around, now)) };
    Ok(Next { next: agent::keep(&wanted, namespace, live.applications.first(), &around), begun: None })
}

/// That an Application goes without what it deployed is noted before it goes: afterwards nothing would say so.
fn removal(row: &Operation, live: &Live, around: &Around<'_>, now: Moment) -> Next {
    let was_cut = agent::was_cut(row);
    let is_cut = live.applications.iter().any(|object| agent::is_cut(object, now));
    let noted = Operation {
        state: OperationState::InProgress,
        human_readable_state: Some(CUT.to_string()),
        last_state_update: now,
        ..row.clone()
    };
    let begun = (is_cut && !was_cut).then(|| Change::update(row, &noted));
    Next { next: agent::remove(&live.applications, around, was_cut, now), begun }
}

/// Whose an Application is, by its own row; the original takes whoever asked, and that may be a clean-up.
async fn owner(
    view: &mut View,
    row: &Operation,
    application: Option<&Application>,
) -> Result<Option<UserId>, ServiceError> {
    let id = application.map_or_else(|| ApplicationId::from(row.resource_id.as_str()), |one| one.id.clone());
    let owner = rows::owner_of(view, &id).await?;
    Ok(owner.map(|owner| owner.user).or_else(|| row.owner.clone()))
}

/// A tenant's credentials.
async fn repositories(view: &mut View, user: Option<&UserId>) -> Result<Vec<RepositoryCredentials>, ServiceError> {
    match user {
        Some(user) => Ok(view.list(&Filter::all().is("repo_cred_user_id", user)).await?),
        None => Ok(Vec::new()),
    }
}

/// Whether an Argo CD needs a credential: it is the one of its row, or has a unit of its tenant.
pub(super) async fn is_used_at(
    view: &mut View,
    row: &RepositoryCredentials,
    at: &EngineInstanceId,
) -> Result<bool, ServiceError> {
    Ok(row.instance == *at || instance::of_units(view, &row.user).await?.contains(at))
}

/// Whether an environment is used through other Argo CDs, and not through this one.
async fn has_gone(view: &mut View, id: &ManagedEnvironmentId, from: &EngineInstanceId) -> Result<bool, ServiceError> {
    let accesses: Vec<ClusterAccess> = view.list(&Filter::all().is("clusteraccess_managed_environment_id", id)).await?;
    if accesses.is_empty() || accesses.iter().any(|access| access.instance == *from) {
        return Ok(false);
    }
    let here = Filter::all().is("managed_environment_id", id).is("engine_instance_inst_id", from).limit(1);
    Ok(view.list::<Application>(&here).await?.is_empty())
}

/// Whether a tenant has anything to deploy from or to.
async fn has_project(view: &mut View, user: &UserId) -> Result<bool, ServiceError> {
    let of_user = Filter::all().is("clusteruser_id", user).limit(1);
    Ok(!view.list::<AppProjectRepository>(&of_user).await?.is_empty()
        || !view.list::<AppProjectManagedEnvironment>(&of_user).await?.is_empty())
}

/// Whether all that a tenant uses is at other Argo CDs. Of one that uses none nobody knows.
pub(super) async fn is_elsewhere(
    view: &mut View,
    user: &UserId,
    from: &EngineInstanceId,
) -> Result<bool, ServiceError> {
    let mut used = instance::of_credentials(view, user).await?;
    let accesses: Vec<ClusterAccess> = view.list(&Filter::all().is("clusteraccess_user_id", user)).await?;
    used.extend(accesses.into_iter().map(|access| access.instance));
    used.extend(repositories(view, Some(user)).await?.into_iter().map(|row| row.instance));
    Ok(!used.is_empty() && !used.contains(from))
}

/// The Secret of an environment; none for one that is gone, and for a tenant's own namespace.
pub(super) async fn cluster_secret(
    view: &mut View,
    id: &ManagedEnvironmentId,
    namespace: &str,
    isolated: bool,
) -> Result<Option<Value>, ServiceError> {
    let Some(environment) = view.get::<ManagedEnvironment>(&Key::from(id)).await? else { return Ok(None) };
    let Some(credentials) = view.get::<ClusterCredentials>(&Key::from(&environment.credentials)).await? else {
        return Ok(None);
    };
    let permitted: Vec<AppProjectManagedEnvironment> =
        view.list(&Filter::all().is("managed_environment_id", id)).await?;
    let user = permitted.first().map(|permission| &permission.user).filter(|_| isolated);
    Ok(Some(cluster_secret::object(&environment, &credentials, namespace, user)?))
}

async fn sync(view: &mut View, row: &Operation) -> Result<(Option<SyncOperation>, Option<Application>), ServiceError> {
    let sync: Option<SyncOperation> = view.get(&Key::from(row.resource_id.as_str())).await?;
    let application = match sync.as_ref().and_then(|sync| sync.application.as_ref()) {
        Some(id) => view.get(&Key::from(id)).await?,
        None => None,
    };
    Ok((sync, application))
}
