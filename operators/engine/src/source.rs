//! What the operators ask of repositories. The one module here that reads a clock, files and the network.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use switchboard_git::{Commit, Git, GitError, HostKeys, Login, Refs, Revision, Settings};

use crate::field::{stamp, text, time};
use crate::manifests::{self, For};

/// How often a repository is looked at when nobody asks for it.
pub const POLL: Duration = Duration::from_secs(180);
/// How long a repository that could not be read is left alone.
const PAUSE: Duration = Duration::from_secs(10);
/// How much younger than its time an object may be: Kubernetes writes whole seconds.
const ROUNDING: SignedDuration = SignedDuration::from_secs(1);
/// How many answers are kept.
const MAX_KEPT: usize = 512;

/// Which Secret a login comes from: namespace, name.
pub type Credential = (String, String);

/// Something about a repository, and who asked: what one login opens is no answer for another.
type Asked = (String, Login);

/// Repositories, and what was read of them.
pub struct Sources {
    git: Git,
    poll: Duration,
    known_hosts: std::path::PathBuf,
    logins: Mutex<BTreeMap<Credential, Login>>,
    looked: Mutex<HashMap<Asked, Look>>,
    made: Mutex<HashMap<Asked, Arc<Value>>>,
}

/// What a server said, and when.
#[derive(Clone)]
struct Look {
    began: Timestamp,
    /// The Application that it was made for, and since when that is there.
    asked: (String, String),
    at: Instant,
    time: String,
    refs: Result<Refs, String>,
}

impl Sources {
    /// With git used so, looking every `poll`.
    pub fn new(settings: Settings, poll: Duration) -> Self {
        Self {
            known_hosts: settings.cache.join("known_hosts"),
            git: Git::new(settings),
            poll,
            logins: Mutex::default(),
            looked: Mutex::default(),
            made: Mutex::default(),
        }
    }

    /// How often repositories are looked at.
    pub fn poll(&self) -> Duration {
        self.poll
    }

    /// Takes a login for questions to come: it must not stand in a question, which is recorded. `hosts` are lines of known hosts.
    pub fn learn(&self, credential: Credential, username: &str, password: &str, key: &str, hosts: &str) {
        let login = if !key.is_empty() {
            let hosts = match hosts {
                "" => HostKeys::First(self.known_hosts.clone()),
                lines => HostKeys::Known(lines.to_string()),
            };
            Login::Key { private_key: key.to_string(), hosts }
        } else if !password.is_empty() {
            Login::Password { username: username.to_string(), password: password.to_string() }
        } else {
            Login::None
        };
        lock(&self.logins).insert(credential, login);
    }

    /// Answers what stands in a repository: `{revision, resolvedAt, sourceType, objects}`. The server is asked anew for a question
    /// that is `fresh`, and, unless it is about a commit, for one of a source that `changed` or that has a `since` after the last look.
    ///
    /// # Errors
    /// In Argo CD's words.
    pub fn ask(&self, request: &Value) -> Result<Value, String> {
        let unknown = |why: String| format!("rpc error: code = Unknown desc = {why}");
        let (url, wanted) = (text(request, "/source/repoURL"), text(request, "/revision"));
        let login = self.login(request);
        let (revision, time) = self.resolve(url, wanted, &login, request).map_err(unknown)?;
        let what = json!([revision.to_string(), request["source"], request["application"], request["namespace"]]);
        let key = (what.to_string(), login.clone());
        let known = lock(&self.made).get(&key).cloned();
        let made = match known {
            Some(made) => made,
            None => {
                let made = Arc::new(self.make(request, url, &login, &revision).map_err(unknown)?);
                let mut kept = lock(&self.made);
                if kept.len() >= MAX_KEPT {
                    kept.clear();
                }
                kept.insert(key, made.clone());
                made
            }
        };
        let mut answer = (*made).clone();
        answer["resolvedAt"] = json!(time);
        Ok(answer)
    }

    fn login(&self, request: &Value) -> Login {
        let name = |pointer: &str| text(request, pointer).to_string();
        let credential = (name("/credential/namespace"), name("/credential/name"));
        lock(&self.logins).get(&credential).cloned().unwrap_or_default()
    }

    /// The commit that a name stands for, and when the server said so.
    fn resolve(&self, url: &str, wanted: &str, login: &Login, request: &Value) -> Result<(Revision, String), String> {
        let pinned = Commit::parse(wanted).map(Revision::Commit);
        let key = if pinned.is_some() { format!("{url} {wanted}") } else { url.to_string() };
        let key = (key, login.clone());
        let known = lock(&self.looked).get(&key).cloned();
        let lasts = |look: &Look| look.at.elapsed() < if look.refs.is_ok() { self.poll } else { PAUSE };
        // A commit is what it is, whoever asks for it and since when.
        let moves = pinned.is_none();
        let fresh = request["fresh"] == true || (moves && request["changed"] == true);
        let since = time(text(request, "/since")).filter(|_| moves);
        let asked = (text(request, "/application").to_string(), text(request, "/since").to_string());
        let is_later = |look: &Look| since.is_none_or(|since| look.began.duration_since(since) >= ROUNDING);
        // Whoever had it made needs no other, whatever the second.
        let is_new = |look: &Look| look.asked == asked || is_later(look);
        let look = match known.filter(|look| !fresh && is_new(look) && lasts(look)) {
            Some(look) => look,
            None => {
                let began = Timestamp::now();
                let refs = match &pinned {
                    Some(_) => self.git.address(url).map(|_| Refs::default()),
                    None => self.git.ls_remote(url, login),
                };
                let refs = refs.map_err(|error| format!("failed to list refs: {}", whole(&error)));
                let look = Look { began, asked, at: Instant::now(), time: stamp(Timestamp::now()), refs };
                let mut looked = lock(&self.looked);
                if looked.len() >= MAX_KEPT {
                    looked.clear();
                }
                looked.insert(key, look.clone());
                look
            }
        };
        let refs = look.refs?;
        let revision = pinned.map_or_else(|| refs.resolve(wanted).map_err(|error| whole(&error)), Ok)?;
        Ok((revision, look.time))
    }

    fn make(&self, request: &Value, url: &str, login: &Login, revision: &Revision) -> Result<Value, String> {
        let source = &request["source"];
        let path = text(source, "/path");
        if !text(source, "/chart").is_empty() {
            return Err("the embedded engine takes charts from git, not from Helm repositories".to_string());
        }
        if path.starts_with('/') {
            return Err(format!("{path}: app path is absolute"));
        }
        let tree = self.git.fetch(url, login, revision).map_err(|error| whole(&error))?;
        let files = tree.files(path).map_err(|error| match error {
            GitError::NoPath(missing) if missing == path => format!("{path}: app path does not exist"),
            GitError::Link(_) if path.split('/').any(|part| part == "..") => format!("{path}: app path outside root"),
            error => whole(&error),
        })?;
        let whose = For { application: text(request, "/application"), namespace: text(request, "/namespace") };
        let elsewhere = |path: &str| tree.file(path).map_err(|error| whole(&error));
        let made = manifests::make(source, &files, whose, &elsewhere)?;
        Ok(json!({"revision": tree.commit().as_str(), "sourceType": made.source_type, "objects": made.objects}))
    }
}

/// An error with its causes.
fn whole(error: &GitError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
