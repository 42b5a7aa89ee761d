//! The server on a socket: TLS, HTTP/1.1 and HTTP/2 on one port, and a graceful shutdown.
//!
//! # Caveats
//! A connection has [`HANDSHAKE_TIMEOUT`] for its handshake and [`HEADER_TIMEOUT`] for the head of a request. More than
//! [`MAX_CONNECTIONS`] connections wait in the operating system's queue.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use crate::auth::authentication::Peer;
use crate::auth::certificates::{CertificateError, Certificates, ClientCertificateVerifier};
use crate::server::Cluster;

/// Largest number of concurrent connections.
pub const MAX_CONNECTIONS: usize = 8_192;
/// Timeout of a TLS handshake.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the head of a request.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Grace period for running requests at shutdown.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest number of streams of one HTTP/2 connection, as in kube-apiserver.
const MAX_STREAMS: u32 = 1_000;

/// Error of the listener.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Binding the address failed.
    #[error("could not listen on {address}")]
    Bind {
        /// Address.
        address: SocketAddr,
        /// Cause.
        source: std::io::Error,
    },
    /// The certificates cannot be used.
    #[error("could not set up TLS")]
    Certificates(#[from] CertificateError),
}

/// Bound port, before its certificates are created.
#[derive(Debug)]
pub struct BoundPort {
    listener: TcpListener,
    address: SocketAddr,
}

/// Running listener. Dropping it stops it at once; [`Listener::stop`] lets requests finish.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    cluster: Cluster,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl BoundPort {
    /// Binds the port; port 0 binds a free one.
    pub async fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let bound = async {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = bound.await.map_err(|source| ListenError::Bind { address, source })?;
        Ok(Self { listener, address })
    }

    /// Returns the address with the bound port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Cluster {
    /// Serves on a bound port.
    pub fn listen(&self, port: BoundPort, certificates: &Certificates) -> Result<Listener, ListenError> {
        let config = certificates.server_config()?;
        self.set_address(&port.address.to_string());
        let accept = AcceptLoop {
            cluster: self.clone(),
            tls: TlsAcceptor::from(Arc::new(config)),
            verifier: certificates.verifier()?,
            places: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        };
        let (stop, stopping) = watch::channel(false);
        let task = tokio::spawn(accept.run(port.listener, stopping));
        Ok(Listener { address: port.address, cluster: self.clone(), stop, task })
    }
}

impl Listener {
    /// Returns the listen address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no more connections, ends watches, lets running requests finish, and returns when all are done.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        self.cluster.stop();
        let _ = (&mut self.task).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone)]
struct AcceptLoop {
    cluster: Cluster,
    tls: TlsAcceptor,
    verifier: Arc<ClientCertificateVerifier>,
    places: Arc<Semaphore>,
}

impl AcceptLoop {
    async fn run(self, listener: TcpListener, mut stopping: watch::Receiver<bool>) {
        let graceful = GracefulShutdown::new();
        loop {
            let Ok(place) = self.places.clone().acquire_owned().await else { break };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stopping.wait_for(|stop| *stop) => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    let (this, watcher) = (self.clone(), graceful.watcher());
                    tokio::spawn(async move {
                        this.serve(stream, watcher).await;
                        drop(place);
                    });
                }
                // Probably out of file descriptors: accepting again at once would spin.
                Err(error) => {
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(listener);
        let _ = timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await;
    }

    async fn serve(self, stream: TcpStream, watcher: Watcher) {
        // A watch event is small and must not wait for another one.
        let _ = stream.set_nodelay(true);
        let stream = match timeout(HANDSHAKE_TIMEOUT, self.tls.accept(stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => return tracing::debug!("TLS handshake timed out"),
        };
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let now = self.cluster.inner().clock_and_rng.now().as_second().max(0) as u64;
        let peer = Peer::from_chain(chain, &self.verifier, now);
        let service = self.cluster.service().map_request(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            request
        });
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
        builder.http2().timer(TokioTimer::new()).max_concurrent_streams(MAX_STREAMS);
        let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        if let Err(error) = watcher.watch(connection.into_owned()).await {
            tracing::debug!(error, "connection closed early");
        }
    }
}
