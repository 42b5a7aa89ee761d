//! GitOpsDeploymentRepositoryCredential: login for a repository.

use serde::{Deserialize, Serialize};

use crate::kinds::condition::{ERROR_OCCURRED, set_meta};
use crate::kinds::{ConditionStatus, MetaCondition, ObjectMeta, field};
use crate::repository::{self, has_login};

/// Kind.
pub const KIND: &str = "GitOpsDeploymentRepositoryCredential";

/// Type of the Secret with the login.
pub const SECRET_TYPE: &str = "managed-gitops.redhat.com/repository-credential";

/// The URL has an unsupported scheme.
pub const BAD_SCHEME: &str = "repository must begin with ssh:// or https://";

/// The URL contains a user name with password, or a token.
pub const LOGIN_IN_URL: &str = "spec.repository must not contain a login, because URLs are stored in plaintext: remove the part before the @, and put the login into the Secret";

/// Condition: whether the repository exists.
pub const VALID_URL: &str = "ValidRepositoryURL";

/// Condition: whether the repository accepts the credential.
pub const VALID_CREDENTIAL: &str = "ValidRepositoryCredential";

/// Repository credential.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryCredential {
    /// Metadata.
    pub metadata: ObjectMeta,
    /// Specification by the tenant.
    pub spec: CredentialSpec,
    /// Status.
    #[serde(default, deserialize_with = "crate::kinds::meta::lenient_status")]
    pub status: CredentialStatus,
}

/// Specification by the tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialSpec {
    /// Repository URL.
    pub repository: String,
    /// Name of the Secret.
    pub secret: String,
}

/// Status of a credential.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialStatus {
    /// The three conditions, sorted by type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MetaCondition>,
}

/// Outcome of a credential check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialOutcome {
    /// The repository accepted the credential.
    Valid,
    /// The resource names no Secret.
    SecretNotSpecified,
    /// The Secret does not exist.
    SecretNotFound,
    /// The Secret has another type.
    SecretInvalidType,
    /// The repository rejected the credential, or the Secret contains none for this URL.
    InvalidCredentials,
    /// The URL contains a login, which would be stored in plaintext.
    LoginInUrl,
    /// The repository does not exist, with the message of the check.
    InvalidRepositoryUrl(String),
    /// The URL is not supported, with the complete message.
    UnsupportedUrl(String),
    /// The result is unknown: the server did not answer, or the login cannot be stored.
    Unchecked(String),
}

/// Returns the three conditions, sorted by type, with managed-gitops's messages.
pub fn conditions(credential: &RepositoryCredential, outcome: &CredentialOutcome, now: &str) -> Vec<MetaCondition> {
    let (url, secret) = (&credential.spec.repository, &credential.spec.secret);
    let exists = (ConditionStatus::True, "ValidRepositoryUrl", format!("Repository {url} exists"));
    let about = format!("Repository Credentials provided {secret} for Repository {url} are");
    let wrong = |reason, message: &str| {
        let of = |truth| (truth, reason, message.to_string());
        [of(ConditionStatus::True), of(ConditionStatus::False), of(ConditionStatus::False)]
    };
    let [error, valid_url, valid_credential] = match outcome {
        CredentialOutcome::Valid => [
            (ConditionStatus::False, "RepositoryCredentialUpToDate", "RepositoryCredentials are Valid".to_string()),
            exists,
            (ConditionStatus::True, "RepositoryCredentialUpToDate", format!("{about} valid")),
        ],
        CredentialOutcome::InvalidCredentials => {
            let [error, _, credential] = wrong("InvalidCredentials", &format!("{about} invalid"));
            [error, exists, credential]
        }
        CredentialOutcome::SecretNotSpecified => wrong("SecretNotSpecified", "Secret field is missing value"),
        CredentialOutcome::SecretNotFound => wrong("SecretNotFound", "Secret specified not found"),
        CredentialOutcome::SecretInvalidType => {
            wrong("SecretInvalidType", &format!("Secret has an invalid type, must be {SECRET_TYPE}"))
        }
        CredentialOutcome::LoginInUrl => wrong("InvalidRepositoryUrl", LOGIN_IN_URL),
        CredentialOutcome::InvalidRepositoryUrl(why) => {
            wrong("InvalidRepositoryUrl", &format!("Repository does not exist: {why}"))
        }
        CredentialOutcome::UnsupportedUrl(said) => wrong("InvalidRepositoryUrl", said),
        // managed-gitops uses this reason for every error except "not found". Whether the repository exists is unknown.
        CredentialOutcome::Unchecked(why) => {
            let [error, (_, reason, said), credential] =
                wrong("InvalidCredentials", &format!("{about} not known to be valid: {why}"));
            [error, (ConditionStatus::Unknown, reason, said), credential]
        }
    };
    let mut after = credential.status.conditions.clone();
    after.retain(|c| [ERROR_OCCURRED, VALID_URL, VALID_CREDENTIAL].contains(&c.r#type.as_str()));
    for (r#type, (status, reason, message)) in
        [(ERROR_OCCURRED, error), (VALID_URL, valid_url), (VALID_CREDENTIAL, valid_credential)]
    {
        set_meta(&mut after, r#type, status, reason, &message, now);
    }
    after.sort_by(|a, b| a.r#type.cmp(&b.r#type));
    after
}

impl RepositoryCredential {
    /// Checks the rule of the CustomResourceDefinition. It matches managed-gitops's webhook, except that it accepts
    /// `git@host:path`, which the webhook rejects and the managed-gitops backend supports.
    pub fn admit(&self) -> Result<(), &'static str> {
        let url = &self.spec.repository;
        let known = url.is_empty() || url.starts_with("https://") || url.starts_with("ssh://") || is_scp_like(url);
        if known { Ok(()) } else { Err(BAD_SCHEME) }
    }

    /// Validates the URL with the rules for deployments.
    pub fn validate(&self) -> Result<(), String> {
        field::validate("spec.repository", &self.spec.repository)?;
        match self.spec.repository.as_str() {
            // An empty URL and a URL with a login have their own messages.
            url if url.is_empty() || has_login(url) => Ok(()),
            url => repository::validate("spec.repository", url),
        }
    }
}

/// Whether the URL has the form `user@host:path`, with a user name and no password.
fn is_scp_like(url: &str) -> bool {
    let is_name = |text: &str| !text.is_empty() && !text.contains(['@', ':', '/', ' ']);
    let parts = url.split_once('@').and_then(|(user, rest)| Some((user, rest.split_once(':')?)));
    parts.is_some_and(|(user, (host, path))| {
        is_name(user) && is_name(host) && !path.is_empty() && !path.starts_with(':')
    })
}
