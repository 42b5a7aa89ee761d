//! Kinds of `managed-gitops.redhat.com/v1alpha1`.

pub mod condition;
pub mod credential;
pub mod deployment;
pub mod environment;
pub(crate) mod field;
pub mod meta;
pub mod operation;
pub mod sync_run;

pub use condition::{ConditionStatus, DeploymentCondition, MetaCondition};
pub use credential::RepositoryCredential;
pub use deployment::GitOpsDeployment;
pub use environment::ManagedEnvironment;
pub use meta::ObjectMeta;
pub use operation::OperationObject;
pub use sync_run::SyncRun;

/// API group of the kinds.
pub const GROUP: &str = "managed-gitops.redhat.com";

/// Group and version.
pub const API_VERSION: &str = "managed-gitops.redhat.com/v1alpha1";

/// CustomResourceDefinitions as YAML. Their validation rules reject what managed-gitops's webhooks reject, with the
/// same messages.
pub const CRDS: [&str; 5] = [
    include_str!("../data/crds/gitopsdeployments.yaml"),
    include_str!("../data/crds/gitopsdeploymentsyncruns.yaml"),
    include_str!("../data/crds/gitopsdeploymentmanagedenvironments.yaml"),
    include_str!("../data/crds/gitopsdeploymentrepositorycredentials.yaml"),
    include_str!("../data/crds/operations.yaml"),
];

#[cfg(test)]
mod tests;
