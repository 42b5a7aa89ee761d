//! Who signed in, and what they may do. Both are asked of the cluster, whose tokens and rights these are.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, header};
use ring::rand::SecureRandom as _;
use switchboard_rest::auth::{Access, Auth, Caller, bearer};

use crate::problem::Problem;
use crate::server::answer::cookie;

/// The group of the rights that only the console asks for.
pub const GROUP: &str = "switchboard.dev";
/// The name of the cookie that stands for a token.
pub const COOKIE: &str = "switchboard-session";
/// How long somebody stays signed in.
const SESSION_LIFE: Duration = Duration::from_secs(8 * 3600);
/// How many may be signed in at a time; the one who came first goes.
const MAX_SESSIONS: usize = 1_000;
/// Bytes of chance in what nobody may guess.
const CHANCE_BYTES: usize = 32;

/// Somebody who is signed in. The token is kept in memory alone: whether it still holds is asked anew for whatever is done.
struct Session {
    token: String,
    name: String,
    seal: String,
    ends: Instant,
    said: Option<(bool, String)>,
}

/// Who is signed in, as a page needs it.
#[derive(Clone, Debug, Default)]
pub struct Visitor {
    /// Their name.
    pub name: String,
    /// What their forms must carry.
    pub seal: String,
    /// What was just done.
    pub said: Option<(bool, String)>,
}

/// Sessions, and the questions to the cluster.
pub struct Gate {
    auth: Auth,
    sessions: Mutex<BTreeMap<String, Session>>,
}

impl Gate {
    /// Asks this cluster.
    pub fn new(client: kube::Client) -> Self {
        Self { auth: Auth::new(client), sessions: Mutex::default() }
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signs somebody in; gives what the cookie holds.
    pub async fn sign_in(&self, token: &str) -> Result<String, Problem> {
        let token = token.trim();
        let caller = self.auth.caller(token).await.map_err(|problem| Problem::of_review(&problem))?;
        let (id, seal) = (chance()?, chance()?);
        let mut sessions = self.sessions();
        let now = Instant::now();
        sessions.retain(|_, session| session.ends > now);
        if sessions.len() >= MAX_SESSIONS
            && let Some(first) = sessions.iter().min_by_key(|(_, session)| session.ends).map(|(id, _)| id.clone())
        {
            sessions.remove(&first);
        }
        let session =
            Session { token: token.to_string(), name: caller.name, seal, ends: now + SESSION_LIFE, said: None };
        sessions.insert(id.clone(), session);
        Ok(id)
    }

    /// Forgets a session.
    pub fn sign_out(&self, headers: &HeaderMap) {
        if let Some(id) = cookie(headers, COOKIE) {
            self.sessions().remove(id);
        }
    }

    /// Who is signed in; takes along what was to be said to them.
    pub fn visitor(&self, headers: &HeaderMap) -> Option<Visitor> {
        let mut sessions = self.sessions();
        let session = sessions.get_mut(cookie(headers, COOKIE)?).filter(|session| session.ends > Instant::now())?;
        Some(Visitor { name: session.name.clone(), seal: session.seal.clone(), said: session.said.take() })
    }

    /// Keeps something to be said on the next page.
    pub fn say(&self, headers: &HeaderMap, well: bool, text: String) {
        let mut sessions = self.sessions();
        if let Some(session) = cookie(headers, COOKIE).and_then(|id| sessions.get_mut(id)) {
            session.said = Some((well, text));
        }
    }

    /// Who asks, by session or by a token of the request.
    pub async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let token = match cookie(headers, COOKIE) {
            Some(id) => {
                let sessions = self.sessions();
                sessions.get(id).filter(|session| session.ends > Instant::now()).map(|session| session.token.clone())
            }
            None => bearer(headers).ok().map(str::to_string),
        };
        let token = token.ok_or(Problem::Unknown)?;
        self.auth.caller(&token).await.map_err(|problem| Problem::of_review(&problem))
    }

    /// Refuses what somebody may not.
    pub async fn authorize(&self, caller: &Caller, access: &Access) -> Result<(), Problem> {
        self.auth.authorize(caller, access).await.map_err(|problem| Problem::of_review(&problem))
    }

    /// Refuses a form that did not come from our own page. A token in the request itself cannot be sent by another site.
    pub fn same_origin(&self, headers: &HeaderMap, seal: &str) -> Result<(), Problem> {
        let foreign = || Problem::Foreign("this form did not come from a page of the console".to_string());
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if text("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none") {
            return Err(foreign());
        }
        // `null` is what a browser says that was told not to say where it comes from.
        let host = text(header::HOST.as_str()).unwrap_or_default();
        let own = |origin: &str| origin == "null" || origin.split_once("://").is_some_and(|(_, from)| from == host);
        if text(header::ORIGIN.as_str()).is_some_and(|origin| !own(origin)) {
            return Err(foreign());
        }
        let sessions = self.sessions();
        let session = cookie(headers, COOKIE).and_then(|id| sessions.get(id)).ok_or(Problem::Unknown)?;
        // Digests are compared, so that the time it takes tells nothing of the seal.
        let digest = |text: &str| ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let same = digest(&session.seal).as_ref() == digest(seal).as_ref();
        if same { Ok(()) } else { Err(foreign()) }
    }
}

fn chance() -> Result<String, Problem> {
    let mut bytes = [0; CHANCE_BYTES];
    let filled = ring::rand::SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Problem::Cluster("the machine has no chance to give".to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
