//! A deployment: from the tenant's wish to the row of an Application, and from what Argo CD says back to the tenant.

mod removal;

use std::collections::BTreeSet;

use serde_json::json;
use switchboard_ledger::Change;
use switchboard_ledger::ids::{
    ApplicationId, EngineInstanceId, ManagedEnvironmentId, OperationId, OperationResource, OperationState,
};
use switchboard_ledger::rows::{
    AppProjectRepository, Application, ApplicationOwner, ApplicationState, ClusterUser, DeploymentToApplication,
    EngineInstance, Operation, SyncOperation,
};

pub use removal::{forget, removal_id, removal_of};

use super::operation::{self, Wish};
use super::tenant::{self, Namespace};
use super::{Decision, Now, Target, Write};
use crate::argo::spec_field::{self, Wanted};
use crate::argo::{self, DEFAULT_PROJECT, IN_CLUSTER};
use crate::kinds::condition::{self, ERROR_OCCURRED, Truth, UNKNOWN_ERROR};
use crate::kinds::deployment::{
    BAD_ENVIRONMENT_ON_CREATE, BAD_ENVIRONMENT_ON_UPDATE, DeploymentStatus, KIND, Mode, NO_OWN_CLUSTER,
};
use crate::kinds::{self, Deployment};

/// Everything that is known when a deployment is decided on.
pub struct Input<'a> {
    /// When.
    pub now: Now<'a>,
    /// The tenant's namespace.
    pub namespace: &'a Namespace,
    /// The tenant.
    pub user: &'a ClusterUser,
    /// Whether the tenant has a row.
    pub is_tenant: bool,
    /// The resource; none if it is gone.
    pub deployment: Option<&'a Deployment>,
    /// Rows of this and of earlier resources of its namespace and name.
    pub known: &'a [Known],
    /// Where it should go.
    pub environment: Environment<'a>,
    /// The Argo CD that is to deploy it, if it is new or goes elsewhere from now on.
    pub instance: &'a EngineInstance,
    /// Operations about its Applications, and those of its removal.
    pub operations: &'a [Operation],
    /// Every Argo CD there is, if it goes and nothing says any more which one had it.
    pub instances: &'a BTreeSet<EngineInstanceId>,
    /// The tenant's repositories as they are.
    pub repositories: &'a [AppProjectRepository],
    /// The tenant's repositories as its resources name them, normalised.
    pub wanted_repositories: &'a BTreeSet<String>,
    /// The tenant's name for the environment that Argo CD compared with.
    pub compared_environment: Option<&'a str>,
    /// Whether each tenant has a project of its own.
    pub isolated: bool,
}

/// Where a deployment should go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment<'a> {
    /// The tenant's own namespace.
    Own(&'a ManagedEnvironmentId),
    /// A cluster of the tenant.
    Of(&'a ManagedEnvironmentId),
    /// A cluster that cannot be used now.
    Unusable,
}

/// A deployment as the database knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Which resource is which Application.
    pub mapping: DeploymentToApplication,
    /// That Application.
    pub application: Option<Application>,
    /// What Argo CD last said of it.
    pub state: Option<ApplicationState>,
    /// Whose it is.
    pub owners: Vec<ApplicationOwner>,
    /// Syncs of it.
    pub syncs: Vec<SyncOperation>,
}

/// Decides.
///
/// # Guarantees
/// - A resource that was deleted and made anew is a new deployment; the old one is removed first. // test: guarantees_a_resource_made_anew_is_another
/// - Rows and the agent's wish are one transaction.                       // test: guarantees_rows_and_wish_are_one_transaction
/// - What has not changed is not written.                                 // test: guarantees_nothing_is_written_when_nothing_changed
pub fn decide(input: &Input<'_>, mut id: impl FnMut() -> String) -> Decision {
    let mut decision = Decision::default();
    let live = input.deployment.filter(|deployment| !deployment.metadata.is_deleted());
    for known in input.known {
        if live.is_none_or(|live| live.metadata.id() != known.mapping.deployment_uid) {
            removal::remove(input, known, &mut decision);
        }
    }
    let repositories =
        tenant::repositories(&input.user.id, input.repositories, input.wanted_repositories, &mut id, input.now.moment);
    match (live, input.deployment) {
        (Some(live), _) => keep(input, live, repositories, &mut id, &mut decision),
        (None, deleted) => {
            decision.changes.extend(repositories);
            if let Some(deleted) = deleted {
                removal::release(input, deleted, &mut decision);
            }
        }
    }
    decision
}

/// Makes the rows of a deployment what the tenant wants, and tells the tenant how it stands.
fn keep(
    input: &Input<'_>,
    live: &Deployment,
    repositories: Vec<Change>,
    id: &mut impl FnMut() -> String,
    decision: &mut Decision,
) {
    let known = input.known.iter().find(|known| known.mapping.deployment_uid == live.metadata.id());
    if let Err(said) = live.judge() {
        return refuse(input, live, known, &said, decision);
    }
    let (environment, destination) = match input.environment {
        Environment::Own(environment) => (environment, IN_CLUSTER.to_string()),
        Environment::Of(environment) => (environment, argo::environment_name(environment)),
        Environment::Unusable => {
            let said = match known {
                _ if live.spec.destination.environment.is_empty() => NO_OWN_CLUSTER,
                Some(_) => BAD_ENVIRONMENT_ON_UPDATE,
                None => BAD_ENVIRONMENT_ON_CREATE,
            };
            return refuse(input, live, known, said, decision);
        }
    };
    let standing = known.and_then(|known| known.application.as_ref());
    // Another environment may be on another Argo CD, and a unit is never split.
    let stays = standing.filter(|row| row.environment.as_ref() == Some(environment));
    let instance = stays.map_or(&input.instance.id, |row| &row.instance);
    let changed_repositories = !repositories.is_empty();
    decision.changes.extend(repositories);
    let spec_field = text(input, live, &destination);
    let application = match standing {
        None => Some(insert(input, live, environment, spec_field, id, decision)),
        Some(row) => {
            let wanted = Application {
                spec_field,
                instance: instance.clone(),
                environment: Some(environment.clone()),
                ..row.clone()
            };
            let changed = wanted != *row;
            if changed {
                decision.changes.push(Change::update(row, &wanted));
            }
            (changed || changed_repositories).then(|| wanted.id.clone())
        }
    };
    // Nothing is asked of the database for a deployment that stands still.
    if let Some(application) = application {
        decision.changes.push(tenant::access(&input.user.id, environment, instance, input.now.moment));
        let left = standing.map(|row| &row.instance).filter(|left| *left != instance);
        for instance in left.into_iter().chain([instance]) {
            let wish = Wish {
                instance,
                resource: OperationResource::Application,
                resource_id: application.as_str(),
                owner: &input.user.id,
            };
            let asked = operation::ask_anew(input.operations, &wish, || OperationId::from(id()), input.now.moment);
            decision.changes.push(asked);
        }
    }
    tell(input, live, known, decision);
}

fn text(input: &Input<'_>, live: &Deployment, destination: &str) -> String {
    let project = if input.isolated { argo::project_name(&input.user.id) } else { DEFAULT_PROJECT.to_string() };
    let own = &input.namespace.name;
    let wanted = &live.spec.destination.namespace;
    spec_field::write(&Wanted {
        name: &argo::application_name(&live.metadata.id()),
        namespace: &input.instance.namespace,
        destination_namespace: if wanted.is_empty() { own } else { wanted },
        destination_name: destination,
        repo_url: &live.spec.source.repo_url,
        path: &live.spec.source.path,
        target_revision: &live.spec.source.target_revision,
        sync_options: live.sync_options(),
        automated: live.mode() == Some(Mode::Automated),
        project: &project,
    })
}

fn insert(
    input: &Input<'_>,
    live: &Deployment,
    environment: &ManagedEnvironmentId,
    spec_field: String,
    id: &mut impl FnMut() -> String,
    decision: &mut Decision,
) -> ApplicationId {
    let uid = live.metadata.id();
    let application = Application {
        id: ApplicationId::from(id()),
        name: argo::application_name(&uid),
        spec_field,
        instance: input.instance.id.clone(),
        environment: Some(environment.clone()),
        created_on: input.now.moment,
    };
    let owner = ApplicationOwner {
        application: application.id.clone(),
        user: input.user.id.clone(),
        created_on: input.now.moment,
    };
    let mapping = DeploymentToApplication {
        deployment_uid: uid,
        name: Some(live.metadata.name.clone()),
        namespace: Some(input.namespace.name.clone()),
        namespace_uid: Some(input.namespace.uid.clone()),
        application: application.id.clone(),
    };
    decision.changes.extend([Change::insert(&application), Change::insert(&owner), Change::insert(&mapping)]);
    application.id
}

/// Says what is wrong with what the tenant wants. What it wanted before is deployed yet, and goes on being told of.
fn refuse(input: &Input<'_>, live: &Deployment, known: Option<&Known>, said: &str, decision: &mut Decision) {
    let mut status = reported(input, live, known);
    condition::set(&mut status.conditions, ERROR_OCCURRED, Truth::True, ERROR_OCCURRED, said, input.now.text);
    write_status(live, status, decision);
}

/// The status of a resource with what Argo CD said last.
fn reported(input: &Input<'_>, live: &Deployment, known: Option<&Known>) -> DeploymentStatus {
    let packed = known.and_then(|known| known.state.as_ref()).and_then(|state| state.status.as_deref());
    // A status that cannot be read is one that the next report replaces.
    match packed.and_then(|packed| argo::status::unpack(packed).ok()) {
        Some(said) => argo::status::tell(&live.status, &said, input.compared_environment, input.now.text),
        None => live.status.clone(),
    }
}

fn tell_error(resource: &Deployment, said: &str, now: Now<'_>, decision: &mut Decision) {
    let mut status = resource.status.clone();
    condition::set(&mut status.conditions, ERROR_OCCURRED, Truth::True, ERROR_OCCURRED, said, now.text);
    write_status(resource, status, decision);
}

fn tell(input: &Input<'_>, live: &Deployment, known: Option<&Known>, decision: &mut Decision) {
    let mut status = reported(input, live, known);
    let failed = known.and_then(|known| newest(input.operations, &known.mapping.application));
    match failed {
        Some(row) if row.state == OperationState::Failed || operation::is_overdue(row, input.now.moment) => {
            condition::set(
                &mut status.conditions,
                ERROR_OCCURRED,
                Truth::True,
                ERROR_OCCURRED,
                UNKNOWN_ERROR,
                input.now.text,
            );
        }
        _ => condition::resolve(&mut status.conditions, ERROR_OCCURRED, input.now.text),
    }
    write_status(live, status, decision);
}

fn newest<'a>(operations: &'a [Operation], application: &ApplicationId) -> Option<&'a Operation> {
    let about = operations
        .iter()
        .filter(|row| row.resource == OperationResource::Application && row.resource_id == application.as_str());
    about.max_by_key(|row| row.created_on)
}

fn write_status(resource: &Deployment, status: DeploymentStatus, decision: &mut Decision) {
    if status != resource.status {
        decision.writes.push(Write::Status(target(resource), json!(status)));
    }
}

fn target(resource: &Deployment) -> Target {
    Target {
        api_version: kinds::API_VERSION,
        kind: KIND,
        namespace: resource.metadata.namespace.clone(),
        name: resource.metadata.name.clone(),
    }
}
