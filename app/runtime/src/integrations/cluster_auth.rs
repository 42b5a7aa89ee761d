//! Authentication for a cluster that is accessed by token. The token can be replaced, and access can be closed if the
//! data names another server.

use std::sync::{Arc, PoisonError, RwLock};

use http::header::{AUTHORIZATION, HeaderValue};
use kube::client::Body;
use switchboard_integrations::credentials::ClusterToken;
use switchboard_integrations::model::IntegrationCluster;

use crate::failure::CommandError;

/// Shared token of a client, or the reason why access is closed.
#[derive(Clone)]
pub struct ClusterAuth(Arc<RwLock<AuthState>>);

enum AuthState {
    /// Value of the `Authorization` header.
    Open(HeaderValue),
    /// Reason why requests are refused.
    Closed(String),
}

impl ClusterAuth {
    /// Creates the authentication with a token.
    pub fn with_token(token: &ClusterToken) -> Result<Self, CommandError> {
        Ok(Self(Arc::new(RwLock::new(AuthState::Open(header(token)?)))))
    }

    /// Replaces the token.
    pub fn replace_token(&self, token: &ClusterToken) -> Result<(), CommandError> {
        self.set(AuthState::Open(header(token)?));
        Ok(())
    }

    /// Refuses all further requests.
    pub fn close(&self, why: &str) {
        self.set(AuthState::Closed(why.to_string()));
    }

    fn set(&self, state: AuthState) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = state;
    }

    fn authorization(&self) -> Result<HeaderValue, String> {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            AuthState::Open(header) => Ok(header.clone()),
            AuthState::Closed(why) => Err(why.clone()),
        }
    }

    /// Builds a client for a cluster with this authentication.
    pub fn client(&self, cluster: &IntegrationCluster) -> Result<kube::Client, CommandError> {
        let mut config = kube::Config::new(cluster.server_url.parse()?);
        config.accept_invalid_certs = cluster.insecure_skip_tls_verify;
        config.default_retry = false;
        let (behind, door) = (kube::Client::try_from(config)?, self.clone());
        let through = tower::service_fn(move |mut request: http::Request<Body>| {
            let (behind, door) = (behind.clone(), door.clone());
            async move {
                request.headers_mut().insert(AUTHORIZATION, door.authorization()?);
                behind.send(request).await.map_err(tower::BoxError::from)
            }
        });
        Ok(kube::Client::new(through, "default"))
    }
}

fn header(token: &ClusterToken) -> Result<HeaderValue, CommandError> {
    let mut header = HeaderValue::try_from(format!("Bearer {}", token.reveal()))
        .map_err(|_| "the token has characters that are invalid in a header")?;
    header.set_sensitive(true);
    Ok(header)
}
