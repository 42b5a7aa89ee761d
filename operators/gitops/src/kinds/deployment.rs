//! GitOpsDeployment: what a tenant wants deployed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Condition, Meta, field};
use crate::repository::{self, has_login};

/// The kind.
pub const KIND: &str = "GitOpsDeployment";

/// Set by a tenant, keeps the resource until all that was deployed is gone.
pub const FINALIZER: &str = "resources-finalizer.managed-gitops.redhat.com";

/// A repository is missing.
pub const REPOSITORY_REQUIRED: &str = "spec.source.repoURL is a required field and it cannot be empty";
/// A path is missing.
pub const PATH_REQUIRED: &str = "spec.source.path is a required field and it cannot be empty";
/// A path is the root.
pub const PATH_SLASH: &str = "spec.source.path cannot be '/'";
/// The type is neither of the two.
pub const BAD_TYPE: &str = "spec type must be manual or automated";
/// A sync option is none of the two.
pub const BAD_SYNC_OPTION: &str = "the specified sync option in .spec.syncPolicy.syncOptions is either mispelled or is not supported by GitOpsDeployment";
/// A namespace without an environment.
pub const NAMESPACE_WITHOUT_ENVIRONMENT: &str =
    "the environment field should not be empty when the namespace is non-empty";
/// The environment cannot be used by a deployment that is new.
pub const BAD_ENVIRONMENT_ON_CREATE: &str = "Unable to reconcile the ManagedEnvironment. Verify that the ManagedEnvironment and Secret are correctly defined, and have valid credentials";
/// The environment cannot be used by a deployment that exists.
pub const BAD_ENVIRONMENT_ON_UPDATE: &str = "unable to reconcile the ManagedEnvironment resource. Ensure that the ManagedEnvironment exists, it references a Secret, and the Secret is valid";
/// The URL of the repository has a name and a password in it, or a token.
pub const LOGIN_IN_URL: &str = "spec.source.repoURL must not contain a login, which would be kept in clear: remove what is before the @, and give it in the Secret of a GitOpsDeploymentRepositoryCredential";
/// There is no environment, and Argo CD is on another cluster than the tenant's namespace.
pub const NO_OWN_CLUSTER: &str = "an environment is needed in .spec.destination: Argo CD runs on another cluster than this namespace, which therefore is no place to deploy to";
/// The destination's namespace is missing or is no name.
pub const BAD_NAMESPACE: &str = "the namespace specified in the destination field is invalid";

/// How many sync options are read at most: there are two.
const MAX_SYNC_OPTIONS: usize = 16;

/// The only options a tenant may give.
const SYNC_OPTIONS: [&str; 2] = ["CreateNamespace=true", "CreateNamespace=false"];

/// What is to be deployed, and how it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployment {
    /// Who it is.
    pub metadata: Meta,
    /// What the tenant wants.
    pub spec: DeploymentSpec,
    /// How it stands.
    #[serde(default, deserialize_with = "super::meta::status")]
    pub status: DeploymentStatus,
}

/// What the tenant wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentSpec {
    /// From where.
    pub source: Source,
    /// To where.
    #[serde(default)]
    pub destination: Destination,
    /// How.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_policy: Option<SyncPolicy>,
    /// When: `automated` or `manual`.
    pub r#type: String,
}

/// From where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// The repository.
    #[serde(rename = "repoURL")]
    pub repo_url: String,
    /// The directory in it.
    pub path: String,
    /// Branch, tag or commit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target_revision: String,
}

/// To where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// The name of an environment of the same namespace; empty is the namespace of the resource itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub environment: String,
    /// The namespace there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

/// How.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SyncPolicy {
    /// Options for Argo CD.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sync_options: Vec<String>,
}

/// How it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentStatus {
    /// What is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Whether what runs is what the repository says.
    #[serde(default)]
    pub sync: SyncStatus,
    /// Whether it runs well.
    #[serde(default)]
    pub health: Health,
    /// What was deployed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceStatus>,
    /// What Argo CD compared with last.
    #[serde(default)]
    pub reconciled_state: ReconciledState,
    /// What Argo CD does or did last, as it says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_state: Option<Value>,
}

/// Whether what runs is what the repository says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncStatus {
    /// In a word.
    #[serde(default)]
    pub status: String,
    /// The commit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
}

/// Whether something runs well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// In a word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// In more words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// One thing that was deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceStatus {
    /// Its group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Its kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whether it is as it should be.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// Whether it runs well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
}

/// What Argo CD compared with last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReconciledState {
    /// From where.
    pub source: ReconciledSource,
    /// To where.
    pub destination: ReconciledDestination,
}

/// From where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReconciledSource {
    /// The directory.
    pub path: String,
    /// The repository.
    #[serde(rename = "repoURL")]
    pub repo_url: String,
    /// The revision.
    pub branch: String,
}

/// To where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReconciledDestination {
    /// The name of the tenant's environment; empty for none.
    pub name: String,
    /// The namespace.
    pub namespace: String,
}

/// When a deployment is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Whenever something changed.
    Automated,
    /// When a sync run asks for it.
    Manual,
}

impl Deployment {
    /// When it is made; none if its type is neither.
    pub fn mode(&self) -> Option<Mode> {
        match self.spec.r#type.to_ascii_lowercase().as_str() {
            "automated" => Some(Mode::Automated),
            "manual" => Some(Mode::Manual),
            _ => None,
        }
    }

    /// The options the tenant gave.
    pub fn sync_options(&self) -> &[String] {
        self.spec.sync_policy.as_ref().map_or(&[], |policy| &policy.sync_options)
    }

    /// What the original's webhook would refuse.
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

    /// What is wrong with what the tenant wants, in the words for its condition.
    ///
    /// The original takes quotes, semicolons and line breaks out of all input, and `&` and `%` as well, which changes valid
    /// paths and URLs to others. Here the former are refused and the latter kept.
    pub fn judge(&self) -> Result<(), String> {
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
            ("spec.destination.namespace", &self.spec.destination.namespace),
        ];
        for (field, text) in fields {
            field::judge(field, text)?;
        }
        if has_login(&source.repo_url) {
            return Err(LOGIN_IN_URL.to_string());
        }
        repository::judge("spec.source.repoURL", &source.repo_url)?;
        let namespace = &self.spec.destination.namespace;
        let missing = namespace.is_empty() && !self.spec.destination.environment.is_empty();
        if missing || (!namespace.is_empty() && !is_label(namespace)) {
            return Err(BAD_NAMESPACE.to_string());
        }
        Ok(())
    }
}

/// Whether a text is a DNS-1123 label, as names of namespaces are.
pub(crate) fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.len() <= 63 && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}
