//! Access to repositories. The only module of this crate with a clock, files and network.

mod question;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use switchboard_git::{Commit, Git, GitError, GitSettings, HostKeys, Login, Refs, Revision};
use switchboard_object::causes::error_chain;

use crate::manifests::{self, ReleaseTarget};
use crate::object_fields::{format_time, parse_time, text};

pub use question::{CredentialSecret, RepositoryContent, RepositoryQuestion};

/// Default interval at which repositories are polled.
pub const POLL: Duration = Duration::from_secs(180);
/// Time after an error before a repository is read again.
const ERROR_BACKOFF: Duration = Duration::from_secs(10);
/// Precision of Kubernetes timestamps, which are whole seconds.
const ROUNDING: SignedDuration = SignedDuration::from_secs(1);
/// Maximum number of cached results.
const MAX_CACHE_ENTRIES: usize = 512;

/// Cache key: an item of a repository and the login it was read with. Logins do not share results.
type RepositoryKey = (String, Login);

/// Repositories with cached references and manifests.
pub struct RepositorySources {
    git: Git,
    poll: Duration,
    is_dry_run: bool,
    known_hosts: std::path::PathBuf,
    remote_refs: Mutex<HashMap<RepositoryKey, LsRemoteResult>>,
    manifests: Mutex<HashMap<RepositoryKey, Arc<RepositoryContent>>>,
}

/// References of a repository at a point in time.
#[derive(Clone)]
struct LsRemoteResult {
    began: Timestamp,
    /// Application that the references were listed for, and its creation time.
    requester: (String, String),
    started: Instant,
    time: String,
    refs: Result<Refs, String>,
}

impl RepositorySources {
    /// Creates the sources with git settings and a poll interval.
    pub fn new(settings: GitSettings, poll: Duration) -> Self {
        Self {
            known_hosts: settings.cache.join("known_hosts"),
            git: Git::new(settings),
            poll,
            is_dry_run: false,
            remote_refs: Mutex::default(),
            manifests: Mutex::default(),
        }
    }

    /// Disables writes whose only change is the time of a comparison.
    #[must_use]
    pub fn for_dry_run(mut self) -> Self {
        self.is_dry_run = true;
        self
    }

    /// Whether a comparison is recorded although nothing else changed: at about every poll.
    pub(crate) fn is_record_due(&self, last: Option<Timestamp>, now: Option<Timestamp>) -> bool {
        let (Some(last), Some(now)) = (last, now) else { return !self.is_dry_run };
        !self.is_dry_run && now.duration_since(last).unsigned_abs() >= self.poll / 2
    }

    /// Poll interval of repositories.
    pub fn poll(&self) -> Duration {
        self.poll
    }

    /// Returns the login with the data of a Secret. `hosts` are `known_hosts` lines.
    pub fn login(&self, username: &str, password: &str, key: &str, hosts: &str) -> Login {
        if !key.is_empty() {
            let hosts = match hosts {
                "" => HostKeys::AcceptNew(self.known_hosts.clone()),
                lines => HostKeys::KnownHosts(lines.to_string()),
            };
            Login::Key { private_key: key.to_string(), hosts }
        } else if !password.is_empty() {
            Login::Password { username: username.to_string(), password: password.to_string() }
        } else {
            Login::None
        }
    }

    /// Returns the content of a repository as it is readable with a login.
    ///
    /// # Errors
    /// If the repository or its manifests cannot be read, with Argo CD's message.
    pub fn content(&self, question: &RepositoryQuestion, login: &Login) -> Result<RepositoryContent, String> {
        let unknown = |why: String| format!("rpc error: code = Unknown desc = {why}");
        let url = text(&question.source, "/repoURL");
        let (revision, resolved_at) = self.resolve(url, login, question).map_err(unknown)?;
        let what = json!([revision.to_string(), question.source, question.application, question.namespace]);
        let key = (what.to_string(), login.clone());
        let known = lock(&self.manifests).get(&key).cloned();
        let made = match known {
            Some(made) => made,
            None => {
                let made = Arc::new(self.generate(question, url, login, &revision).map_err(unknown)?);
                let mut kept = lock(&self.manifests);
                if kept.len() >= MAX_CACHE_ENTRIES {
                    kept.clear();
                }
                kept.insert(key, made.clone());
                made
            }
        };
        Ok(RepositoryContent { resolved_at, ..(*made).clone() })
    }

    /// Resolves a revision, and returns it with the time at which the references were listed.
    fn resolve(&self, url: &str, login: &Login, question: &RepositoryQuestion) -> Result<(Revision, String), String> {
        let wanted = &question.revision;
        let pinned = Commit::parse(wanted).map(Revision::Commit);
        let key = if pinned.is_some() { format!("{url} {wanted}") } else { url.to_string() };
        let key = (key, login.clone());
        let known = lock(&self.remote_refs).get(&key).cloned();
        let lasts =
            |look: &LsRemoteResult| look.started.elapsed() < if look.refs.is_ok() { self.poll } else { ERROR_BACKOFF };
        // A SHA always resolves to the same commit.
        let moves = pinned.is_none();
        let fresh = question.fresh || (moves && question.changed);
        let since = parse_time(&question.since).filter(|_| moves);
        let requester = (question.application.clone(), question.since.clone());
        let is_later = |look: &LsRemoteResult| since.is_none_or(|since| look.began.duration_since(since) >= ROUNDING);
        // References listed for the same Application are recent enough, even within the same second.
        let is_new = |look: &LsRemoteResult| look.requester == requester || is_later(look);
        let look = match known.filter(|look| !fresh && is_new(look) && lasts(look)) {
            Some(look) => look,
            None => {
                let began = Timestamp::now();
                let refs = match &pinned {
                    Some(_) => self.git.address(url).map(|_| Refs::default()),
                    None => self.git.ls_remote(url, login),
                };
                let refs = refs.map_err(|error| format!("failed to list refs: {}", error_chain(&error)));
                let look = LsRemoteResult {
                    began,
                    requester,
                    started: Instant::now(),
                    time: format_time(Timestamp::now()),
                    refs,
                };
                let mut looked = lock(&self.remote_refs);
                if looked.len() >= MAX_CACHE_ENTRIES {
                    looked.clear();
                }
                looked.insert(key, look.clone());
                look
            }
        };
        let refs = look.refs?;
        let revision = pinned.map_or_else(|| refs.resolve(wanted).map_err(|error| error_chain(&error)), Ok)?;
        Ok((revision, look.time))
    }

    /// Generates the manifests at a revision. The time of its resolution is left out.
    fn generate(
        &self,
        question: &RepositoryQuestion,
        url: &str,
        login: &Login,
        revision: &Revision,
    ) -> Result<RepositoryContent, String> {
        let source = &question.source;
        let path = text(source, "/path");
        if !text(source, "/chart").is_empty() {
            return Err("the embedded engine supports charts from git, not from Helm repositories".to_string());
        }
        if path.starts_with('/') {
            return Err(format!("{path}: app path is absolute"));
        }
        let tree = self.git.fetch(url, login, revision).map_err(|error| error_chain(&error))?;
        let files = tree.files(path).map_err(|error| match error {
            GitError::NoPath(missing) if missing == path => format!("{path}: app path does not exist"),
            GitError::Link(_) if path.split('/').any(|part| part == "..") => format!("{path}: app path outside root"),
            error => error_chain(&error),
        })?;
        let whose = ReleaseTarget { application: &question.application, namespace: &question.namespace };
        let elsewhere = |path: &str| tree.file(path).map_err(|error| error_chain(&error));
        let made = manifests::generate(source, &files, whose, &elsewhere)?;
        Ok(RepositoryContent {
            revision: tree.commit().as_str().to_string(),
            resolved_at: String::new(),
            source_type: made.source_type.to_string(),
            objects: made.objects,
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
