//! Why git did not do what it was asked for.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a repository was not read. No text holds a credential.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error(
        "there is no program `git` on this machine\nhint: install git (Debian: apt install git, Fedora: dnf install git), or put it on PATH"
    )]
    NoGit,
    /// The text is no address of a repository, or none that is let through.
    #[error("the repository's address cannot be used: {0}")]
    Address(String),
    /// A name, a password or a key that git cannot be given.
    #[error("the repository's credential cannot be used: {0}")]
    Login(&'static str),
    /// The server knows no such repository.
    #[error("repository not found: {0}")]
    NotFound(String),
    /// The server does not let this login in.
    #[error("authentication failed: {0}")]
    Denied(String),
    /// The server is not the one it is known as.
    #[error("the server's host key is not known: {0}")]
    HostKey(String),
    /// The server does not answer.
    #[error("the repository's server cannot be reached: {0}")]
    Unreachable(String),
    /// It took too long.
    #[error("git took longer than {} s to {act}, and was stopped", .after.as_secs())]
    Deadline {
        /// What was to be done.
        act: &'static str,
        /// How long it had.
        after: Duration,
    },
    /// It is more than is read.
    #[error("{what} is larger than {most} {unit}")]
    TooLarge {
        /// What.
        what: String,
        /// The bound.
        most: u64,
        /// Of what.
        unit: &'static str,
    },
    /// A name that stands for no commit.
    #[error("unable to resolve '{0}' to a commit SHA")]
    NoRevision(String),
    /// The commit is not in the repository.
    #[error("the repository has no commit {0}")]
    NoCommit(String),
    /// There is no such file or folder.
    #[error("{0}: path does not exist")]
    NoPath(String),
    /// A symbolic link out of the repository, or in a circle.
    #[error("the symbolic link {0} leads out of the repository, or back to itself")]
    Link(String),
    /// The cache cannot be used.
    #[error("could not use the folder of fetched repositories, {}", .0.display())]
    Cache(PathBuf, #[source] io::Error),
    /// Anything else that git said.
    #[error("git could not {act}: {message}")]
    Failed {
        /// What was to be done.
        act: &'static str,
        /// In its words.
        message: String,
    },
}

impl GitError {
    /// From what git said, in the words it uses when no language is set.
    pub(crate) fn said(act: &'static str, stderr: &str) -> Self {
        let message = telling(stderr);
        let lower = stderr.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        // A server that hides its repositories from strangers says so in many ways; the order is from the clearest on.
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
            return Self::Denied(message);
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
        Self::Failed { act, message }
    }
}

/// The lines of git that say what happened, as one.
fn telling(stderr: &str) -> String {
    const MOST: usize = 1024;
    let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("warning:"));
    let mut text = lines.collect::<Vec<_>>().join("; ");
    if text.len() > MOST {
        let end = (0..=MOST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    if text.is_empty() { "it gave no reason".to_string() } else { text }
}
