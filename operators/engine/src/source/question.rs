//! Question for the content of a repository.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_kernel::view::Question;

/// Question for the content of a repository. The login travels beside it, because questions are recorded.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryQuestion {
    /// `spec.source` of the Application.
    pub source: Value,
    /// Branch, tag or commit.
    pub revision: String,
    /// Whether the references are listed again.
    pub fresh: bool,
    /// Whether the source has changed since the last comparison. The references are then listed again, unless the
    /// revision is a commit.
    pub changed: bool,
    /// Creation time of the Application. Older references are not used, unless the revision is a commit.
    pub since: String,
    /// Secret with the login; `None` without a login.
    pub credential: Option<CredentialSecret>,
    /// Name of the Application.
    pub application: String,
    /// Destination namespace.
    pub namespace: String,
}

/// Secret with the login of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CredentialSecret {
    /// Namespace of the Secret.
    pub namespace: String,
    /// Name of the Secret.
    pub name: String,
}

/// Content of a repository at a commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RepositoryContent {
    /// Commit.
    pub revision: String,
    /// Time at which the revision was resolved to the commit.
    pub resolved_at: String,
    /// Source type: `Directory` or `Helm`.
    pub source_type: String,
    /// Generated objects.
    pub objects: Vec<Value>,
}

impl Question for RepositoryQuestion {
    type Answer = RepositoryContent;
    const KIND: &'static str = "repository";

    /// Repositories are only fetched and read.
    fn acts(&self) -> bool {
        false
    }
}
