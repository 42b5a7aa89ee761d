//! Kinds that both roles read and write.

use switchboard_kernel::resource::Resource;

use crate::kinds::GROUP;

const ARGO: &str = "argoproj.io";
const V1ALPHA1: &str = "v1alpha1";

/// Deployments of tenants.
pub const DEPLOYMENTS: Resource = Resource::namespaced(GROUP, V1ALPHA1, "GitOpsDeployment", "gitopsdeployments");
/// Manual syncs.
pub const SYNC_RUNS: Resource =
    Resource::namespaced(GROUP, V1ALPHA1, "GitOpsDeploymentSyncRun", "gitopsdeploymentsyncruns");
/// Target clusters.
pub const ENVIRONMENTS: Resource =
    Resource::namespaced(GROUP, V1ALPHA1, "GitOpsDeploymentManagedEnvironment", "gitopsdeploymentmanagedenvironments");
/// Repository credentials.
pub const CREDENTIALS: Resource = Resource::namespaced(
    GROUP,
    V1ALPHA1,
    "GitOpsDeploymentRepositoryCredential",
    "gitopsdeploymentrepositorycredentials",
);
/// Notifications of the agent.
pub const OPERATIONS: Resource = Resource::namespaced(GROUP, V1ALPHA1, "Operation", "operations");
/// Applications of Argo CD.
pub const APPLICATIONS: Resource = Resource::namespaced(ARGO, V1ALPHA1, "Application", "applications");
/// Permissions of a tenant's Applications.
pub const PROJECTS: Resource = Resource::namespaced(ARGO, V1ALPHA1, "AppProject", "appprojects");
/// Credentials of tenants and of Argo CD.
pub const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");
/// Tenants.
pub const NAMESPACES: Resource = Resource::cluster_scoped("", "v1", "Namespace", "namespaces");

/// All kinds.
const ALL: [&Resource; 9] = [
    &DEPLOYMENTS,
    &SYNC_RUNS,
    &ENVIRONMENTS,
    &CREDENTIALS,
    &OPERATIONS,
    &APPLICATIONS,
    &PROJECTS,
    &SECRETS,
    &NAMESPACES,
];

/// Returns the resource of an `apiVersion` and a kind.
pub fn of(api_version: &str, kind: &str) -> Option<&'static Resource> {
    ALL.into_iter().find(|one| one.kind == kind && one.api_version() == api_version)
}
