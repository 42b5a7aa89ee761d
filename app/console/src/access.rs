//! Authentication and authorization of console users, both delegated to the cluster, in front of every page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, header};
use ring::rand::SecureRandom as _;
use switchboard_http::auth::{Auth, Caller, ResourceAttributes, bearer};
use switchboard_http::{ApiSection, PREFIX, hosts};

use crate::problem::ConsoleProblem;
use crate::server::App;
use crate::server::response::cookie;

/// API group of the permissions that only the console checks.
pub const GROUP: &str = "switchboard.dev";
/// Name of the session cookie.
pub const COOKIE: &str = "switchboard-session";
/// Lifetime of a session.
const SESSION_LIFE: Duration = Duration::from_secs(8 * 3600);
/// Maximum number of sessions; the oldest is dropped.
const MAX_SESSIONS: usize = 1_000;
/// Bytes of randomness in session ids and CSRF tokens.
const CHANCE_BYTES: usize = 32;

/// Session of a user. The token is kept in memory only, and is reviewed again for every action.
struct Session {
    token: String,
    name: String,
    csrf_token: String,
    ends: Instant,
    flash: Option<(bool, String)>,
}

/// Signed-in user, as a page needs it.
#[derive(Clone, Debug, Default)]
pub struct SessionUser {
    /// User name.
    pub name: String,
    /// CSRF token for the user's forms.
    pub csrf_token: String,
    /// Result of the last action: success, and message.
    pub flash: Option<(bool, String)>,
}

/// Sessions and access reviews.
pub struct Sessions {
    auth: Auth,
    sessions: Mutex<BTreeMap<String, Session>>,
}

impl Sessions {
    /// Creates an empty store that sends reviews to a cluster.
    pub fn new(client: kube::Client) -> Self {
        Self { auth: Auth::new(client), sessions: Mutex::default() }
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a session and returns its id for the cookie.
    pub async fn sign_in(&self, token: &str) -> Result<String, ConsoleProblem> {
        let token = token.trim();
        let caller = self.auth.caller(token).await.map_err(|problem| ConsoleProblem::from_review(&problem))?;
        let (id, csrf_token) = (random_hex()?, random_hex()?);
        let mut sessions = self.sessions();
        let now = Instant::now();
        sessions.retain(|_, session| session.ends > now);
        if sessions.len() >= MAX_SESSIONS
            && let Some(first) = sessions.iter().min_by_key(|(_, session)| session.ends).map(|(id, _)| id.clone())
        {
            sessions.remove(&first);
        }
        let session =
            Session { token: token.to_string(), name: caller.name, csrf_token, ends: now + SESSION_LIFE, flash: None };
        sessions.insert(id.clone(), session);
        Ok(id)
    }

    /// Ends a session.
    pub fn sign_out(&self, headers: &HeaderMap) {
        if let Some(id) = cookie(headers, COOKIE) {
            self.sessions().remove(id);
        }
    }

    /// Returns the user of a session, and takes the pending message out of it.
    pub fn user(&self, headers: &HeaderMap) -> Option<SessionUser> {
        let mut sessions = self.sessions();
        let session = sessions.get_mut(cookie(headers, COOKIE)?).filter(|session| session.ends > Instant::now())?;
        Some(SessionUser {
            name: session.name.clone(),
            csrf_token: session.csrf_token.clone(),
            flash: session.flash.take(),
        })
    }

    /// Stores a message for the next page.
    pub fn set_flash(&self, headers: &HeaderMap, well: bool, text: String) {
        let mut sessions = self.sessions();
        if let Some(session) = cookie(headers, COOKIE).and_then(|id| sessions.get_mut(id)) {
            session.flash = Some((well, text));
        }
    }

    /// Authenticates the caller by session or by the token of the request.
    pub async fn caller(&self, headers: &HeaderMap) -> Result<Caller, ConsoleProblem> {
        let token = match cookie(headers, COOKIE) {
            Some(id) => {
                let sessions = self.sessions();
                sessions.get(id).filter(|session| session.ends > Instant::now()).map(|session| session.token.clone())
            }
            None => bearer(headers).ok().map(str::to_string),
        };
        let token = token.ok_or(ConsoleProblem::TokenRequired)?;
        self.auth.caller(&token).await.map_err(|problem| ConsoleProblem::from_review(&problem))
    }

    /// Refuses access that the cluster does not grant.
    pub async fn authorize(&self, caller: &Caller, access: &ResourceAttributes) -> Result<(), ConsoleProblem> {
        self.auth.authorize(caller, access).await.map_err(|problem| ConsoleProblem::from_review(&problem))
    }

    /// Refuses a form that does not come from a console page. A request with its own token cannot come from another
    /// site.
    pub fn check_same_origin(&self, headers: &HeaderMap, csrf_token: &str) -> Result<(), ConsoleProblem> {
        let foreign = || ConsoleProblem::ForeignSite("the form was not sent from a page of the console".to_string());
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if text("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none") {
            return Err(foreign());
        }
        // Browsers send `null` if their policy hides the origin.
        let host = text(header::HOST.as_str()).unwrap_or_default();
        let own = |origin: &str| origin == "null" || origin.split_once("://").is_some_and(|(_, from)| from == host);
        if text(header::ORIGIN.as_str()).is_some_and(|origin| !own(origin)) {
            return Err(foreign());
        }
        let sessions = self.sessions();
        let session = cookie(headers, COOKIE).and_then(|id| sessions.get(id)).ok_or(ConsoleProblem::TokenRequired)?;
        // Comparing digests keeps the duration independent of the CSRF token.
        let digest = |text: &str| ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let same = digest(&session.csrf_token).as_ref() == digest(csrf_token).as_ref();
        if same { Ok(()) } else { Err(foreign()) }
    }
}

fn random_hex() -> Result<String, ConsoleProblem> {
    let mut bytes = [0; CHANCE_BYTES];
    let filled = ring::rand::SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| ConsoleProblem::Cluster("could not read randomness from the system".to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
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
    let known = door.app.hosts.allows_request(request.headers(), request.uri());
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
    hosts::secure(response.headers_mut());
    response
}
