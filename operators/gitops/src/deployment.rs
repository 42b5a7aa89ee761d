//! Deployment: from the tenant's resource to the row of an Application, and from Argo CD's status back to the resource.

pub mod application;
pub(crate) mod application_cache;
pub(crate) mod application_operator;
pub(crate) mod failed_deployments;
pub mod kind;
pub mod new_namespace;
pub(crate) mod operator;
pub(crate) mod orphans;
mod removal;
pub(crate) mod rest;
pub mod spec_field;
pub mod status;
pub(crate) mod unplaced;

use std::collections::BTreeSet;

use serde_json::json;
use switchboard_sql::RowChange;

pub use removal::{delete_rows, removal_id, removal_of};

use crate::argocd::{self, DEFAULT_PROJECT, IN_CLUSTER};
use crate::deployment::kind::{
    BAD_ENVIRONMENT_ON_CREATE, BAD_ENVIRONMENT_ON_UPDATE, DeploymentStatus, KIND, NO_OWN_CLUSTER, SyncMode,
};
use crate::deployment::spec_field::ApplicationSpec;
use crate::flow::{DecisionTime, KubernetesWrite, ReconcileResult, WriteTarget};
use crate::ids::{
    ApplicationId, EngineInstanceId, ManagedEnvironmentId, OperationId, OperationResource, OperationState,
};
use crate::kinds::condition::{self, ConditionStatus, ERROR_OCCURRED, UNKNOWN_ERROR};
use crate::kinds::{self, GitOpsDeployment};
use crate::operation::{self, OperationRequest};
use crate::rows::{
    AppProjectRepository, Application, ApplicationOwner, ApplicationState, ClusterUser, DeploymentToApplication,
    EngineInstance, Operation, SyncOperation,
};
use crate::tenant::{self, TenantNamespace};

/// Input of a decision about a deployment.
pub struct DeploymentInput<'a> {
    /// Current time.
    pub now: DecisionTime<'a>,
    /// Namespace of the tenant.
    pub namespace: &'a TenantNamespace,
    /// Tenant.
    pub user: &'a ClusterUser,
    /// Changes that write the row of the tenant, if it is missing or outdated.
    pub tenant_changes: &'a [RowChange],
    /// Resource; `None` if it is deleted.
    pub deployment: Option<&'a GitOpsDeployment>,
    /// Rows of this resource and of earlier resources with its namespace and name.
    pub rows: &'a [DeploymentRows],
    /// Environment to deploy to.
    pub environment: TargetEnvironment<'a>,
    /// Argo CD instance for a new deployment, or for one that changes its environment.
    pub instance: &'a EngineInstance,
    /// Changes that write what a new or changed Application refers to: its environment and its placement.
    pub target_changes: &'a [RowChange],
    /// Operations about its Applications, and those of its removal.
    pub operations: &'a [Operation],
    /// All Argo CD instances, if the deployment is deleted and no row names its instance any more.
    pub instances: &'a BTreeSet<EngineInstanceId>,
    /// Rows of the tenant's repositories.
    pub repositories: &'a [AppProjectRepository],
    /// Normalized repositories of the tenant's resources.
    pub wanted_repositories: &'a BTreeSet<String>,
    /// Tenant's name of the environment that Argo CD compared with.
    pub compared_environment: Option<&'a str>,
    /// Whether each tenant has its own project.
    pub isolated: bool,
}

/// Environment of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetEnvironment<'a> {
    /// The tenant's own namespace.
    OwnNamespace(&'a ManagedEnvironmentId),
    /// A managed environment of the tenant.
    Managed(&'a ManagedEnvironmentId),
    /// An environment that cannot be used at the moment.
    Unusable,
}

/// Rows of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeploymentRows {
    /// Mapping from the resource to the Application.
    pub mapping: DeploymentToApplication,
    /// Application.
    pub application: Option<Application>,
    /// Last status reported by Argo CD.
    pub state: Option<ApplicationState>,
    /// Owners of the Application.
    pub owners: Vec<ApplicationOwner>,
    /// Syncs of the Application.
    pub syncs: Vec<SyncOperation>,
}

/// Decides on the rows and the status of a deployment.
///
/// # Guarantees
/// - A recreated resource is a new deployment; the old one is removed first. // test: guarantees_a_recreated_resource_is_a_new_deployment
/// - Rows and the agent's Operation are committed in one transaction.        // test: guarantees_rows_and_operation_are_one_transaction
/// - Unchanged rows and statuses are not written.                            // test: guarantees_unchanged_rows_are_not_written
/// - The tenant of a resource has a row, whatever is decided.                // test: guarantees_the_tenant_of_a_refused_deployment_is_written
pub fn decide(input: &DeploymentInput<'_>, mut id: impl FnMut() -> String) -> ReconcileResult {
    let mut decision = ReconcileResult::default();
    let live = input.deployment.filter(|deployment| !deployment.metadata.is_deleted());
    for known in input.rows {
        if live.is_none_or(|live| live.metadata.id() != known.mapping.deployment_uid) {
            removal::remove(input, known, &mut decision);
        }
    }
    let repositories = tenant::repositories(
        &input.user.id,
        input.repositories,
        input.wanted_repositories,
        &mut id,
        input.now.timestamp,
    );
    match (live, input.deployment) {
        (Some(live), _) => reconcile(input, live, repositories, &mut id, &mut decision),
        (None, deleted) => {
            decision.changes.extend(repositories);
            if let Some(deleted) = deleted {
                removal::release_finalizer(input, deleted, &mut decision);
            }
        }
    }
    // A resource writes its tenant first, as in managed-gitops. A deletion needs it only for rows that refer to it.
    if live.is_some() || !decision.changes.is_empty() {
        decision.changes.splice(0..0, input.tenant_changes.iter().cloned());
    }
    decision
}

/// Brings the rows in line with the resource, and updates its status.
fn reconcile(
    input: &DeploymentInput<'_>,
    live: &GitOpsDeployment,
    repositories: Vec<RowChange>,
    id: &mut impl FnMut() -> String,
    decision: &mut ReconcileResult,
) {
    let known = input.rows.iter().find(|known| known.mapping.deployment_uid == live.metadata.id());
    if let Err(said) = live.validate_source() {
        return report_refusal(input, live, known, &said, decision);
    }
    let (environment, destination) = match input.environment {
        TargetEnvironment::OwnNamespace(environment) => (environment, IN_CLUSTER.to_string()),
        TargetEnvironment::Managed(environment) => (environment, argocd::environment_name(environment)),
        TargetEnvironment::Unusable => {
            let said = match known {
                _ if live.spec.destination.environment.is_empty() => NO_OWN_CLUSTER,
                Some(_) => BAD_ENVIRONMENT_ON_UPDATE,
                None => BAD_ENVIRONMENT_ON_CREATE,
            };
            return report_refusal(input, live, known, said, decision);
        }
    };
    if let Err(said) = live.validate_namespace() {
        return report_refusal(input, live, known, &said, decision);
    }
    let standing = known.and_then(|known| known.application.as_ref());
    // Another environment may be on another instance, because a placement is never split.
    let stays = standing.filter(|row| row.environment.as_ref() == Some(environment));
    let instance = stays.map_or(&input.instance.id, |row| &row.instance);
    let changed_repositories = !repositories.is_empty();
    decision.changes.extend(repositories);
    let spec_field = spec_field_text(input, live, &destination);
    let application = match standing {
        None => {
            decision.changes.extend(input.target_changes.iter().cloned());
            Some(insert(input, live, environment, spec_field, id, decision))
        }
        Some(row) => {
            let wanted = Application {
                spec_field,
                instance: instance.clone(),
                environment: Some(environment.clone()),
                ..row.clone()
            };
            let changed = wanted != *row;
            if changed {
                decision.changes.extend(input.target_changes.iter().cloned());
                decision.changes.push(RowChange::update(row, &wanted));
            }
            (changed || changed_repositories).then(|| wanted.id.clone())
        }
    };
    // An unchanged deployment causes no database writes.
    if let Some(application) = application {
        decision.changes.push(tenant::access(&input.user.id, environment, instance, input.now.timestamp));
        let left = standing.map(|row| &row.instance).filter(|left| *left != instance);
        for instance in left.into_iter().chain([instance]) {
            let wish = OperationRequest {
                instance,
                resource: OperationResource::Application,
                resource_id: application.as_str(),
                owner: &input.user.id,
            };
            let asked =
                operation::request_or_renew(input.operations, &wish, || OperationId::from(id()), input.now.timestamp);
            decision.changes.push(asked);
        }
    }
    report(input, live, known, decision);
}

fn spec_field_text(input: &DeploymentInput<'_>, live: &GitOpsDeployment, destination: &str) -> String {
    let project = if input.isolated { argocd::project_name(&input.user.id) } else { DEFAULT_PROJECT.to_string() };
    let own = &input.namespace.name;
    let wanted = &live.spec.destination.namespace;
    spec_field::write(&ApplicationSpec {
        name: &argocd::application_name(&live.metadata.id()),
        namespace: &input.instance.namespace,
        destination_namespace: if wanted.is_empty() { own } else { wanted },
        destination_name: destination,
        repo_url: &live.spec.source.repo_url,
        path: &live.spec.source.path,
        target_revision: &live.spec.source.target_revision,
        sync_options: live.sync_options(),
        automated: live.mode() == Some(SyncMode::Automated),
        project: &project,
    })
}

fn insert(
    input: &DeploymentInput<'_>,
    live: &GitOpsDeployment,
    environment: &ManagedEnvironmentId,
    spec_field: String,
    id: &mut impl FnMut() -> String,
    decision: &mut ReconcileResult,
) -> ApplicationId {
    let uid = live.metadata.id();
    let application = Application {
        id: ApplicationId::from(id()),
        name: argocd::application_name(&uid),
        spec_field,
        instance: input.instance.id.clone(),
        environment: Some(environment.clone()),
        created_on: input.now.timestamp,
    };
    let owner = ApplicationOwner {
        application: application.id.clone(),
        user: input.user.id.clone(),
        created_on: input.now.timestamp,
    };
    let mapping = DeploymentToApplication {
        deployment_uid: uid,
        name: Some(live.metadata.name.clone()),
        namespace: Some(input.namespace.name.clone()),
        namespace_uid: Some(input.namespace.uid.clone()),
        application: application.id.clone(),
    };
    decision.changes.extend([RowChange::insert(&application), RowChange::insert(&owner), RowChange::insert(&mapping)]);
    application.id
}

/// Reports an error in the resource. The previous version is still deployed, and its status is still updated.
fn report_refusal(
    input: &DeploymentInput<'_>,
    live: &GitOpsDeployment,
    known: Option<&DeploymentRows>,
    said: &str,
    decision: &mut ReconcileResult,
) {
    let mut status = reported(input, live, known);
    condition::set(&mut status.conditions, ERROR_OCCURRED, ConditionStatus::True, ERROR_OCCURRED, said, input.now.text);
    write_status(live, status, decision);
}

/// Returns the status of a resource with Argo CD's last report.
fn reported(input: &DeploymentInput<'_>, live: &GitOpsDeployment, known: Option<&DeploymentRows>) -> DeploymentStatus {
    let packed = known.and_then(|known| known.state.as_ref()).and_then(|state| state.status.as_deref());
    // An unreadable report is ignored; the next one replaces it.
    match packed.and_then(|packed| crate::deployment::status::unpack(packed).ok()) {
        Some(said) => crate::deployment::status::deployment_status(
            &live.status,
            &said,
            input.compared_environment,
            input.now.text,
        ),
        None => live.status.clone(),
    }
}

fn report_error(resource: &GitOpsDeployment, said: &str, now: DecisionTime<'_>, decision: &mut ReconcileResult) {
    let mut status = resource.status.clone();
    condition::set(&mut status.conditions, ERROR_OCCURRED, ConditionStatus::True, ERROR_OCCURRED, said, now.text);
    write_status(resource, status, decision);
}

fn report(
    input: &DeploymentInput<'_>,
    live: &GitOpsDeployment,
    known: Option<&DeploymentRows>,
    decision: &mut ReconcileResult,
) {
    let mut status = reported(input, live, known);
    let failed = known.and_then(|known| newest(input.operations, &known.mapping.application));
    match failed {
        Some(row) if row.state == OperationState::Failed || operation::is_overdue(row, input.now.timestamp) => {
            condition::set(
                &mut status.conditions,
                ERROR_OCCURRED,
                ConditionStatus::True,
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

fn write_status(resource: &GitOpsDeployment, status: DeploymentStatus, decision: &mut ReconcileResult) {
    if status != resource.status {
        decision.writes.push(KubernetesWrite::Status(target(resource), json!(status)));
    }
}

fn target(resource: &GitOpsDeployment) -> WriteTarget {
    WriteTarget {
        api_version: kinds::API_VERSION,
        kind: KIND,
        namespace: resource.metadata.namespace.clone(),
        name: resource.metadata.name.clone(),
    }
}

#[cfg(test)]
mod tests;
