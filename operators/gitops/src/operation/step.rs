//! Next step for a row.

use serde_json::Value;
use switchboard_sql::{DbTimestamp, Filter, LedgerView, RowChange, RowKey};

use crate::argocd::{application_name, credential_name, environment_name, project_name};
use crate::credential::repository_secret;
use crate::deployment::application::is_in_cluster;
use crate::deployment::{new_namespace, spec_field};
use crate::environment::cluster_secret;
use crate::error::ServiceError;
use crate::ids::{
    ApplicationId, EngineInstanceId, ManagedEnvironmentId, OperationResource, OperationState, RepositoryCredentialsId,
    SyncOperationId, Uid, UserId,
};
use crate::operation::agent::{self, AgentStep, ApplicationContext, REMOVAL_TIMED_OUT};
use crate::operation::operator::{LiveObjects, ObjectNames};
use crate::operation::removed_deployment;
use crate::placement::selection;
use crate::related_rows;
use crate::rows::fleet::Placement;
use crate::rows::{
    AppProjectManagedEnvironment, AppProjectRepository, Application, ClusterAccess, ClusterCredentials,
    ManagedEnvironment, Operation, RepositoryCredentials, SyncOperation,
};
use crate::tenant::desired_project;

/// Failure of an Operation that requests an Argo CD instance.
const NO_PROVISIONING: &str =
    "an Operation cannot create an Argo CD: install it in its namespace, then run `switchboard gitops fleet add`";

/// Next step, with the change of the row that precedes it.
pub struct NextStep {
    /// Next step.
    pub next: AgentStep,
    /// Change that records the step before it is taken.
    pub started: Option<RowChange>,
}

/// Returns the objects of a row.
///
/// # Errors
/// When the database fails.
pub async fn object_names(view: &mut LedgerView, row: &Operation) -> Result<ObjectNames, ServiceError> {
    let id = row.resource_id.as_str();
    Ok(match row.resource {
        OperationResource::Application => {
            let application: Option<Application> = view.get(&RowKey::from(id)).await?;
            let owner = owner(view, row, application.as_ref()).await?;
            let project = owner.as_ref().map(project_name);
            match application {
                Some(application) => ObjectNames {
                    secrets: {
                        let mut secrets: Vec<String> = application.environment.iter().map(environment_name).collect();
                        secrets.extend(
                            repositories(view, owner.as_ref()).await?.iter().map(|row| credential_name(&row.id)),
                        );
                        secrets
                    },
                    applications: vec![application.name],
                    project,
                    ..ObjectNames::default()
                },
                // A deleted row has no name. The ids of the service's own removals contain it.
                None => {
                    let uid = removed_deployment(&row.id);
                    let applications = uid.map(|uid| application_name(&Uid::from(uid))).into_iter().collect();
                    let is_about_project = owner.as_ref().is_some_and(|owner| owner.as_str() == id);
                    let labelled = (uid.is_none() && !is_about_project).then(|| id.to_string());
                    let may_be_deleted = match &owner {
                        Some(owner) => {
                            !has_project(view, owner).await? || is_elsewhere(view, owner, &row.instance).await?
                        }
                        None => false,
                    };
                    ObjectNames { applications, labelled, project, may_be_deleted, ..ObjectNames::default() }
                }
            }
        }
        OperationResource::SyncOperation => match sync(view, row).await?.1 {
            Some(application) => ObjectNames { applications: vec![application.name], ..ObjectNames::default() },
            None => ObjectNames::default(),
        },
        OperationResource::ManagedEnvironment => {
            let mut secrets = vec![environment_name(&ManagedEnvironmentId::from(id))];
            let owned = repositories(view, row.owner.as_ref()).await?;
            secrets.extend(owned.iter().map(|row| credential_name(&row.id)));
            ObjectNames { secrets, ..ObjectNames::default() }
        }
        OperationResource::RepositoryCredentials => {
            ObjectNames { secrets: vec![credential_name(&RepositoryCredentialsId::from(id))], ..ObjectNames::default() }
        }
        OperationResource::EngineInstance => ObjectNames::default(),
    })
}

/// Returns the placement of a row; `None` if the row is about no existing Application.
///
/// # Errors
/// When the database fails.
pub async fn placement(view: &mut LedgerView, row: &Operation) -> Result<Option<Placement>, ServiceError> {
    let application: Option<Application> = match row.resource {
        OperationResource::Application => view.get(&RowKey::from(row.resource_id.as_str())).await?,
        OperationResource::SyncOperation => sync(view, row).await?.1,
        _ => None,
    };
    let Some(application) = application else { return Ok(None) };
    let Some(environment) = &application.environment else { return Ok(None) };
    match related_rows::owner_of(view, &application.id).await? {
        Some(owner) => Ok(selection::placement(view, &owner.user, environment).await?),
        None => Ok(None),
    }
}

/// Returns the next step.
///
/// # Errors
/// When the database fails.
pub async fn step(
    view: &mut LedgerView,
    row: &Operation,
    namespace: &str,
    live: &LiveObjects,
    isolated: bool,
    now: DbTimestamp,
) -> Result<NextStep, ServiceError> {
    let next = |next: AgentStep| NextStep { next, started: None };
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
            // The placement may have moved to another instance since the request.
            let wanted = match moved_away(view, &id, &row.instance).await? {
                true => None,
                false => cluster_secret(view, &id, namespace, isolated).await?,
            };
            let mut secrets: Vec<Value> = live.secret(&environment_name(&id)).into_iter().collect();
            if wanted.is_none() {
                // The Secrets of a tenant's repositories are deleted with the tenant's last placement.
                for row_of in repositories(view, row.owner.as_ref()).await? {
                    if !is_used_at(view, &row_of, &row.instance).await? {
                        secrets.extend(live.secret(&credential_name(&row_of.id)));
                    }
                }
            }
            next(agent::environment(wanted.as_ref(), &secrets))
        }
        OperationResource::RepositoryCredentials => {
            let wanted: Option<RepositoryCredentials> = view.get(&RowKey::from(id)).await?;
            // A tenant that has nothing at this instance needs no Secret here.
            let wanted = match wanted {
                Some(wanted) if is_used_at(view, &wanted, &row.instance).await? => Some(wanted),
                _ => None,
            };
            next(agent::credential(wanted.as_ref(), namespace, &live.secrets, isolated))
        }
        // managed-gitops creates an ArgoCD resource for the Argo CD operator, which is not present here.
        OperationResource::EngineInstance => next(AgentStep::Done(Err(NO_PROVISIONING.to_string()))),
    })
}

async fn application(
    view: &mut LedgerView,
    row: &Operation,
    namespace: &str,
    live: &LiveObjects,
    isolated: bool,
    now: DbTimestamp,
) -> Result<NextStep, ServiceError> {
    let wanted: Option<Application> = view.get(&RowKey::from(row.resource_id.as_str())).await?;
    if wanted.as_ref().is_some_and(|wanted| wanted.instance != row.instance) {
        return Ok(NextStep { next: agent::release_applications(&live.applications), started: None });
    }
    let owner = owner(view, row, wanted.as_ref()).await?;
    let project = match owner.as_ref().filter(|_| isolated) {
        // The placement may have moved to another instance: recreating the project here would conflict with the move
        // that removes it.
        Some(owner) if wanted.is_none() && is_elsewhere(view, owner, &row.instance).await? => None,
        Some(owner) => {
            let is_about_project = owner.as_str() == row.resource_id;
            let with_namespaces = is_about_project || new_namespace::may_change(wanted.as_ref(), live.project.as_ref());
            desired_project::desired_project(view, owner, namespace, with_namespaces).await?
        }
        None => None,
    };
    let environment = wanted.as_ref().and_then(|wanted| wanted.environment.as_ref());
    // The cluster of Argo CD itself has no Secret.
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
    let around = ApplicationContext {
        project: project.as_ref(),
        live_project: live.project.as_ref().filter(|_| isolated),
        is_project_used: live.in_project > 0,
        repositories: &wanted_repositories,
        secret: secret.as_ref(),
        live_secret: live_secret.as_ref(),
    };
    let Some(wanted) = wanted else { return Ok(removal(row, live, &around, now)) };
    Ok(NextStep {
        next: agent::ensure_application(&wanted, namespace, live.applications.first(), &around),
        started: None,
    })
}

/// Records the removal of an Application without its resources before it happens: afterwards nothing shows it.
fn removal(row: &Operation, live: &LiveObjects, around: &ApplicationContext<'_>, now: DbTimestamp) -> NextStep {
    let was_cut = agent::was_forced(row);
    let is_cut = live.applications.iter().any(|object| agent::is_forced(object, now));
    let noted = Operation {
        state: OperationState::InProgress,
        human_readable_state: Some(REMOVAL_TIMED_OUT.to_string()),
        last_state_update: now,
        ..row.clone()
    };
    let started = (is_cut && !was_cut).then(|| RowChange::update(row, &noted));
    NextStep { next: agent::remove_applications(&live.applications, around, was_cut, now), started }
}

/// Returns the owner of an Application according to its row. managed-gitops takes the owner of the Operation, which may
/// be a cleanup.
async fn owner(
    view: &mut LedgerView,
    row: &Operation,
    application: Option<&Application>,
) -> Result<Option<UserId>, ServiceError> {
    let id = application.map_or_else(|| ApplicationId::from(row.resource_id.as_str()), |one| one.id.clone());
    let owner = related_rows::owner_of(view, &id).await?;
    Ok(owner.map(|owner| owner.user).or_else(|| row.owner.clone()))
}

/// Returns the repository credentials of a tenant.
async fn repositories(
    view: &mut LedgerView,
    user: Option<&UserId>,
) -> Result<Vec<RepositoryCredentials>, ServiceError> {
    match user {
        Some(user) => Ok(view.list(&Filter::all().is("repo_cred_user_id", user)).await?),
        None => Ok(Vec::new()),
    }
}

/// Whether an Argo CD instance needs a credential: the row names it, or it has a placement of the tenant.
pub(crate) async fn is_used_at(
    view: &mut LedgerView,
    row: &RepositoryCredentials,
    at: &EngineInstanceId,
) -> Result<bool, ServiceError> {
    Ok(row.instance == *at || selection::instances_of_placements(view, &row.user).await?.contains(at))
}

/// Whether an environment is used through other instances but not through this one.
async fn moved_away(
    view: &mut LedgerView,
    id: &ManagedEnvironmentId,
    from: &EngineInstanceId,
) -> Result<bool, ServiceError> {
    let accesses: Vec<ClusterAccess> = view.list(&Filter::all().is("clusteraccess_managed_environment_id", id)).await?;
    if accesses.is_empty() || accesses.iter().any(|access| access.instance == *from) {
        return Ok(false);
    }
    let here = Filter::all().is("managed_environment_id", id).is("engine_instance_inst_id", from).limit(1);
    Ok(view.list::<Application>(&here).await?.is_empty())
}

/// Whether a tenant has a repository or an environment.
async fn has_project(view: &mut LedgerView, user: &UserId) -> Result<bool, ServiceError> {
    let of_user = Filter::all().is("clusteruser_id", user).limit(1);
    Ok(!view.list::<AppProjectRepository>(&of_user).await?.is_empty()
        || !view.list::<AppProjectManagedEnvironment>(&of_user).await?.is_empty())
}

/// Whether a tenant only uses other instances. Unknown for a tenant that uses none: then false.
pub(crate) async fn is_elsewhere(
    view: &mut LedgerView,
    user: &UserId,
    from: &EngineInstanceId,
) -> Result<bool, ServiceError> {
    let mut used = selection::of_credentials(view, user).await?;
    let accesses: Vec<ClusterAccess> = view.list(&Filter::all().is("clusteraccess_user_id", user)).await?;
    used.extend(accesses.into_iter().map(|access| access.instance));
    used.extend(repositories(view, Some(user)).await?.into_iter().map(|row| row.instance));
    Ok(!used.is_empty() && !used.contains(from))
}

/// Returns the Secret of an environment; `None` for a deleted one and for a tenant's own namespace.
pub(crate) async fn cluster_secret(
    view: &mut LedgerView,
    id: &ManagedEnvironmentId,
    namespace: &str,
    isolated: bool,
) -> Result<Option<Value>, ServiceError> {
    let Some(environment) = view.get::<ManagedEnvironment>(&RowKey::from(id)).await? else { return Ok(None) };
    let Some(credentials) = view.get::<ClusterCredentials>(&RowKey::from(&environment.credentials)).await? else {
        return Ok(None);
    };
    let permitted: Vec<AppProjectManagedEnvironment> =
        view.list(&Filter::all().is("managed_environment_id", id)).await?;
    let user = permitted.first().map(|permission| &permission.user).filter(|_| isolated);
    Ok(Some(cluster_secret::object(&environment, &credentials, namespace, user)?))
}

async fn sync(
    view: &mut LedgerView,
    row: &Operation,
) -> Result<(Option<SyncOperation>, Option<Application>), ServiceError> {
    let sync: Option<SyncOperation> = view.get(&RowKey::from(row.resource_id.as_str())).await?;
    let application = match sync.as_ref().and_then(|sync| sync.application.as_ref()) {
        Some(id) => view.get(&RowKey::from(id)).await?,
        None => None,
    };
    Ok((sync, application))
}
