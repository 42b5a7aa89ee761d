//! Input of decisions about environments.

use std::collections::BTreeSet;

use switchboard_sql::SecretString;

use super::cluster_check::ClusterCheckResult;
use crate::flow::DecisionTime;
use crate::ids::EngineInstanceId;
use crate::kinds::ManagedEnvironment;
use crate::rows::tenant_clusters::ServiceAccount;
use crate::rows::{
    ApiToDatabase, AppProjectManagedEnvironment, Application, ClusterAccess, ClusterCredentials, ClusterUser,
    ManagedEnvironment as Row, Operation,
};
use crate::tenant::TenantNamespace;

/// Input of a decision about an environment.
pub struct EnvironmentInput<'a> {
    /// Current time.
    pub now: DecisionTime<'a>,
    /// Namespace of the tenant.
    pub namespace: &'a TenantNamespace,
    /// Tenant.
    pub user: &'a ClusterUser,
    /// Resource; `None` if it is deleted.
    pub environment: Option<&'a ManagedEnvironment>,
    /// Secret that the resource names, if it exists.
    pub secret: Option<&'a KubeconfigSecret>,
    /// Rows of this resource and of earlier resources with its namespace and name.
    pub rows: &'a [EnvironmentRows],
    /// Operations about its row, its Applications and the tenant's project.
    pub operations: &'a [Operation],
    /// Argo CD instances that know the tenant.
    pub instances: &'a BTreeSet<EngineInstanceId>,
    /// Created service accounts of this resource and of earlier resources with its namespace and name.
    pub accounts: &'a [ServiceAccount],
    /// Result of the last credential check, if there is one.
    pub check_result: Option<&'a ClusterCheckResult>,
    /// Result of the last retirement of a service account, if there is one.
    pub retire_result: Option<&'a ClusterCheckResult>,
}

/// Relevant content of a tenant's Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeconfigSecret {
    /// Type of the Secret.
    pub r#type: String,
    /// Kubeconfig.
    pub kubeconfig: Option<SecretString>,
}

/// Rows of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentRows {
    /// Mapping from the resource to the row.
    pub mapping: ApiToDatabase,
    /// Row of the environment.
    pub environment: Row,
    /// Credentials of the cluster.
    pub credentials: ClusterCredentials,
    /// Projects that may use the environment.
    pub permissions: Vec<AppProjectManagedEnvironment>,
    /// Argo CD instances through which it is used.
    pub accesses: Vec<ClusterAccess>,
    /// Applications deployed to it.
    pub applications: Vec<Application>,
}
