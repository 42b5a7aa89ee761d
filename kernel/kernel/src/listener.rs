//! HTTP endpoints of a running kernel.
//!
//! The TCP port serves machines: `/healthz` reports that the process is alive, `/readyz` whether it can read its
//! clusters, and `/metrics` serves Prometheus. If a cluster is unreachable, the process is not ready but alive, because
//! a restart would not help.
//!
//! The socket in the state directory serves the command line of the same user: `/api/v1/…`. Its directory is closed to
//! other users, so it needs no token.

mod command;
mod local_user;
mod object_names;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::json;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;

use crate::decision::DecisionId;
use crate::host::{Handle, HostStopped};
use crate::metrics;
use crate::state::KernelState;

use local_user::LocalUser;

/// Name of the socket in the state directory.
pub const SOCKET: &str = "kernel.sock";

/// Maximum time a request for the state waits for the journal to contain the decisions it refers to.
const JOURNAL_WAIT: Duration = Duration::from_secs(1);

/// Pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Error while starting to listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The TCP port could not be opened.
    #[error("could not listen on {0}")]
    Port(SocketAddr, #[source] std::io::Error),
    /// The socket could not be created.
    #[error("could not create the socket {0}")]
    Socket(PathBuf, #[source] std::io::Error),
}

/// Listener that serves requests until it is dropped.
pub struct KernelListener {
    tasks: Vec<JoinHandle<()>>,
    socket: Option<PathBuf>,
    address: Option<SocketAddr>,
}

impl KernelListener {
    /// Returns the address of `/healthz` and `/metrics`.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

impl Drop for KernelListener {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        if let Some(socket) = &self.socket {
            // If this fails, the next start replaces the socket.
            let _ = std::fs::remove_file(socket);
        }
    }
}

/// Serves a port, and the socket of a state directory that only this process uses.
///
/// # Errors
/// When the port or the socket cannot be opened.
pub async fn listen(
    handle: &Handle,
    port: Option<SocketAddr>,
    dir: Option<&Path>,
) -> Result<KernelListener, ListenError> {
    listen_with_metrics(handle, port, dir, None).await
}

/// Function that returns further metrics for `/metrics`, called for each request.
pub type ExtraMetrics = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync>;

/// Serves a port and a socket as [`listen`] does, with further metrics.
///
/// # Errors
/// When the port or the socket cannot be opened.
pub async fn listen_with_metrics(
    handle: &Handle,
    port: Option<SocketAddr>,
    dir: Option<&Path>,
    more: Option<ExtraMetrics>,
) -> Result<KernelListener, ListenError> {
    let mut listening = KernelListener { tasks: Vec::new(), socket: None, address: None };
    if let Some(address) = port {
        let listener = TcpListener::bind(address).await.map_err(|e| ListenError::Port(address, e))?;
        listening.address = listener.local_addr().ok();
        listening.tasks.push(tokio::spawn(serve_port(listener, handle.clone(), more)));
    }
    if let Some(dir) = dir {
        let path = dir.join(SOCKET);
        // A leftover socket belongs to a process that has ended: this process holds the journal's lock.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).map_err(|e| ListenError::Socket(path.clone(), e))?;
        listening.tasks.push(tokio::spawn(serve_socket(listener, handle.clone())));
        listening.socket = Some(path);
    }
    Ok(listening)
}

async fn serve_port(listener: TcpListener, handle: Handle, more: Option<ExtraMetrics>) {
    loop {
        if let Some((stream, _)) = accept_or_pause(listener.accept().await).await {
            tokio::spawn(serve(TokioIo::new(stream), handle.clone(), more.clone(), None));
        }
    }
}

async fn serve_socket(listener: UnixListener, handle: Handle) {
    loop {
        if let Some((stream, _)) = accept_or_pause(listener.accept().await).await {
            let user = LocalUser::of(&stream);
            tokio::spawn(serve(TokioIo::new(stream), handle.clone(), None, Some(user)));
        }
    }
}

/// Returns an accepted connection. After an error it waits first: without free file descriptors, accepting fails again
/// at once.
async fn accept_or_pause<S>(accepted: std::io::Result<S>) -> Option<S> {
    if let Err(error) = &accepted {
        tracing::debug!(%error, "could not accept a connection: {error}");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
    accepted.ok()
}

async fn serve<I>(io: I, handle: Handle, more: Option<ExtraMetrics>, user: Option<LocalUser>)
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (handle, more) = (handle.clone(), more.clone());
        async move { Ok::<_, Infallible>(answer(request, &handle, more.as_ref(), user).await) }
    });
    // A broken connection concerns only its client.
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(io, service).await;
}

async fn answer(
    request: Request<Incoming>,
    handle: &Handle,
    more: Option<&ExtraMetrics>,
    user: Option<LocalUser>,
) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_string();
    let found = match (request.method(), path.as_str(), user) {
        (&Method::GET, "/healthz", _) => handle.state().await.map(|_| text(StatusCode::OK, "ok\n".to_string())),
        (&Method::GET, "/readyz", _) => handle.state().await.map(|state| readiness(&state)),
        (&Method::GET, "/metrics", _) => metrics_page(handle, more).await,
        (&Method::GET, "/api/v1/state", Some(_)) => flushed_state(handle).await.map(|state| json_of(&state)),
        (&Method::POST, path, Some(user)) if path.starts_with("/api/v1/") => {
            return command::command(path, request, handle, user).await;
        }
        _ => Ok(problem(StatusCode::NOT_FOUND, "not found")),
    };
    found.unwrap_or_else(|stopped| problem(StatusCode::SERVICE_UNAVAILABLE, &stopped.to_string()))
}

/// Returns the state after the journal has written the decisions it refers to, for clients that read both. A slow disk
/// delays it only up to [`JOURNAL_WAIT`].
async fn flushed_state(handle: &Handle) -> Result<KernelState, HostStopped> {
    let state = handle.state().await?;
    let units = state.operators.iter().flat_map(|operator| &operator.units);
    flush(handle, units.filter_map(|unit| unit.last_decision).collect()).await;
    Ok(state)
}

/// Writes decisions whose numbers are about to be returned to the journal's files.
async fn flush(handle: &Handle, ids: Vec<DecisionId>) {
    let _ = tokio::time::timeout(JOURNAL_WAIT, handle.flush(ids)).await;
}

/// Returns 200 if everything that operators read is watched without errors.
fn readiness(state: &KernelState) -> Response<Full<Bytes>> {
    let blind = state.tables.iter().filter_map(|one| {
        let what = format!("{} of cluster {}", one.table.resource, one.table.cluster);
        match &one.watch_error {
            Some(why) => Some(format!("could not watch {what}: {why}\n")),
            None if !one.synced => Some(format!("{what} has not been read yet\n")),
            None => None,
        }
    });
    let blind: String = blind.collect();
    if blind.is_empty() {
        text(StatusCode::OK, "ok\n".to_string())
    } else {
        text(StatusCode::SERVICE_UNAVAILABLE, blind)
    }
}

async fn metrics_page(
    handle: &Handle,
    more: Option<&ExtraMetrics>,
) -> Result<Response<Full<Bytes>>, crate::host::HostStopped> {
    let (state, counts) = (handle.state().await?, handle.counts().await?);
    let mut page = metrics::render(&state, counts.recorded, counts.dropped);
    if let Some(more) = more {
        page.push_str(&more().await);
    }
    Ok(text(StatusCode::OK, page))
}

fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    respond(status, "text/plain; version=0.0.4; charset=utf-8", body)
}

fn json_of(value: &impl serde::Serialize) -> Response<Full<Bytes>> {
    match serde_json::to_string(value) {
        Ok(body) => respond(StatusCode::OK, "application/json", body),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn problem(status: StatusCode, detail: &str) -> Response<Full<Bytes>> {
    let title = status.canonical_reason().unwrap_or("error");
    let body = json!({"status": status.as_u16(), "title": title, "detail": detail});
    respond(status, "application/problem+json", body.to_string())
}

fn respond(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", http::HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_failed_accept_is_not_retried_at_once() {
        let begun = std::time::Instant::now();
        assert_eq!(accept_or_pause(Ok(1)).await, Some(1));
        assert!(accept_or_pause(Err::<(), _>(std::io::Error::other("too many open files"))).await.is_none());
        assert!(begun.elapsed() >= ACCEPT_PAUSE, "it would spin");
    }
}
