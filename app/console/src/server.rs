//! HTTP server of the console.

pub(crate) mod events;
pub(crate) mod response;
pub(crate) mod routes;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use switchboard_http::ApiSection;
use switchboard_http::hosts::AllowedHosts;
use switchboard_kernel::config::{CONSOLE_ADDRESS, ConsoleConfig};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::access::Sessions;
use crate::problem::ConsoleProblem;
use crate::source::ConsoleSource;

/// Maximum number of pages with an event stream; others must retry.
const MAX_LISTENERS: usize = 256;

/// Warning for a console that other machines can reach.
const PLAIN_HTTP_WARNING: &str = "warning: the console uses plain HTTP, including tokens, and other machines can connect to it\nhint: put a TLS proxy in front of it, or remove `console.address`";

/// Settings of the server.
#[derive(Clone, Debug, Default)]
pub struct ConsoleSettings {
    /// Listen address; the default is a fixed port, or a free one if that is in use.
    pub address: Option<SocketAddr>,
    /// Host names besides the address.
    pub hosts: Vec<String>,
}

impl From<&ConsoleConfig> for ConsoleSettings {
    fn from(config: &ConsoleConfig) -> Self {
        Self { address: config.address, hosts: config.hosts.clone() }
    }
}

/// The console could not listen on its address.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not listen on {0} for the console\nhint: set another address under `console.address`, or `console: off`"
)]
pub struct BindError(SocketAddr, #[source] io::Error);

/// State of the server as an extractor.
pub(crate) type SharedApp = State<Arc<App>>;

/// State shared by all requests.
pub(crate) struct App {
    pub(crate) source: ConsoleSource,
    pub(crate) hosts: AllowedHosts,
    pub(crate) sessions: Sessions,
    pub(crate) listeners: Arc<Semaphore>,
}

/// Console with a bound port.
pub struct Console {
    listener: TcpListener,
    address: SocketAddr,
    hosts: Vec<String>,
}

impl Console {
    /// Binds the port.
    ///
    /// # Errors
    /// Fails if the port is not available.
    pub async fn bind(settings: ConsoleSettings) -> Result<Self, BindError> {
        let preferred = settings.address.unwrap_or(CONSOLE_ADDRESS);
        let listener = match TcpListener::bind(preferred).await {
            // The default port is not required: a second process gets a free one.
            Err(_) if settings.address.is_none() => {
                let free = SocketAddr::new(preferred.ip(), 0);
                TcpListener::bind(free).await.map_err(|error| BindError(free, error))?
            }
            taken => taken.map_err(|error| BindError(preferred, error))?,
        };
        let address = listener.local_addr().map_err(|error| BindError(preferred, error))?;
        Ok(Self { listener, address, hosts: settings.hosts })
    }

    /// Returns the URL for a browser on this machine.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(CONSOLE_ADDRESS.ip());
        }
        format!("http://{address}/")
    }

    /// Returns the URL for messages, with other addresses and a warning if other machines can connect.
    pub fn description(&self) -> String {
        let url = self.url();
        match self.address.ip() {
            ip if ip.is_unspecified() => {
                let port = self.address.port();
                format!("{url}, and on port {port} of all addresses of this machine\n{PLAIN_HTTP_WARNING}")
            }
            ip if !ip.is_loopback() => format!("{url}\n{PLAIN_HTTP_WARNING}"),
            _ => url,
        }
    }

    /// Serves requests until the result is dropped. `reviews` is the client for access reviews; `beside` are further
    /// parts of the API.
    pub fn serve(self, source: ConsoleSource, reviews: kube::Client, beside: Vec<ApiSection>) -> RunningConsole {
        let app = App {
            source,
            hosts: AllowedHosts::new(self.address, self.hosts),
            sessions: Sessions::new(reviews),
            listeners: Arc::new(Semaphore::new(MAX_LISTENERS)),
        };
        let router = routes::router(Arc::new(app), beside);
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        RunningConsole(tokio::spawn(async move {
            // The server runs until the process ends; errors of connections do not matter.
            let _ = axum::serve(self.listener, service).await;
        }))
    }
}

/// Running console.
pub struct RunningConsole(JoinHandle<()>);

impl Drop for RunningConsole {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns an error as a page, or as JSON below `/api/`.
pub(crate) fn error_response(problem: &ConsoleProblem, path: &str) -> Response {
    if path.starts_with("/api/") { response::problem(problem) } else { response::error_page(problem) }
}

#[cfg(test)]
mod tests;
