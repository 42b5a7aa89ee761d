//! Access of the roles to clusters and git servers.

use std::path::Path;

use switchboard_git::{Git, GitError, GitSettings, HostKeys, Login};
use switchboard_gitops::credential::kind::CredentialOutcome;
use switchboard_gitops::environment::{self, cluster};
use switchboard_gitops::network::{BoxFuture, ExternalChecker};
use switchboard_gitops::{credential, repository};

/// Folder for host keys of git servers and temporary files of git.
const FOLDER: &str = "gitops-git";

/// Network access of this machine.
pub struct HostNetwork {
    git: Git,
    hosts: HostKeys,
}

impl HostNetwork {
    /// Keeps its files in a directory.
    pub fn new(dir: &Path) -> HostNetwork {
        let folder = dir.join(FOLDER);
        HostNetwork {
            hosts: HostKeys::AcceptNew(folder.join("known_hosts")),
            git: Git::new(GitSettings::with_cache(&folder)),
        }
    }

    fn login(&self, login: &repository::RepositoryLogin) -> Login {
        match login {
            repository::RepositoryLogin::Password { username, password } => {
                Login::Password { username: username.clone(), password: password.expose().to_string() }
            }
            repository::RepositoryLogin::Key(key) => {
                Login::Key { private_key: key.expose().to_string(), hosts: self.hosts.clone() }
            }
        }
    }
}

impl ExternalChecker for HostNetwork {
    fn check_environment<'a>(
        &'a self,
        question: &'a environment::ClusterCheck,
    ) -> BoxFuture<'a, environment::ClusterCheckResult> {
        Box::pin(cluster::check_cluster(question))
    }

    fn check_credential<'a>(&'a self, question: &'a credential::CredentialCheck) -> BoxFuture<'a, CredentialOutcome> {
        let (git, url, login) = (self.git.clone(), question.url.clone(), self.login(&question.login));
        Box::pin(async move {
            let listed = tokio::task::spawn_blocking(move || git.ls_remote(&url, &login).map(drop));
            match listed.await {
                Ok(Ok(())) => CredentialOutcome::Valid,
                Ok(Err(error)) => outcome(&error),
                Err(_) => CredentialOutcome::Unchecked("git did not finish".to_string()),
            }
        })
    }
}

/// Maps a git error to a condition. A server that refuses a credential may hide a missing repository; managed-gitops
/// distinguishes the two by the message.
fn outcome(error: &GitError) -> CredentialOutcome {
    match error {
        GitError::AuthenticationFailed(_) | GitError::Login(_) => CredentialOutcome::InvalidCredentials,
        GitError::NotFound(_) | GitError::Address(_) => CredentialOutcome::InvalidRepositoryUrl(error.to_string()),
        // Without a connection, nothing is known about the repository.
        other => CredentialOutcome::Unchecked(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_not_found_is_reported_as_missing() {
        let is_missing = |error: GitError| matches!(outcome(&error), CredentialOutcome::InvalidRepositoryUrl(_));
        assert!(is_missing(GitError::NotFound("x".into())) && is_missing(GitError::Address("x".into())));
        assert!(!is_missing(GitError::Unreachable("no route".into())) && !is_missing(GitError::HostKey("x".into())));
        assert_eq!(outcome(&GitError::AuthenticationFailed("x".into())), CredentialOutcome::InvalidCredentials);
    }
}
