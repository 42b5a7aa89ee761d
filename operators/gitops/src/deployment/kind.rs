//! GitOpsDeployment: deployment of a repository.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kinds::{DeploymentCondition, ObjectMeta, field};
use crate::repository::{self, has_login};

/// Kind.
pub const KIND: &str = "GitOpsDeployment";

/// Finalizer with which a tenant keeps the resource until all deployed resources are deleted.
pub const FINALIZER: &str = "resources-finalizer.managed-gitops.redhat.com";

/// The repository is missing.
pub const REPOSITORY_REQUIRED: &str = "spec.source.repoURL is a required field and it cannot be empty";
/// The path is missing.
pub const PATH_REQUIRED: &str = "spec.source.path is a required field and it cannot be empty";
/// The path is the root.
pub const PATH_SLASH: &str = "spec.source.path cannot be '/'";
/// The type is neither `manual` nor `automated`.
pub const BAD_TYPE: &str = "spec type must be manual or automated";
/// A sync option is not supported.
pub const BAD_SYNC_OPTION: &str = "the specified sync option in .spec.syncPolicy.syncOptions is either mispelled or is not supported by GitOpsDeployment";
/// A namespace is given without an environment.
pub const NAMESPACE_WITHOUT_ENVIRONMENT: &str =
    "the environment field should not be empty when the namespace is non-empty";
/// The environment cannot be used by a new deployment.
pub const BAD_ENVIRONMENT_ON_CREATE: &str = "Unable to reconcile the ManagedEnvironment. Verify that the ManagedEnvironment and Secret are correctly defined, and have valid credentials";
/// The environment cannot be used by an existing deployment.
pub const BAD_ENVIRONMENT_ON_UPDATE: &str = "unable to reconcile the ManagedEnvironment resource. Ensure that the ManagedEnvironment exists, it references a Secret, and the Secret is valid";
/// The repository URL contains a user name with password, or a token.
pub const LOGIN_IN_URL: &str = "spec.source.repoURL must not contain a login, because URLs are stored in plaintext: remove the part before the @, and put the login into the Secret of a GitOpsDeploymentRepositoryCredential";
/// No environment is given, and Argo CD runs on another cluster than the tenant's namespace.
pub const NO_OWN_CLUSTER: &str = "an environment is required in .spec.destination: Argo CD runs on another cluster than this namespace and cannot deploy to it";
/// The destination namespace is missing or not a valid name.
pub const BAD_NAMESPACE: &str = "the namespace specified in the destination field is invalid";

/// Maximum number of sync options. Only two are supported.
const MAX_SYNC_OPTIONS: usize = 16;

/// Supported sync options.
const SYNC_OPTIONS: [&str; 2] = ["CreateNamespace=true", "CreateNamespace=false"];

/// Deployment of a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitOpsDeployment {
    /// Metadata.
    pub metadata: ObjectMeta,
    /// Specification by the tenant.
    pub spec: DeploymentSpec,
    /// Status.
    #[serde(default, deserialize_with = "crate::kinds::meta::lenient_status")]
    pub status: DeploymentStatus,
}

/// Specification by the tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentSpec {
    /// Source of the manifests.
    pub source: DeploymentSource,
    /// Destination.
    #[serde(default)]
    pub destination: DeploymentDestination,
    /// Sync policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_policy: Option<SyncPolicy>,
    /// Sync mode: `automated` or `manual`.
    pub r#type: String,
}

/// Source of the manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentSource {
    /// Repository URL.
    #[serde(rename = "repoURL")]
    pub repo_url: String,
    /// Directory in the repository.
    pub path: String,
    /// Branch, tag or commit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target_revision: String,
}

/// Destination of a deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentDestination {
    /// Name of an environment in the same namespace; empty for the namespace of the resource itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub environment: String,
    /// Namespace on the destination cluster.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// Sync policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SyncPolicy {
    /// Sync options for Argo CD.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sync_options: Vec<String>,
}

/// Status of a deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentStatus {
    /// Errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<DeploymentCondition>,
    /// Sync status.
    #[serde(default)]
    pub sync: SyncStatus,
    /// Health.
    #[serde(default)]
    pub health: HealthStatus,
    /// Deployed resources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceStatus>,
    /// State of Argo CD's last comparison.
    #[serde(default)]
    pub reconciled_state: ReconciledState,
    /// Argo CD's current or last operation, in its own format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_state: Option<Value>,
}

/// Sync status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncStatus {
    /// Status code.
    #[serde(default)]
    pub status: String,
    /// Commit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
}

/// Health of a deployment or a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthStatus {
    /// Status code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// Message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Status of a deployed resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceStatus {
    /// Group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Sync status code.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// Health.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthStatus>,
}

/// State of Argo CD's last comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReconciledState {
    /// Source.
    pub source: ReconciledSource,
    /// Destination.
    pub destination: ReconciledDestination,
}

/// Source of the last comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReconciledSource {
    /// Directory.
    pub path: String,
    /// Repository URL.
    #[serde(rename = "repoURL")]
    pub repo_url: String,
    /// Revision.
    pub branch: String,
}

/// Destination of the last comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReconciledDestination {
    /// Name of the tenant's environment, or empty.
    pub name: String,
    /// Namespace.
    pub namespace: String,
}

/// Sync mode of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMode {
    /// Sync after every change.
    Automated,
    /// Sync only when a sync run requests it.
    Manual,
}

impl GitOpsDeployment {
    /// Returns the sync mode, or `None` if the type is invalid.
    pub fn mode(&self) -> Option<SyncMode> {
        match self.spec.r#type.to_ascii_lowercase().as_str() {
            "automated" => Some(SyncMode::Automated),
            "manual" => Some(SyncMode::Manual),
            _ => None,
        }
    }

    /// Returns the tenant's sync options.
    pub fn sync_options(&self) -> &[String] {
        self.spec.sync_policy.as_ref().map_or(&[], |policy| &policy.sync_options)
    }

    /// Checks the rules of managed-gitops's webhook.
    pub fn admit(&self) -> Result<(), &'static str> {
        if self.mode().is_none() {
            return Err(BAD_TYPE);
        }
        if self.sync_options().iter().any(|option| !SYNC_OPTIONS.contains(&option.as_str())) {
            return Err(BAD_SYNC_OPTION);
        }
        let destination = &self.spec.destination;
        if destination.environment.is_empty() && !destination.namespace.is_empty() {
            return Err(NAMESPACE_WITHOUT_ENVIRONMENT);
        }
        Ok(())
    }

    /// Validates the specification, with an error message for its condition.
    ///
    /// managed-gitops removes quotes, semicolons, line breaks, `&` and `%` from all input, which turns valid paths and
    /// URLs into others. Here the former are rejected and `&` and `%` are kept.
    pub fn validate(&self) -> Result<(), String> {
        self.validate_source()?;
        self.validate_namespace()
    }

    /// Validates everything but the destination namespace. managed-gitops reports an unusable environment before an
    /// invalid namespace.
    pub(crate) fn validate_source(&self) -> Result<(), String> {
        let source = &self.spec.source;
        match source.path.as_str() {
            "" => return Err(PATH_REQUIRED.to_string()),
            "/" => return Err(PATH_SLASH.to_string()),
            _ => {}
        }
        if source.repo_url.trim().is_empty() {
            return Err(REPOSITORY_REQUIRED.to_string());
        }
        self.admit()?;
        let options = self.sync_options().len();
        if options > MAX_SYNC_OPTIONS {
            let most = MAX_SYNC_OPTIONS;
            return Err(format!("spec.syncPolicy.syncOptions has {options} entries, and at most {most} are supported"));
        }
        let fields = [
            ("spec.source.repoURL", &source.repo_url),
            ("spec.source.path", &source.path),
            ("spec.source.targetRevision", &source.target_revision),
        ];
        for (field, text) in fields {
            field::validate(field, text)?;
        }
        if has_login(&source.repo_url) {
            return Err(LOGIN_IN_URL.to_string());
        }
        repository::validate("spec.source.repoURL", &source.repo_url)
    }

    /// Validates the destination namespace.
    pub(crate) fn validate_namespace(&self) -> Result<(), String> {
        let namespace = &self.spec.destination.namespace;
        field::validate("spec.destination.namespace", namespace)?;
        let missing = namespace.is_empty() && !self.spec.destination.environment.is_empty();
        if missing || (!namespace.is_empty() && !is_label(namespace)) {
            return Err(BAD_NAMESPACE.to_string());
        }
        Ok(())
    }
}

/// Whether a text is a DNS-1123 label, such as the name of a namespace.
pub(crate) fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.len() <= 63 && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}
