//! The server as a [`tower::Service`], for the listener and the in-process client.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower::Service as TowerService;

use crate::response::ResponseBody;
use crate::server::{Cluster, ServerState};

/// HTTP service of a server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HttpService {
    inner: Arc<ServerState>,
}

impl Cluster {
    /// Returns the HTTP service of this cluster.
    pub fn service(&self) -> HttpService {
        HttpService { inner: self.inner().clone() }
    }
}

impl<B> TowerService<Request<B>> for HttpService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let inner = self.inner.clone();
        Box::pin(async move { Ok(inner.handle(request).await) })
    }
}
