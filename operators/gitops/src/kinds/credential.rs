//! GitOpsDeploymentRepositoryCredential: how to read a repository.

use serde::{Deserialize, Serialize};

use super::condition::{ERROR_OCCURRED, set_meta};
use super::{Meta, MetaCondition, Truth, field};
use crate::repository::{self, has_login};

/// The kind.
pub const KIND: &str = "GitOpsDeploymentRepositoryCredential";

/// The type of Secret that holds it.
pub const SECRET_TYPE: &str = "managed-gitops.redhat.com/repository-credential";

/// The URL is of neither scheme, and not the short form of the second.
pub const BAD_SCHEME: &str = "repository must begin with ssh:// or https://";

/// The URL has a name and a password in it, or a token.
pub const LOGIN_IN_URL: &str = "spec.repository must not contain a login, which would be kept in clear: remove what is before the @, the Secret has it";

/// Whether the repository can be found.
pub const VALID_URL: &str = "ValidRepositoryURL";

/// Whether the credential is taken.
pub const VALID_CREDENTIAL: &str = "ValidRepositoryCredential";

/// A credential, and how it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryCredential {
    /// Who it is.
    pub metadata: Meta,
    /// What the tenant wants.
    pub spec: CredentialSpec,
    /// How it stands.
    #[serde(default, deserialize_with = "super::meta::status")]
    pub status: CredentialStatus,
}

/// What the tenant wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialSpec {
    /// The repository.
    pub repository: String,
    /// The Secret.
    pub secret: String,
}

/// How it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialStatus {
    /// Three of them, sorted by type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MetaCondition>,
}

/// What came of a look at a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The repository answered.
    Valid,
    /// No Secret is named.
    SecretNotSpecified,
    /// The Secret is not there.
    SecretNotFound,
    /// The Secret is of another type.
    SecretInvalidType,
    /// The repository refused it, or the Secret holds nothing that could be shown to it.
    InvalidCredentials,
    /// The URL itself holds a login, which would be kept in clear.
    LoginInUrl,
    /// There is no such repository; why, in the words of whoever looked.
    InvalidRepositoryUrl(String),
    /// The URL is none that is supported; why, in words that are whole.
    UnsupportedUrl(String),
    /// Nobody could tell: the server did not answer, or the login cannot be kept.
    Unchecked(String),
}

/// The three conditions, sorted by type. The original's words.
pub fn conditions(credential: &RepositoryCredential, outcome: &Outcome, now: &str) -> Vec<MetaCondition> {
    let (url, secret) = (&credential.spec.repository, &credential.spec.secret);
    let exists = (Truth::True, "ValidRepositoryUrl", format!("Repository {url} exists"));
    let about = format!("Repository Credentials provided {secret} for Repository {url} are");
    let wrong = |reason, message: &str| {
        let of = |truth| (truth, reason, message.to_string());
        [of(Truth::True), of(Truth::False), of(Truth::False)]
    };
    let [error, valid_url, valid_credential] = match outcome {
        Outcome::Valid => [
            (Truth::False, "RepositoryCredentialUpToDate", "RepositoryCredentials are Valid".to_string()),
            exists,
            (Truth::True, "RepositoryCredentialUpToDate", format!("{about} valid")),
        ],
        Outcome::InvalidCredentials => {
            let [error, _, credential] = wrong("InvalidCredentials", &format!("{about} invalid"));
            [error, exists, credential]
        }
        Outcome::SecretNotSpecified => wrong("SecretNotSpecified", "Secret field is missing value"),
        Outcome::SecretNotFound => wrong("SecretNotFound", "Secret specified not found"),
        Outcome::SecretInvalidType => {
            wrong("SecretInvalidType", &format!("Secret has an invalid type, must be {SECRET_TYPE}"))
        }
        Outcome::LoginInUrl => wrong("InvalidRepositoryUrl", LOGIN_IN_URL),
        Outcome::InvalidRepositoryUrl(why) => {
            wrong("InvalidRepositoryUrl", &format!("Repository does not exist: {why}"))
        }
        Outcome::UnsupportedUrl(said) => wrong("InvalidRepositoryUrl", said),
        // The original's word for whatever is not "not found". That the repository exists, nobody knows.
        Outcome::Unchecked(why) => {
            let [error, (_, reason, said), credential] =
                wrong("InvalidCredentials", &format!("{about} not known to be valid: {why}"));
            [error, (Truth::Unknown, reason, said), credential]
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
    /// What the rule of the definition refuses: what the original's webhook would, but for `git@host:path`, which that refuses and its
    /// backend takes.
    pub fn admit(&self) -> Result<(), &'static str> {
        let url = &self.spec.repository;
        let known = url.is_empty() || url.starts_with("https://") || url.starts_with("ssh://") || is_short_ssh(url);
        if known { Ok(()) } else { Err(BAD_SCHEME) }
    }

    /// What is wrong with the URL, as that of a deployment is judged.
    pub fn judge(&self) -> Result<(), String> {
        field::judge("spec.repository", &self.spec.repository)?;
        match self.spec.repository.as_str() {
            // None at all, and a login in it, are told in words of their own.
            url if url.is_empty() || has_login(url) => Ok(()),
            url => repository::judge("spec.repository", url),
        }
    }
}

/// `user@host:path`. The user is a name alone: a password has no place there.
fn is_short_ssh(url: &str) -> bool {
    let is_name = |text: &str| !text.is_empty() && !text.contains(['@', ':', '/', ' ']);
    let parts = url.split_once('@').and_then(|(user, rest)| Some((user, rest.split_once(':')?)));
    parts.is_some_and(|(user, (host, path))| {
        is_name(user) && is_name(host) && !path.is_empty() && !path.starts_with(':')
    })
}
