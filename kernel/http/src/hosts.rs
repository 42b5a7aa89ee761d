//! Checks in front of every page: allowed host names, read access and browser policies.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Uri};
use switchboard_http::auth::ResourceAttributes;
use switchboard_http::{ApiSection, PREFIX};

use crate::access::GROUP;
use crate::problem::ConsoleProblem;
use crate::server::App;

/// Content security policy: only the console's own files, no inline scripts or styles, no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// Host names that requests may use.
#[derive(Clone, Debug)]
pub struct AllowedHosts {
    address: SocketAddr,
    names: Vec<String>,
}

impl AllowedHosts {
    /// Creates the list from the listen address and the configured names.
    pub fn new(address: SocketAddr, names: Vec<String>) -> Self {
        Self { address, names: names.into_iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Whether a request may use the host name. A page of another site can resolve its own name to this address (DNS
    /// rebinding), but its requests keep that name. Names must therefore be configured, while addresses are safe.
    pub fn allows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        if self.names.contains(&host) {
            return true;
        }
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, port.parse::<u16>().ok()),
            _ => (host.as_str(), Some(80)),
        };
        if self.names.iter().any(|known| known == name) {
            return true;
        }
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let is_address = bare.parse::<std::net::IpAddr>().is_ok_and(|address| {
            address == self.address.ip()
                || self.address.ip().is_unspecified()
                || (address.is_loopback() && self.address.ip().is_loopback())
        });
        let is_local = name == "localhost" && (self.address.ip().is_loopback() || self.address.ip().is_unspecified());
        port == Some(self.address.port()) && (is_address || is_local)
    }

    /// Whether other machines can connect.
    pub fn is_remote(&self) -> bool {
        !self.address.ip().is_loopback()
    }
}

/// Returns the host of a request, from its target or its header.
fn host<'r>(headers: &'r HeaderMap, uri: &'r Uri) -> Option<&'r str> {
    uri.authority().map(|authority| authority.as_str()).or_else(|| headers.get(header::HOST)?.to_str().ok())
}

/// Paths without read access checks.
const OPEN: [&str; 3] = ["/signin", "/signout", "/assets/"];

/// Guard of the console and of API parts outside the console.
#[derive(Clone)]
pub struct RequestGuard {
    app: Arc<App>,
    external: Arc<BTreeSet<String>>,
}

impl RequestGuard {
    /// Creates the guard. The external API parts check access themselves: tenants have their own permissions, and git
    /// servers send no token.
    pub fn new(app: Arc<App>, beside: &[ApiSection]) -> Self {
        let paths = beside.iter().flat_map(|area| area.document.paths.keys());
        Self { app, external: Arc::new(paths.filter_map(|path| Some(first(path)?.to_string())).collect()) }
    }

    fn is_external(&self, path: &str) -> bool {
        path.strip_prefix(PREFIX).and_then(first).is_some_and(|first| self.external.contains(first))
    }
}

/// Returns the first segment of a path.
fn first(path: &str) -> Option<&str> {
    path.strip_prefix('/')?.split('/').next()
}

/// Checks read access for paths that need it.
async fn check_reader(door: &RequestGuard, headers: &HeaderMap, path: &str) -> Result<(), ConsoleProblem> {
    if OPEN.iter().any(|open| path.starts_with(open)) || door.is_external(path) {
        return Ok(());
    }
    authorize_read(&door.app, headers).await
}

/// Checks read access to the console's pages; connections from loopback always have it.
pub async fn authorize_read(app: &App, headers: &HeaderMap) -> Result<(), ConsoleProblem> {
    if !app.hosts.is_remote() {
        return Ok(());
    }
    let caller = app.sessions.caller(headers).await?;
    app.sessions.authorize(&caller, &ResourceAttributes::new("get", GROUP, "console", "")).await
}

/// Refuses requests with other host names or without read access, and adds the security headers.
pub async fn guard_request(State(door): State<RequestGuard>, request: Request, next: Next) -> Response {
    // The body is not `Sync`, so the other parts are copied.
    let (headers, path) = (request.headers().clone(), request.uri().path().to_string());
    let known = host(request.headers(), request.uri()).is_some_and(|host| door.app.hosts.allows(host));
    let checked = if known {
        check_reader(&door, &headers, &path).await
    } else {
        Err(ConsoleProblem::ForeignSite("the host name is not allowed".to_string()))
    };
    let mut response = match checked {
        Ok(()) => crate::server::response::problem_for_bare_errors(next.run(request).await, &path).await,
        Err(ConsoleProblem::TokenRequired | ConsoleProblem::InvalidToken(_)) if !path.starts_with("/api/") => {
            Redirect::to(&crate::login::href(&path)).into_response()
        }
        Err(problem) => crate::server::error_response(&problem, &path),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, value);
    }
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_known_hosts_and_own_addresses_are_accepted() {
        let hosts = AllowedHosts::new("127.0.0.1:7467".parse().unwrap(), vec!["console.example.org".to_string()]);
        for known in [
            "127.0.0.1:7467",
            "localhost:7467",
            "LOCALHOST:7467",
            "[::1]:7467",
            "console.example.org",
            "console.example.org:443",
        ] {
            assert!(hosts.allows(known), "{known}");
        }
        for foreign in [
            "evil.example:7467",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost",
            "10.0.0.1:7467",
            "",
            "[::1",
            "localhost.evil.example:7467",
        ] {
            assert!(!hosts.allows(foreign), "{foreign}");
        }
        let open = AllowedHosts::new("0.0.0.0:80".parse().unwrap(), Vec::new());
        assert!(open.allows("10.1.2.3") && open.allows("10.1.2.3:80") && !open.allows("evil.example"));
        assert!(open.is_remote() && !hosts.is_remote());
    }
}
