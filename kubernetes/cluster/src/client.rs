//! In-process `kube::Client` without a socket.

use std::convert::Infallible;

use http::Request;
use kube::Client;
use tower::ServiceExt;

use crate::auth::User;
use crate::request::DEFAULT_CLUSTER;
use crate::server::Cluster;

impl Cluster {
    /// Returns a client of the default logical cluster.
    pub fn client(&self) -> Client {
        self.client_of(DEFAULT_CLUSTER)
    }

    /// Returns a client of a logical cluster, which must exist.
    pub fn client_of(&self, cluster: &str) -> Client {
        self.client_as(cluster, User::loopback())
    }

    /// Returns a client of a logical cluster that acts as the given user, with that user's rights.
    pub fn client_as(&self, cluster: &str, user: User) -> Client {
        let prefix = format!("/clusters/{cluster}");
        let service = self.service().map_request(move |mut request: Request<kube::client::Body>| {
            let path = request.uri().path_and_query().map_or("/", |p| p.as_str());
            if let Ok(uri) = format!("{prefix}{path}").parse() {
                *request.uri_mut() = uri;
            }
            request.extensions_mut().insert(user.clone());
            request
        });
        Client::new(service.map_err(|never: Infallible| match never {}), "default")
    }
}
