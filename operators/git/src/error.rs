//! Errors of git operations.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Error of a repository operation. No message contains a credential.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The `git` program is not installed.
    #[error(
        "git is not installed\nhint: install git (Debian: apt install git, Fedora: dnf install git), or add it to PATH"
    )]
    NoGit,
    /// The text is not a repository address, or its scheme is not allowed.
    #[error("could not use the repository address: {0}")]
    Address(String),
    /// A user name, password or key cannot be passed to git.
    #[error("could not use the repository credential: {0}")]
    Login(&'static str),
    /// The server has no such repository.
    #[error("repository not found: {0}")]
    NotFound(String),
    /// The server rejected the login.
    #[error("authentication failed: {0}")]
    AuthenticationFailed(String),
    /// The server's SSH host key does not match the known key.
    #[error("host key verification failed: {0}")]
    HostKey(String),
    /// The server cannot be reached.
    #[error("could not reach the repository server: {0}")]
    Unreachable(String),
    /// Git did not finish in time.
    #[error("could not {action}: git timed out after {} s", .timeout.as_secs())]
    Timeout {
        /// Action that git was run for, as a verb phrase.
        action: &'static str,
        /// Time limit of the action.
        timeout: Duration,
    },
    /// A repository, file or output exceeds its limit.
    #[error("{subject} is larger than {limit} {unit}")]
    TooLarge {
        /// Object that is too large.
        subject: String,
        /// Limit that was exceeded.
        limit: u64,
        /// Unit of the limit.
        unit: &'static str,
    },
    /// A revision that names no commit.
    #[error("unable to resolve '{0}' to a commit SHA")]
    NoRevision(String),
    /// The commit is not in the repository.
    #[error("could not find commit {0} in the repository")]
    NoCommit(String),
    /// No such file or folder.
    #[error("{0}: path does not exist")]
    NoPath(String),
    /// A symbolic link that leads out of the repository or back to itself.
    #[error("symbolic link {0} leads out of the repository or to itself")]
    Link(String),
    /// The cache folder cannot be used.
    #[error("could not use the repository cache {}", .0.display())]
    Cache(PathBuf, #[source] io::Error),
    /// Any other failure that git reported.
    #[error("could not {action}: {message}")]
    Failed {
        /// Action that git was run for, as a verb phrase.
        action: &'static str,
        /// Message that git printed.
        message: String,
    },
}

impl GitError {
    /// Classifies git's standard error, which is in English because the locale is `C`.
    pub(crate) fn from_stderr(act: &'static str, stderr: &str) -> Self {
        let message = error_lines(stderr);
        let lower = stderr.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        // Servers that hide private repositories report this in many ways; the clearest messages are tested first.
        if says(&["host key verification failed", "remote host identification has changed"]) {
            return Self::HostKey(message);
        }
        if says(&[
            "authentication failed",
            "permission denied",
            "could not read username",
            "could not read password",
            "terminal prompts disabled",
            "http basic: access denied",
            "invalid credentials",
            "error: 401",
            "error: 403",
            "load key",
            "invalid format",
        ]) {
            return Self::AuthenticationFailed(message);
        }
        if says(&[
            "not found",
            "does not appear to be a git repository",
            "does not exist",
            "no such file or directory",
            "error: 404",
            "not a git repository",
        ]) {
            return Self::NotFound(message);
        }
        if says(&[
            "could not resolve host",
            "name or service not known",
            "connection refused",
            "connection timed out",
            "failed to connect",
            "couldn't connect",
            "network is unreachable",
            "ssl certificate",
            "connection reset",
            "no route to host",
            "operation timed out",
            "temporary failure in name resolution",
            "too slow",
        ]) {
            return Self::Unreachable(message);
        }
        Self::Failed { action: act, message }
    }
}

/// Joins the error lines of git into one line.
fn error_lines(stderr: &str) -> String {
    const MOST: usize = 1024;
    let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("warning:"));
    let mut text = lines.collect::<Vec<_>>().join("; ");
    if text.len() > MOST {
        let end = (0..=MOST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    if text.is_empty() { "git gave no reason".to_string() } else { text }
}
