//! The way out: an HTTP proxy with an allow list.
//!
//! ```text
//!  program ──CONNECT host:443──▶ 127.0.0.1:3128 inside ─ ─ ▶ this, outside ──▶ host, when the rules allow it
//! ```
//!
//! The listener is made inside the sandbox's network, which leads nowhere else, and answered out here. Names are looked up
//! out here as well: inside there is nobody to ask.

mod request;
mod rules;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, oneshot};

pub use rules::{EgressRuleError, EgressRules};

/// How many connections may be open at a time; further ones wait.
const MAX_CONNECTIONS: usize = 64;
/// How many attempts are remembered.
const MAX_ATTEMPTS: usize = 64;

/// A program wanted to connect somewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionAttempt {
    /// Where to, as `host:port`.
    pub to: String,
    /// Whether it may.
    pub allowed: bool,
}

/// The variables that lead a program to a proxy. Both cases: curl and others read the small one alone.
pub(crate) fn variables(address: &str) -> Vec<(&'static str, String)> {
    let url = format!("http://{address}");
    let both = [("HTTP_PROXY", "http_proxy"), ("HTTPS_PROXY", "https_proxy")];
    let mut variables: Vec<_> = both.iter().flat_map(|(a, b)| [(*a, url.clone()), (*b, url.clone())]).collect();
    // Nothing is reached without the proxy, so nothing is excepted from it.
    variables.extend([("NO_PROXY", String::new()), ("no_proxy", String::new())]);
    variables
}

/// What was attempted, each once.
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

/// A proxy at work on a thread of its own.
pub struct EgressProxy {
    address: SocketAddr,
    log: AttemptLog,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl EgressProxy {
    /// Answers on a listener, within the rules.
    ///
    /// # Errors
    /// When the listener cannot be used, or no thread started.
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
            // A name that is being looked up is not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Self { address, log, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens, as the listener sees it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it with its connections; gives what was attempted.
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
            // A connection that breaks is the program's affair.
            let _ = served.await;
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests;
