//! Kinds of `managed-gitops.redhat.com/v1alpha1`.

pub mod condition;
pub(crate) mod field;
pub mod meta;

pub use crate::credential::kind::RepositoryCredential;
pub use crate::deployment::kind::GitOpsDeployment;
pub use crate::environment::kind::ManagedEnvironment;
pub use crate::operation::kind::OperationObject;
pub use crate::sync_run::kind::SyncRun;
pub use condition::{ConditionStatus, DeploymentCondition, MetaCondition};
pub use meta::ObjectMeta;

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
