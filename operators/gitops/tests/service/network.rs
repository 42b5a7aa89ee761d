//! Scripted clusters and git servers; one embedded cluster backs all clusters.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use kube::Client;
use switchboard_cluster::Cluster;
use switchboard_gitops::credential;
use switchboard_gitops::credential::kind::CredentialOutcome;
use switchboard_gitops::environment::cluster::{self, ClusterConnector, ClusterFailure};
use switchboard_gitops::environment::kind::EnvironmentReason;
use switchboard_gitops::environment::kubeconfig::KubeconfigAccess;
use switchboard_gitops::environment::{self};
use switchboard_gitops::network::{BoxFuture, ExternalChecker};
use switchboard_gitops::repository::RepositoryLogin;
use tower::ServiceExt;

use crate::fixture::TARGET_CLUSTER;

/// Token or password that is rejected.
pub const WRONG: &str = "wrong-credential";

/// Token or password that gets no response.
pub const SILENT: &str = "silent-credential";

/// Recorded requests and the scripted responses.
#[derive(Default)]
pub struct NetworkScript {
    pub environments: Mutex<Vec<environment::ClusterCheck>>,
    pub credentials: Mutex<Vec<credential::CredentialCheck>>,
    /// Whether every request is rejected.
    pub refuses: AtomicBool,
    /// The cluster behind every environment, if it enforces authentication and RBAC.
    pub strict: Mutex<Option<Cluster>>,
}

/// Network of one process.
pub struct ScriptedNetwork {
    pub script: Arc<NetworkScript>,
    /// Cluster that responds to all requests, whatever their URL.
    pub target: Client,
}

impl ClusterConnector for ScriptedNetwork {
    fn client<'a>(
        &'a self,
        _: &'a str,
        access: &'a KubeconfigAccess,
        _: bool,
    ) -> BoxFuture<'a, Result<Client, ClusterFailure>> {
        let strict = self.script.strict.lock().unwrap().clone();
        Box::pin(async { Ok(strict.map_or_else(|| self.target.clone(), |cluster| bearer(cluster, access))) })
    }
}

/// Client whose identity is determined by its token alone.
fn bearer(cluster: Cluster, access: &KubeconfigAccess) -> Client {
    let token = format!("Bearer {}", access.token.as_ref().unwrap().expose());
    let service = cluster.service().map_request(move |mut request: http::Request<kube::client::Body>| {
        let path = request.uri().path_and_query().unwrap().as_str();
        *request.uri_mut() = format!("/clusters/{TARGET_CLUSTER}{path}").parse().unwrap();
        request.headers_mut().insert("authorization", token.parse().unwrap());
        request
    });
    Client::new(service.map_err(|never: std::convert::Infallible| match never {}), "default")
}

impl ExternalChecker for ScriptedNetwork {
    fn check_environment<'a>(
        &'a self,
        question: &'a environment::ClusterCheck,
    ) -> BoxFuture<'a, environment::ClusterCheckResult> {
        self.script.environments.lock().unwrap().push(question.clone());
        Box::pin(async move {
            if let environment::ClusterCheck::Verify { digest, access, .. } = question {
                let token = access.token.as_ref().map(|token| token.expose());
                match if self.script.refuses.load(Ordering::SeqCst) { Some(WRONG) } else { token } {
                    Some(SILENT) => std::future::pending::<()>().await,
                    Some(WRONG) => {
                        return environment::ClusterCheckResult::Refused {
                            digest: digest.clone(),
                            reason: EnvironmentReason::UnableToValidateClusterCredentials,
                            message: "Unauthorized".into(),
                            token: None,
                        };
                    }
                    _ => {}
                }
            }
            cluster::check_cluster_with(self, question).await
        })
    }

    fn check_credential<'a>(&'a self, question: &'a credential::CredentialCheck) -> BoxFuture<'a, CredentialOutcome> {
        self.script.credentials.lock().unwrap().push(question.clone());
        Box::pin(async move {
            match &question.login {
                _ if self.script.refuses.load(Ordering::SeqCst) => CredentialOutcome::InvalidCredentials,
                RepositoryLogin::Password { password, .. } if password.expose() == WRONG => {
                    CredentialOutcome::InvalidCredentials
                }
                _ => CredentialOutcome::Valid,
            }
        })
    }
}
