//! The kinds that both roles read and write.

use switchboard_kernel::resource::Resource;

const GROUP: &str = "managed-gitops.redhat.com";
const ARGO: &str = "argoproj.io";
const V1ALPHA1: &str = "v1alpha1";

/// What tenants want deployed.
pub const DEPLOYMENTS: Resource = Resource::namespaced(GROUP, V1ALPHA1, "GitOpsDeployment", "gitopsdeployments");
/// Deploy now.
pub const SYNC_RUNS: Resource =
    Resource::namespaced(GROUP, V1ALPHA1, "GitOpsDeploymentSyncRun", "gitopsdeploymentsyncruns");
/// Clusters to deploy to.
pub const ENVIRONMENTS: Resource =
    Resource::namespaced(GROUP, V1ALPHA1, "GitOpsDeploymentManagedEnvironment", "gitopsdeploymentmanagedenvironments");
/// How to read repositories.
pub const CREDENTIALS: Resource = Resource::namespaced(
    GROUP,
    V1ALPHA1,
    "GitOpsDeploymentRepositoryCredential",
    "gitopsdeploymentrepositorycredentials",
);
/// What rings for the agent.
pub const OPERATIONS: Resource = Resource::namespaced(GROUP, V1ALPHA1, "Operation", "operations");
/// What Argo CD deploys.
pub const APPLICATIONS: Resource = Resource::namespaced(ARGO, V1ALPHA1, "Application", "applications");
/// What a tenant's Applications may use.
pub const PROJECTS: Resource = Resource::namespaced(ARGO, V1ALPHA1, "AppProject", "appprojects");
/// Credentials, of tenants and of Argo CD.
pub const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");
/// Tenants.
pub const NAMESPACES: Resource = Resource::cluster_wide("", "v1", "Namespace", "namespaces");

/// All of them.
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

/// The one that objects of this `apiVersion` and kind are of.
pub fn of(api_version: &str, kind: &str) -> Option<&'static Resource> {
    ALL.into_iter().find(|one| one.kind == kind && one.api_version() == api_version)
}
