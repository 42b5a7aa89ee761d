//! What a running kernel answers over HTTP.
//!
//! On a TCP port, for machines: `/healthz` says that the process is alive, `/readyz` whether it sees its clusters, `/metrics` is
//! for Prometheus. A cluster that is away makes the process unready, not dead: starting it anew helps nobody. On a socket in the state directory, for the command line of the
//! same user: `/api/v1/…`. The socket's directory is closed to others, so it needs no token.

mod command;

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
use crate::host::{Handle, Stopped};
use crate::metrics;
use crate::state::State;

/// The socket's name in the state directory.
pub const SOCKET: &str = "kernel.sock";

/// How long who asks for the state waits for the journal to have what the state tells of.
const JOURNAL_WAIT: Duration = Duration::from_secs(1);

/// How long after a connection that could not be taken the next is tried.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why the kernel cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The TCP port could not be taken.
    #[error("could not listen on {0}")]
    Port(SocketAddr, #[source] std::io::Error),
    /// The socket could not be made.
    #[error("could not make the socket {0}")]
    Socket(PathBuf, #[source] std::io::Error),
}

/// Listens as long as it lives.
pub struct Listening {
    tasks: Vec<JoinHandle<()>>,
    socket: Option<PathBuf>,
    address: Option<SocketAddr>,
}

impl Listening {
    /// Where `/healthz` and `/metrics` are.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        if let Some(socket) = &self.socket {
            // The next start replaces it if it stays.
            let _ = std::fs::remove_file(socket);
        }
    }
}

/// Answers on a port and on the socket of a state directory that only this process uses.
///
/// # Errors
/// When either cannot be had.
pub async fn listen(handle: &Handle, port: Option<SocketAddr>, dir: Option<&Path>) -> Result<Listening, ListenError> {
    listen_with(handle, port, dir, None).await
}

/// What somebody else in this process adds to `/metrics`, asked for each time.
pub type More = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync>;

/// The same, with more on its page for Prometheus.
///
/// # Errors
/// When either cannot be had.
pub async fn listen_with(
    handle: &Handle,
    port: Option<SocketAddr>,
    dir: Option<&Path>,
    more: Option<More>,
) -> Result<Listening, ListenError> {
    let mut listening = Listening { tasks: Vec::new(), socket: None, address: None };
    if let Some(address) = port {
        let listener = TcpListener::bind(address).await.map_err(|e| ListenError::Port(address, e))?;
        listening.address = listener.local_addr().ok();
        listening.tasks.push(tokio::spawn(serve_port(listener, handle.clone(), more)));
    }
    if let Some(dir) = dir {
        let path = dir.join(SOCKET);
        // What stands there is of a process that is gone: the journal's lock says that we are alone.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).map_err(|e| ListenError::Socket(path.clone(), e))?;
        listening.tasks.push(tokio::spawn(serve_socket(listener, handle.clone())));
        listening.socket = Some(path);
    }
    Ok(listening)
}

async fn serve_port(listener: TcpListener, handle: Handle, more: Option<More>) {
    loop {
        if let Some((stream, _)) = taken(listener.accept().await).await {
            tokio::spawn(serve(TokioIo::new(stream), handle.clone(), more.clone(), false));
        }
    }
}

async fn serve_socket(listener: UnixListener, handle: Handle) {
    loop {
        if let Some((stream, _)) = taken(listener.accept().await).await {
            tokio::spawn(serve(TokioIo::new(stream), handle.clone(), None, true));
        }
    }
}

/// A connection. Without one it takes a while: who has no file left for it is told so again at once.
async fn taken<S>(accepted: std::io::Result<S>) -> Option<S> {
    if let Err(error) = &accepted {
        tracing::debug!(%error, "could not take a connection: {error}");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
    accepted.ok()
}

async fn serve<I>(io: I, handle: Handle, more: Option<More>, trusted: bool)
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (handle, more) = (handle.clone(), more.clone());
        async move { Ok::<_, Infallible>(answer(request, &handle, more.as_ref(), trusted).await) }
    });
    // A connection that breaks is its client's matter.
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(io, service).await;
}

async fn answer(
    request: Request<Incoming>,
    handle: &Handle,
    more: Option<&More>,
    trusted: bool,
) -> Response<Full<Bytes>> {
    let path = request.uri().path().to_string();
    let found = match (request.method(), path.as_str()) {
        (&Method::GET, "/healthz") => handle.state().await.map(|_| text(StatusCode::OK, "ok\n".to_string())),
        (&Method::GET, "/readyz") => handle.state().await.map(|state| readiness(&state)),
        (&Method::GET, "/metrics") => page(handle, more).await,
        (&Method::GET, "/api/v1/state") if trusted => recorded(handle).await.map(|state| json_of(&state)),
        (&Method::POST, path) if trusted && path.starts_with("/api/v1/") => {
            return command::command(path, request, handle).await;
        }
        _ => Ok(problem(StatusCode::NOT_FOUND, "there is nothing here")),
    };
    found.unwrap_or_else(|stopped| problem(StatusCode::SERVICE_UNAVAILABLE, &stopped.to_string()))
}

/// The state, and by then all that it tells of is in the journal, for who reads both. A disk that hangs holds nobody up for longer.
async fn recorded(handle: &Handle) -> Result<State, Stopped> {
    let state = handle.state().await?;
    let units = state.operators.iter().flat_map(|operator| &operator.units);
    keep(handle, units.filter_map(|unit| unit.last).collect()).await;
    Ok(state)
}

/// Decisions whose numbers are told are in the journal's files by then.
async fn keep(handle: &Handle, told: Vec<DecisionId>) {
    let _ = tokio::time::timeout(JOURNAL_WAIT, handle.keep(told)).await;
}

/// Ready is who sees all that its operators read.
fn readiness(state: &State) -> Response<Full<Bytes>> {
    let blind = state.tables.iter().filter_map(|one| {
        let what = format!("{} of cluster {}", one.table.resource, one.table.cluster);
        match &one.lost {
            Some(why) => Some(format!("{what} cannot be watched: {why}\n")),
            None if !one.known => Some(format!("{what} has not been read yet\n")),
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

async fn page(handle: &Handle, more: Option<&More>) -> Result<Response<Full<Bytes>>, crate::host::Stopped> {
    let (state, counts) = (handle.state().await?, handle.counts().await?);
    let mut page = metrics::text(&state, counts.recorded, counts.dropped);
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
    async fn a_connection_that_cannot_be_taken_is_not_tried_again_at_once() {
        let begun = std::time::Instant::now();
        assert_eq!(taken(Ok(1)).await, Some(1));
        assert!(taken(Err::<(), _>(std::io::Error::other("too many open files"))).await.is_none());
        assert!(begun.elapsed() >= ACCEPT_PAUSE, "it would spin");
    }
}
