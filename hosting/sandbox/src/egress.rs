//! Egress of the sandbox: an HTTP proxy with an allow list.
//!
//! ```text
//!  program ──CONNECT host:443──▶ 127.0.0.1:3128 in the sandbox ─ ─ ▶ proxy on the host ──▶ allowed host
//! ```
//!
//! The listener is created in the sandbox's network namespace, which has no other connection, and served by the host.
//! The host also resolves names, because there is no resolver in the sandbox.

mod request;
mod rules;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, oneshot};

pub use rules::{EgressRuleError, EgressRules};

/// Maximum number of open connections; further ones wait.
const MAX_CONNECTIONS: usize = 64;
/// Maximum number of recorded attempts.
const MAX_ATTEMPTS: usize = 64;

/// A connection attempt of a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionAttempt {
    /// Target as `host:port`.
    pub to: String,
    /// Whether the connection is allowed.
    pub allowed: bool,
}

/// Returns the proxy variables, in both cases, because curl and other programs read only the lower-case ones.
pub(crate) fn variables(address: &str) -> Vec<(&'static str, String)> {
    let url = format!("http://{address}");
    let both = [("HTTP_PROXY", "http_proxy"), ("HTTPS_PROXY", "https_proxy")];
    let mut variables: Vec<_> = both.iter().flat_map(|(a, b)| [(*a, url.clone()), (*b, url.clone())]).collect();
    // There is no other way out, so no host is exempt from the proxy.
    variables.extend([("NO_PROXY", String::new()), ("no_proxy", String::new())]);
    variables
}

/// Attempts without duplicates.
#[derive(Clone, Default)]
pub(crate) struct AttemptLog(Arc<Mutex<Vec<ConnectionAttempt>>>);

impl AttemptLog {
    pub fn add(&self, attempt: ConnectionAttempt) {
        let mut attempts = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if attempts.len() < MAX_ATTEMPTS && !attempts.contains(&attempt) {
            attempts.push(attempt);
        }
    }

    fn take(&self) -> Vec<ConnectionAttempt> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

/// A proxy on a thread of its own.
pub struct EgressProxy {
    address: SocketAddr,
    log: AttemptLog,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl EgressProxy {
    /// Starts serving a listener with rules.
    ///
    /// # Errors
    /// If the listener cannot be used, or no thread can be started.
    pub fn start(listener: TcpListener, rules: Arc<EgressRules>) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let log = AttemptLog::default();
        let noted = log.clone();
        let thread = std::thread::Builder::new().name("egress".to_string()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener, rules, noted) => {}
                    _ = stopped => {}
                }
            });
            // Pending name lookups are not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Self { address, log, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the proxy with its connections and returns the attempts.
    pub fn stop(mut self) -> Vec<ConnectionAttempt> {
        self.end();
        self.log.take()
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        self.end();
    }
}

async fn serve(listener: TcpListener, rules: Arc<EgressRules>, log: AttemptLog) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = room.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (rules, log) = (rules.clone(), log.clone());
        tokio::spawn(async move {
            let service = hyper::service::service_fn(|request| request::handle(request, rules.clone(), log.clone()));
            let served = hyper::server::conn::http1::Builder::new()
                .preserve_header_case(true)
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades();
            // Broken connections are reported by the program itself.
            let _ = served.await;
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests;
