//! Clusters and git servers that answer as a test says; behind the former is one cluster.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use kube::Client;
use switchboard_cluster::Cluster;
use switchboard_gitops::flow::{credential, environment};
use switchboard_gitops::kinds::credential::Outcome;
use switchboard_gitops::kinds::environment::Reason;
use switchboard_gitops::kubeconfig::Access;
use switchboard_gitops::repository::Login;
use switchboard_service::network::cluster::{self, Failed, Reach};
use switchboard_service::network::{Later, Network};
use tower::ServiceExt;

use crate::stage::BEHIND;

/// A token or password of this is refused.
pub const WRONG: &str = "wrong-credential";

/// One of this is never answered.
pub const SILENT: &str = "silent-credential";

/// What was asked.
#[derive(Default)]
pub struct Script {
    pub environments: Mutex<Vec<environment::Question>>,
    pub credentials: Mutex<Vec<credential::Question>>,
    /// Whether everything is refused.
    pub refuses: AtomicBool,
    /// The cluster behind every environment, if it is to judge for itself who asks.
    pub strict: Mutex<Option<Cluster>>,
}

/// The network of one process.
pub struct Over {
    pub script: Arc<Script>,
    /// Every cluster that is asked, whatever it is called.
    pub target: Client,
}

impl Reach for Over {
    fn client<'a>(&'a self, _: &'a str, access: &'a Access, _: bool) -> Later<'a, Result<Client, Failed>> {
        let strict = self.script.strict.lock().unwrap().clone();
        Box::pin(async { Ok(strict.map_or_else(|| self.target.clone(), |cluster| bearer(cluster, access))) })
    }
}

/// A client that is nobody but whose token it shows.
fn bearer(cluster: Cluster, access: &Access) -> Client {
    let token = format!("Bearer {}", access.token.as_ref().unwrap().expose());
    let service = cluster.service().map_request(move |mut request: http::Request<kube::client::Body>| {
        let path = request.uri().path_and_query().unwrap().as_str();
        *request.uri_mut() = format!("/clusters/{BEHIND}{path}").parse().unwrap();
        request.headers_mut().insert("authorization", token.parse().unwrap());
        request
    });
    Client::new(service.map_err(|never: std::convert::Infallible| match never {}), "default")
}

impl Network for Over {
    fn environment<'a>(&'a self, question: &'a environment::Question) -> Later<'a, environment::Answer> {
        self.script.environments.lock().unwrap().push(question.clone());
        Box::pin(async move {
            if let environment::Question::Verify { digest, access, .. } = question {
                let token = access.token.as_ref().map(|token| token.expose());
                match if self.script.refuses.load(Ordering::SeqCst) { Some(WRONG) } else { token } {
                    Some(SILENT) => std::future::pending::<()>().await,
                    Some(WRONG) => {
                        return environment::Answer::Refused {
                            digest: digest.clone(),
                            reason: Reason::UnableToValidateClusterCredentials,
                            message: "Unauthorized".into(),
                            token: None,
                        };
                    }
                    _ => {}
                }
            }
            cluster::ask_by(self, question).await
        })
    }

    fn credential<'a>(&'a self, question: &'a credential::Question) -> Later<'a, Outcome> {
        self.script.credentials.lock().unwrap().push(question.clone());
        Box::pin(async move {
            match &question.login {
                _ if self.script.refuses.load(Ordering::SeqCst) => Outcome::InvalidCredentials,
                Login::Password { password, .. } if password.expose() == WRONG => Outcome::InvalidCredentials,
                _ => Outcome::Valid,
            }
        })
    }
}
