//! The server on a socket: TLS, HTTP/1.1 and HTTP/2 on one port, and a stop that leaves nobody hanging.
//!
//! # Caveats
//! A connection has [`HANDSHAKE`] to complete its handshake and [`HEADERS`] to send the head of a request; more than
//! [`MAX_CONNECTIONS`] at once wait in the kernel's queue.

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
use crate::auth::certificates::{CertificateError, Certificates, Verifier};
use crate::server::Cluster;

/// The most connections served at once.
pub const MAX_CONNECTIONS: usize = 8_192;
/// How long a TLS handshake may take.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a client may take to send the head of a request.
pub const HEADERS: Duration = Duration::from_secs(30);
/// How long requests under way may go on after the stop.
pub const FAREWELL: Duration = Duration::from_secs(10);
/// The most streams of one HTTP/2 connection; what upstream allows.
const MAX_STREAMS: u32 = 1_000;

/// Why the server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is taken or not ours.
    #[error("could not listen on {address}")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The certificates cannot be used.
    #[error("could not set up TLS")]
    Certificates(#[from] CertificateError),
}

/// A port that is taken, before the certificates for it are made.
#[derive(Debug)]
pub struct Port {
    listener: TcpListener,
    address: SocketAddr,
}

/// A listener at work. Dropping it stops it at once; [`Listener::stop`] lets requests finish.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    cluster: Cluster,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Port {
    /// Takes the port; port 0 takes a free one.
    pub async fn take(address: SocketAddr) -> Result<Self, ListenError> {
        let bound = async {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = bound.await.map_err(|source| ListenError::Bind { address, source })?;
        Ok(Self { listener, address })
    }

    /// The address with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Cluster {
    /// Serves on a port that was taken.
    pub fn listen(&self, port: Port, certificates: &Certificates) -> Result<Listener, ListenError> {
        let config = certificates.server_config()?;
        self.serve_at(&port.address.to_string());
        let accept = Accept {
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
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, ends watches, lets requests under way finish, and returns when all is done.
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
struct Accept {
    cluster: Cluster,
    tls: TlsAcceptor,
    verifier: Arc<Verifier>,
    places: Arc<Semaphore>,
}

impl Accept {
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
                // Out of file descriptors, most likely: accepting again at once would spin.
                Err(error) => {
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(listener);
        let _ = timeout(FAREWELL, graceful.shutdown()).await;
    }

    async fn serve(self, stream: TcpStream, watcher: Watcher) {
        // A watch event is small and must not wait for a second one.
        let _ = stream.set_nodelay(true);
        let stream = match timeout(HANDSHAKE, self.tls.accept(stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => return tracing::debug!("a TLS handshake took too long"),
        };
        let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let now = self.cluster.inner().ambient.now().as_second().max(0) as u64;
        let peer = Peer::from_chain(chain, &self.verifier, now);
        let service = self.cluster.service().map_request(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            request
        });
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADERS);
        builder.http2().timer(TokioTimer::new()).max_concurrent_streams(MAX_STREAMS);
        let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
        if let Err(error) = watcher.watch(connection.into_owned()).await {
            tracing::debug!(error, "a connection ended early");
        }
    }
}
