//! The kinds of `managed-gitops.redhat.com/v1alpha1`, as tenants write them and as they are answered.

pub mod condition;
pub mod credential;
pub mod deployment;
pub mod environment;
pub(crate) mod field;
pub mod meta;
pub mod operation;
pub mod sync_run;

pub use condition::{Condition, MetaCondition, Truth};
pub use credential::RepositoryCredential;
pub use deployment::Deployment;
pub use environment::ManagedEnvironment;
pub use meta::Meta;
pub use operation::Operation;
pub use sync_run::SyncRun;

/// The group of all of them.
pub const GROUP: &str = "managed-gitops.redhat.com";

/// Group and version.
pub const API_VERSION: &str = "managed-gitops.redhat.com/v1alpha1";

/// The definitions, as YAML. What the original's webhooks refuse, these refuse by rules of their own, in the same words.
pub const CRDS: [&str; 5] = [
    include_str!("../data/crds/gitopsdeployments.yaml"),
    include_str!("../data/crds/gitopsdeploymentsyncruns.yaml"),
    include_str!("../data/crds/gitopsdeploymentmanagedenvironments.yaml"),
    include_str!("../data/crds/gitopsdeploymentrepositorycredentials.yaml"),
    include_str!("../data/crds/operations.yaml"),
];

#[cfg(test)]
mod tests;
