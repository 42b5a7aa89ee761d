//! Where the console listens, and which path leads to which page.

pub(crate) mod answer;
pub(crate) mod events;
pub(crate) mod routes;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::response::Response;
use switchboard_kernel::config::{CONSOLE_ADDRESS, ConsoleConfig};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use switchboard_rest::Area;

use crate::access::Gate;
use crate::guard::Hosts;
use crate::problem::Problem;
use crate::source::Source;

/// How many pages may be listening for news at a time; those beyond are told to come back.
const MAX_LISTENERS: usize = 256;

/// What is said where other machines reach the console.
const CLEAR: &str = "warning: the console speaks plain HTTP, tokens included, and other machines reach it\nhint: put something in front of it that ends TLS, or leave out `console.address`";

/// Where the console is.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Where it listens; the usual place when absent, or any free port when that is taken.
    pub address: Option<SocketAddr>,
    /// Names it is reached by, beside its address.
    pub hosts: Vec<String>,
}

impl From<&ConsoleConfig> for Settings {
    fn from(config: &ConsoleConfig) -> Self {
        Self { address: config.address, hosts: config.hosts.clone() }
    }
}

/// The console could not be served.
#[derive(Debug, thiserror::Error)]
#[error(
    "could not listen on {0} for the console\nhint: give another address under `console.address`, or `console: off`"
)]
pub struct BindError(SocketAddr, #[source] io::Error);

/// What all requests share.
pub(crate) struct App {
    pub(crate) source: Source,
    pub(crate) hosts: Hosts,
    pub(crate) gate: Gate,
    pub(crate) listeners: Arc<Semaphore>,
}

/// The console, with a place to listen.
pub struct Console {
    listener: TcpListener,
    address: SocketAddr,
    hosts: Vec<String>,
}

impl Console {
    /// Takes the port.
    ///
    /// # Errors
    /// When it cannot be had.
    pub async fn bind(settings: Settings) -> Result<Self, BindError> {
        let wanted = settings.address.unwrap_or(CONSOLE_ADDRESS);
        let listener = match TcpListener::bind(wanted).await {
            // Nobody asked for that very port: a second process gets another.
            Err(_) if settings.address.is_none() => {
                let free = SocketAddr::new(wanted.ip(), 0);
                TcpListener::bind(free).await.map_err(|error| BindError(free, error))?
            }
            taken => taken.map_err(|error| BindError(wanted, error))?,
        };
        let address = listener.local_addr().map_err(|error| BindError(wanted, error))?;
        Ok(Self { listener, address, hosts: settings.hosts })
    }

    /// Where a browser of this machine finds it.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(CONSOLE_ADDRESS.ip());
        }
        format!("http://{address}/")
    }

    /// The same for people, who may want to know from where else it is reached.
    pub fn told(&self) -> String {
        let url = self.url();
        match self.address.ip() {
            ip if ip.is_unspecified() => {
                let port = self.address.port();
                format!("{url}, and port {port} of every address of this machine\n{CLEAR}")
            }
            ip if !ip.is_loopback() => format!("{url}\n{CLEAR}"),
            _ => url,
        }
    }

    /// Answers until what it returns is dropped. `reviews` is asked about tokens and rights; `beside` are further parts of the API.
    pub fn serve(self, source: Source, reviews: kube::Client, beside: Vec<Area>) -> Serving {
        let app = App {
            source,
            hosts: Hosts::new(self.address, self.hosts),
            gate: Gate::new(reviews),
            listeners: Arc::new(Semaphore::new(MAX_LISTENERS)),
        };
        let router = routes::router(Arc::new(app), beside);
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        Serving(tokio::spawn(async move {
            // It ends with the process; a connection that breaks is its client's matter.
            let _ = axum::serve(self.listener, service).await;
        }))
    }
}

/// A console at work.
pub struct Serving(JoinHandle<()>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A problem as whoever asked reads it.
pub(crate) fn refuse(problem: &Problem, path: &str) -> Response {
    if path.starts_with("/api/") { answer::problem(problem) } else { answer::trouble(problem) }
}

#[cfg(test)]
mod tests;
