//! Clusters and git servers, as the roles ask them.

use std::path::Path;

use switchboard_git::{Git, GitError, HostKeys, Login, Settings};
use switchboard_gitops::flow::{credential, environment};
use switchboard_gitops::kinds::credential::Outcome;
use switchboard_gitops::repository;
use switchboard_service::network::{Later, Network, cluster};

/// Where host keys of git servers are kept, and what git needs while it runs.
const FOLDER: &str = "gitops-git";

/// The network of this machine.
pub struct Outside {
    git: Git,
    hosts: HostKeys,
}

impl Outside {
    /// Keeps what it must in a directory.
    pub fn new(dir: &Path) -> Outside {
        let folder = dir.join(FOLDER);
        Outside { hosts: HostKeys::First(folder.join("known_hosts")), git: Git::new(Settings::in_folder(&folder)) }
    }

    fn login(&self, login: &repository::Login) -> Login {
        match login {
            repository::Login::Password { username, password } => {
                Login::Password { username: username.clone(), password: password.expose().to_string() }
            }
            repository::Login::Key(key) => {
                Login::Key { private_key: key.expose().to_string(), hosts: self.hosts.clone() }
            }
        }
    }
}

impl Network for Outside {
    fn environment<'a>(&'a self, question: &'a environment::Question) -> Later<'a, environment::Answer> {
        Box::pin(cluster::ask(question))
    }

    fn credential<'a>(&'a self, question: &'a credential::Question) -> Later<'a, Outcome> {
        let (git, url, login) = (self.git.clone(), question.url.clone(), self.login(&question.login));
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || git.ls_remote(&url, &login).map(drop));
            match asked.await {
                Ok(Ok(())) => Outcome::Valid,
                Ok(Err(error)) => outcome(&error),
                Err(_) => Outcome::Unchecked("git did not come to an end".to_string()),
            }
        })
    }
}

/// A server that says no to a credential may be one that hides what is not there; the original tells the two apart by the word.
fn outcome(error: &GitError) -> Outcome {
    match error {
        GitError::Denied(_) | GitError::Login(_) => Outcome::InvalidCredentials,
        GitError::NotFound(_) | GitError::Address(_) => Outcome::InvalidRepositoryUrl(error.to_string()),
        // Whoever was not reached said nothing of the repository.
        other => Outcome::Unchecked(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_not_found_is_said_to_be_missing() {
        let is_missing = |error: GitError| matches!(outcome(&error), Outcome::InvalidRepositoryUrl(_));
        assert!(is_missing(GitError::NotFound("x".into())) && is_missing(GitError::Address("x".into())));
        assert!(!is_missing(GitError::Unreachable("no route".into())) && !is_missing(GitError::HostKey("x".into())));
        assert_eq!(outcome(&GitError::Denied("x".into())), Outcome::InvalidCredentials);
    }
}
