//! Conversion between database rows and Argo CD's objects and status, as pure functions in both directions.

pub(crate) mod desired_objects;
pub(crate) mod engine_client;
pub mod keys;
pub(crate) mod operator;

use crate::ids::{ManagedEnvironmentId, RepositoryCredentialsId, Uid, UserId};

/// Group and version of Argo CD's kinds.
pub const API_VERSION: &str = "argoproj.io/v1alpha1";

/// Argo CD's name of the cluster it runs on.
pub const IN_CLUSTER: &str = "in-cluster";

/// Label of Argo CD's objects with the key of their row.
pub const DATABASE_ID: &str = "databaseID";

/// Label with the purpose of a Secret.
pub const SECRET_TYPE: &str = "argocd.argoproj.io/secret-type";

const ENVIRONMENT_PREFIX: &str = "managed-env-";
const CREDENTIAL_PREFIX: &str = "repo-cred-";
const APPLICATION_PREFIX: &str = "gitopsdepl-";
const PROJECT_PREFIX: &str = "app-project-";

/// Project of tenants without isolation.
pub const DEFAULT_PROJECT: &str = "default";

/// Returns the name of an environment's Secret, which is also the name of its cluster in Argo CD.
pub fn environment_name(id: &ManagedEnvironmentId) -> String {
    format!("{ENVIRONMENT_PREFIX}{id}")
}

/// Returns the environment of a cluster name, or `None` if the name was not made by [`environment_name`].
pub fn environment_of(name: &str) -> Option<ManagedEnvironmentId> {
    name.strip_prefix(ENVIRONMENT_PREFIX).filter(|id| !id.is_empty()).map(ManagedEnvironmentId::from)
}

/// Returns the name of a credential's Secret.
pub fn credential_name(id: &RepositoryCredentialsId) -> String {
    format!("{CREDENTIAL_PREFIX}{id}")
}

/// Returns the name of a deployment's Application.
pub fn application_name(deployment: &Uid) -> String {
    format!("{APPLICATION_PREFIX}{deployment}")
}

/// Returns the name of a tenant's project.
pub fn project_name(user: &UserId) -> String {
    format!("{PROJECT_PREFIX}{user}")
}

/// Object that the service creates on an Argo CD instance besides Applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SupportingObject {
    /// Cluster Secret of an environment.
    Environment(ManagedEnvironmentId),
    /// Repository Secret of a credential.
    Credential(RepositoryCredentialsId),
    /// Project of a tenant.
    Project(UserId),
}

impl SupportingObject {
    /// Returns the key of the object's row.
    pub fn id(&self) -> &str {
        match self {
            SupportingObject::Environment(id) => id.as_str(),
            SupportingObject::Credential(id) => id.as_str(),
            SupportingObject::Project(user) => user.as_str(),
        }
    }
}

/// Returns the object that a name stands for, or `None` if the service did not create it.
pub fn supporting_object_of(name: &str) -> Option<SupportingObject> {
    let of = |prefix: &str| name.strip_prefix(prefix).filter(|id| !id.is_empty());
    let credential = || of(CREDENTIAL_PREFIX).map(|id| SupportingObject::Credential(id.into()));
    let project = || of(PROJECT_PREFIX).map(|user| SupportingObject::Project(user.into()));
    environment_of(name).map(SupportingObject::Environment).or_else(credential).or_else(project)
}

/// Length of a UID.
const UID_CHARS: usize = 36;

/// Returns the deployment of an Application's name, or `None` if the service did not create it.
pub fn deployment_of(name: &str) -> Option<Uid> {
    name.strip_prefix(APPLICATION_PREFIX).filter(|uid| uid.len() == UID_CHARS).map(Uid::from)
}

#[cfg(test)]
mod tests;
