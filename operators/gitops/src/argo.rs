//! The objects of Argo CD that stand for rows, and what Argo CD says of them in return. Pure functions, both ways.

pub mod application;
pub mod cluster_secret;
pub mod keys;
pub mod new_namespace;
pub mod operation;
pub mod project;
pub mod repository_secret;
pub mod spec_field;
pub mod status;

use switchboard_ledger::ids::{ManagedEnvironmentId, RepositoryCredentialsId, Uid, UserId};

/// Group and version of Argo CD's kinds.
pub const API_VERSION: &str = "argoproj.io/v1alpha1";

/// The name under which Argo CD knows the cluster it runs on.
pub const IN_CLUSTER: &str = "in-cluster";

/// The label that leads from an object of Argo CD to its row.
pub const DATABASE_ID: &str = "databaseID";

/// The label by which Argo CD knows what a Secret is for.
pub const SECRET_TYPE: &str = "argocd.argoproj.io/secret-type";

const ENVIRONMENT_PREFIX: &str = "managed-env-";
const CREDENTIAL_PREFIX: &str = "repo-cred-";
const APPLICATION_PREFIX: &str = "gitopsdepl-";
const PROJECT_PREFIX: &str = "app-project-";

/// The project of tenants who are not kept apart.
pub const DEFAULT_PROJECT: &str = "default";

/// The name of an environment's Secret, and of its cluster in Argo CD.
pub fn environment_name(id: &ManagedEnvironmentId) -> String {
    format!("{ENVIRONMENT_PREFIX}{id}")
}

/// The environment of a cluster's name, if it is one of ours.
pub fn environment_of(name: &str) -> Option<ManagedEnvironmentId> {
    name.strip_prefix(ENVIRONMENT_PREFIX).filter(|id| !id.is_empty()).map(ManagedEnvironmentId::from)
}

/// The name of a credential's Secret.
pub fn credential_name(id: &RepositoryCredentialsId) -> String {
    format!("{CREDENTIAL_PREFIX}{id}")
}

/// The name of a deployment's Application.
pub fn application_name(deployment: &Uid) -> String {
    format!("{APPLICATION_PREFIX}{deployment}")
}

/// The name of a tenant's project.
pub fn project_name(user: &UserId) -> String {
    format!("{PROJECT_PREFIX}{user}")
}

/// What an Argo CD has of ours beside Applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    /// The Secret of an environment.
    Environment(ManagedEnvironmentId),
    /// The Secret of a credential.
    Credential(RepositoryCredentialsId),
    /// The project of a tenant.
    Project(UserId),
}

impl Thing {
    /// The row it stands for.
    pub fn id(&self) -> &str {
        match self {
            Thing::Environment(id) => id.as_str(),
            Thing::Credential(id) => id.as_str(),
            Thing::Project(user) => user.as_str(),
        }
    }
}

/// What an object of this name is, if it is one of ours.
pub fn thing_of(name: &str) -> Option<Thing> {
    let of = |prefix: &str| name.strip_prefix(prefix).filter(|id| !id.is_empty());
    let credential = || of(CREDENTIAL_PREFIX).map(|id| Thing::Credential(id.into()));
    let project = || of(PROJECT_PREFIX).map(|user| Thing::Project(user.into()));
    environment_of(name).map(Thing::Environment).or_else(credential).or_else(project)
}

/// Length of a uid as text.
const UID_CHARS: usize = 36;

/// The deployment of an Application's name, if it is one of ours.
pub fn deployment_of(name: &str) -> Option<Uid> {
    name.strip_prefix(APPLICATION_PREFIX).filter(|uid| uid.len() == UID_CHARS).map(Uid::from)
}

#[cfg(test)]
mod tests;
