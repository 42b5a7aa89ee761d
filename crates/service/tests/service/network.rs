//! Clusters and git servers that answer as a test says.

use std::sync::Mutex;

use switchboard_gitops::flow::{credential, environment};
use switchboard_gitops::kinds::credential::Outcome;
use switchboard_gitops::kinds::environment::Reason;
use switchboard_gitops::repository::Login;
use switchboard_service::network::{Later, Network};

/// A token or password of this is refused.
pub const WRONG: &str = "wrong-credential";

/// One of this is never answered.
pub const SILENT: &str = "silent-credential";

/// What was asked.
#[derive(Default)]
pub struct Script {
    pub environments: Mutex<Vec<environment::Question>>,
    pub credentials: Mutex<Vec<credential::Question>>,
}

impl Network for Script {
    fn environment<'a>(&'a self, question: &'a environment::Question) -> Later<'a, environment::Answer> {
        self.environments.lock().unwrap().push(question.clone());
        Box::pin(async move {
            match question {
                environment::Question::Verify { digest, access, install, .. } => {
                    if access.token.as_ref().is_some_and(|token| token.expose() == SILENT) {
                        std::future::pending::<()>().await;
                    }
                    if access.token.as_ref().is_some_and(|token| token.expose() == WRONG) {
                        return environment::Answer::Refused {
                            digest: digest.clone(),
                            reason: Reason::UnableToValidateClusterCredentials,
                            message: "Unauthorized".into(),
                        };
                    }
                    let token = install.then(|| "token-of-our-own".into());
                    environment::Answer::Verified { digest: digest.clone(), token }
                }
                environment::Question::Retire { account } => {
                    environment::Answer::Retired { account: account.id.clone() }
                }
            }
        })
    }

    fn credential<'a>(&'a self, question: &'a credential::Question) -> Later<'a, Outcome> {
        self.credentials.lock().unwrap().push(question.clone());
        Box::pin(async move {
            match &question.login {
                Login::Password { password, .. } if password.expose() == WRONG => Outcome::InvalidCredentials,
                _ => Outcome::Valid,
            }
        })
    }
}
