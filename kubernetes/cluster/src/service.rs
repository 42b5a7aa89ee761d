//! The server as a [`tower::Service`]: what a listener and the in-process client call.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower::Service as TowerService;

use crate::answer::Body;
use crate::server::{Cluster, Inner};

/// Answers HTTP requests. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Service {
    inner: Arc<Inner>,
}

impl Cluster {
    /// The service that answers this cluster's requests.
    pub fn service(&self) -> Service {
        Service { inner: self.inner().clone() }
    }
}

impl<B> TowerService<Request<B>> for Service
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let inner = self.inner.clone();
        Box::pin(async move { Ok(inner.handle(request).await) })
    }
}
