//! The way to a cluster that is reached by token. Tokens are exchanged while the process runs, and a way that leads to
//! another server than the data says is closed.

use std::sync::{Arc, PoisonError, RwLock};

use http::header::{AUTHORIZATION, HeaderValue};
use kube::client::Body;
use switchboard_integrations::credentials::Secret;
use switchboard_integrations::model::Cluster;

use crate::failure::Failure;

/// Whether and how a cluster may be asked now.
#[derive(Clone)]
pub struct Door(Arc<RwLock<State>>);

enum State {
    /// With this as its `Authorization`.
    Open(HeaderValue),
    /// Not, and why.
    Closed(String),
}

impl Door {
    /// Open with a token.
    pub fn open(token: &Secret) -> Result<Self, Failure> {
        Ok(Self(Arc::new(RwLock::new(State::Open(header(token)?)))))
    }

    /// Another token from now on.
    pub fn exchange(&self, token: &Secret) -> Result<(), Failure> {
        self.set(State::Open(header(token)?));
        Ok(())
    }

    /// Nothing goes through any more.
    pub fn close(&self, why: &str) {
        self.set(State::Closed(why.to_string()));
    }

    fn set(&self, state: State) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = state;
    }

    fn authorization(&self) -> Result<HeaderValue, String> {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            State::Open(header) => Ok(header.clone()),
            State::Closed(why) => Err(why.clone()),
        }
    }

    /// A client for a cluster, through this door.
    pub fn client(&self, cluster: &Cluster) -> Result<kube::Client, Failure> {
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

fn header(token: &Secret) -> Result<HeaderValue, Failure> {
    let mut header = HeaderValue::try_from(format!("Bearer {}", token.reveal()))
        .map_err(|_| "the token holds what no header can")?;
    header.set_sensitive(true);
    Ok(header)
}
