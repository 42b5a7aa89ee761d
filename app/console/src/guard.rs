//! In front of every page: for whom the request is, and what a browser may do with the answer.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Uri};

use switchboard_rest::auth::Access;
use switchboard_rest::{Area, PREFIX};

use crate::access::GROUP;
use crate::problem::Problem;
use crate::server::App;

/// Nothing from elsewhere, no script and no style but our own files, no frame around us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// The names by which the console may be asked for.
#[derive(Clone, Debug)]
pub struct Hosts {
    address: SocketAddr,
    names: Vec<String>,
}

impl Hosts {
    /// Its address, and names that were given.
    pub fn new(address: SocketAddr, names: Vec<String>) -> Self {
        Self { address, names: names.into_iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Whether a request is for us. A page of another site can have its own name lead to our address, but cannot have the
    /// browser say another name than that: so names must be known, while addresses lead nowhere else.
    pub fn know(&self, host: &str) -> bool {
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

    /// Whether other machines reach it.
    pub fn is_open(&self) -> bool {
        !self.address.ip().is_loopback()
    }
}

/// The host a request names: in its target or its header.
fn host<'r>(headers: &'r HeaderMap, uri: &'r Uri) -> Option<&'r str> {
    uri.authority().map(|authority| authority.as_str()).or_else(|| headers.get(header::HOST)?.to_str().ok())
}

/// What everybody may see: how to sign in.
const OPEN: [&str; 3] = ["/signin", "/signout", "/assets/"];

/// Who stands in front of the console, and of parts of the API that are not the console's.
#[derive(Clone)]
pub struct Door {
    app: Arc<App>,
    others: Arc<BTreeSet<String>>,
}

impl Door {
    /// In front of these as well. They know themselves who may do what: tenants, and git servers that show no token.
    pub fn new(app: Arc<App>, beside: &[Area]) -> Self {
        let paths = beside.iter().flat_map(|area| area.part.paths.keys());
        Self { app, others: Arc::new(paths.filter_map(|path| Some(first(path)?.to_string())).collect()) }
    }

    fn is_of_others(&self, path: &str) -> bool {
        path.strip_prefix(PREFIX).and_then(first).is_some_and(|first| self.others.contains(first))
    }
}

/// The first part of a path.
fn first(path: &str) -> Option<&str> {
    path.strip_prefix('/')?.split('/').next()
}

/// Where other machines reach us, readers say who they are.
async fn reader(door: &Door, headers: &HeaderMap, path: &str) -> Result<(), Problem> {
    if OPEN.iter().any(|open| path.starts_with(open)) || door.is_of_others(path) {
        return Ok(());
    }
    reads(&door.app, headers).await
}

/// Whether somebody may read the console's pages; on the machine itself everybody may.
pub async fn reads(app: &App, headers: &HeaderMap) -> Result<(), Problem> {
    if !app.hosts.is_open() {
        return Ok(());
    }
    let caller = app.gate.caller(headers).await?;
    app.gate.authorize(&caller, &Access::new("get", GROUP, "console", "")).await
}

/// Refuses requests for others, and tells browsers what they may do.
pub async fn admit(State(door): State<Door>, request: Request, next: Next) -> Response {
    // The body cannot be shared between threads, so the rest is looked at apart from it.
    let (headers, path) = (request.headers().clone(), request.uri().path().to_string());
    let known = host(request.headers(), request.uri()).is_some_and(|host| door.app.hosts.know(host));
    let checked = if known {
        reader(&door, &headers, &path).await
    } else {
        Err(Problem::Foreign("this is not a name of the console".to_string()))
    };
    let mut response = match checked {
        Ok(()) => crate::server::answer::shaped(next.run(request).await, &path).await,
        Err(Problem::Unknown | Problem::Stranger(_)) if !path.starts_with("/api/") => {
            Redirect::to(&crate::entrance::href(&path)).into_response()
        }
        Err(problem) => crate::server::refuse(&problem, &path),
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
    fn only_known_names_and_own_addresses_are_for_us() {
        let hosts = Hosts::new("127.0.0.1:7467".parse().unwrap(), vec!["console.example.org".to_string()]);
        for known in [
            "127.0.0.1:7467",
            "localhost:7467",
            "LOCALHOST:7467",
            "[::1]:7467",
            "console.example.org",
            "console.example.org:443",
        ] {
            assert!(hosts.know(known), "{known}");
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
            assert!(!hosts.know(foreign), "{foreign}");
        }
        let open = Hosts::new("0.0.0.0:80".parse().unwrap(), Vec::new());
        assert!(open.know("10.1.2.3") && open.know("10.1.2.3:80") && !open.know("evil.example"));
        assert!(open.is_open() && !hosts.is_open());
    }
}
