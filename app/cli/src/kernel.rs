//! The kernel as the commands use it: its configuration, its state directory, and the process that runs it.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;
use http_body_util::{BodyExt, Full};
use serde::de::DeserializeOwned;
use switchboard_console::Flags;
use switchboard_kernel::config::Config;
use switchboard_kernel::journal::{DamagedSegment, Journal};
use switchboard_kernel::listener::SOCKET;
use switchboard_kernel::state::State;

use crate::failure::Failure;
use crate::operators;
use crate::place::Place;
use crate::talk::say;

/// The journal's folder in the state directory.
const JOURNAL: &str = "journal";
/// The state directory in a data directory.
pub const KERNEL: &str = "kernel";

/// Where operators that are hosted alone have theirs, in the user's data directory.
const ALONE: &str = "individual";

/// How long a running kernel may take to answer.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Where the kernel keeps its state.
#[derive(Args, Clone, Default)]
pub struct StateDir {
    /// The kernel's state directory [default: kernel in the user's data directory]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// Why the kernel could not be used.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The configuration cannot be read.
    #[error("could not read {}\nhint: name a file with --config FILE; `switchboard init` writes one, and docs/CONFIG.md says what stands in it", .0.display())]
    Config(PathBuf, #[source] io::Error),
    /// The state directory cannot be made.
    #[error("could not make the state directory {}", .0.display())]
    State(PathBuf, #[source] io::Error),
    /// There is no journal.
    #[error("there is no journal in {}\nhint: give the directory that `run` or `up` uses with --state-dir DIR", .0.display())]
    NoJournal(PathBuf),
    /// No process answers.
    #[error("no kernel runs on {}\nhint: start one with `switchboard run --config FILE`, or give its directory with --state-dir DIR", .0.display())]
    NotRunning(PathBuf),
    /// The process that answered says no, and why.
    #[error("{0}")]
    Refused(String),
    /// The process that answered cannot be understood.
    #[error("could not understand the kernel on {}: {}", .0.display(), .1)]
    Answer(PathBuf, String),
}

impl StateDir {
    /// That one; the usual one when none is given.
    pub fn of(state_dir: Option<PathBuf>) -> Self {
        Self { state_dir }
    }

    /// The directory; not made.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        match &self.state_dir {
            Some(path) => Ok(path.clone()),
            None => match Place::default_path() {
                Some(path) => Ok(path.join(KERNEL)),
                None => Err("no state directory is known\nhint: give one with --state-dir DIR".into()),
            },
        }
    }

    /// The same in a data directory, when none was given.
    pub fn or_in(self, data: &Path) -> Self {
        Self { state_dir: Some(self.state_dir.unwrap_or_else(|| data.join(KERNEL))) }
    }

    /// A directory of its own for an operator that is hosted alone, when none was given: two kernels cannot share one.
    pub fn or_alone(self, operator: &str) -> Self {
        match (&self.state_dir, Place::default_path()) {
            (None, Some(data)) => Self { state_dir: Some(data.join(ALONE).join(operator)) },
            _ => self,
        }
    }

    /// The journal as it is on the disk, whether a kernel runs or not.
    pub fn journal(&self) -> Result<Journal, Failure> {
        let dir = self.path()?;
        let journal = dir.join(JOURNAL);
        if !journal.is_dir() {
            return Err(KernelError::NoJournal(dir).into());
        }
        let journal = Journal::read(&journal)?;
        // While somebody writes, the last line may be half there.
        if std::os::unix::net::UnixStream::connect(dir.join(SOCKET)).is_err() {
            warn_of_damage(&journal);
        }
        Ok(journal)
    }

    /// The state of the kernel that runs there.
    pub async fn state(&self) -> Result<State, Failure> {
        self.ask("GET", "/api/v1/state", String::new()).await
    }

    /// Asks the kernel that runs there, for no longer than it may take.
    pub async fn ask<T: DeserializeOwned>(&self, method: &str, path: &str, body: String) -> Result<T, Failure> {
        let dir = self.path()?;
        let asked = tokio::time::timeout(PATIENCE, exchange(&dir, method, path, body)).await;
        asked.unwrap_or_else(|_| Err(KernelError::Answer(dir, format!("no answer within {PATIENCE:?}")).into()))
    }
}

async fn exchange<T: DeserializeOwned>(dir: &Path, method: &str, path: &str, body: String) -> Result<T, Failure> {
    let dir = dir.to_path_buf();
    let stream = tokio::net::UnixStream::connect(dir.join(SOCKET)).await;
    let stream = stream.map_err(|_| KernelError::NotRunning(dir.clone()))?;
    let odd = |error: String| KernelError::Answer(dir.clone(), error);
    let io = hyper_util::rt::TokioIo::new(stream);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.map_err(|e| odd(e.to_string()))?;
    tokio::spawn(connection);
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("Host", "kernel")
        .body(Full::new(Bytes::from(body)))
        .map_err(|e| odd(e.to_string()))?;
    let response = sender.send_request(request).await.map_err(|e| odd(e.to_string()))?;
    let status = response.status();
    let bytes = response.into_body().collect().await.map_err(|e| odd(e.to_string()))?.to_bytes();
    if !status.is_success() {
        let problem: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if let Some(detail) = problem["detail"].as_str() {
            return Err(KernelError::Refused(detail.to_string()).into());
        }
        return Err(odd(String::from_utf8_lossy(&bytes).into_owned()).into());
    }
    Ok(serde_json::from_slice(&bytes).map_err(|e| odd(e.to_string()))?)
}

/// Says where a journal is damaged, once for each of its files.
pub fn warn_of_damage(journal: &Journal) {
    for damage in DamagedSegment::of(journal.damage()) {
        say(format_args!("warning: {damage}"));
    }
}

/// Says where to ask a kernel, when that is not where people are led by default.
pub fn say_where(dir: &Path) {
    if let Some(dir) = elsewhere(dir) {
        say(format_args!("hint: ask it with `switchboard top --state-dir {}`", dir.display()));
    }
}

/// What commands must say to ask the kernel of a directory.
pub fn flags(dir: &Path) -> Flags {
    let elsewhere = elsewhere(dir).map(|dir| dir.display().to_string());
    elsewhere.map_or_else(Flags::new, |dir| Flags::new().kernel("--state-dir", &dir))
}

/// The directory, unless it is the one that is looked at by default.
fn elsewhere(dir: &Path) -> Option<PathBuf> {
    let dir = std::path::absolute(dir).unwrap_or(dir.to_path_buf());
    (StateDir::default().path().ok().as_deref() != Some(&*dir)).then_some(dir)
}

/// Makes a state directory that only its owner reads.
pub fn make(dir: &Path) -> Result<PathBuf, KernelError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| KernelError::State(dir.to_path_buf(), error))?;
    Ok(dir.join(JOURNAL))
}

/// Reads a configuration; what is wrong with it is told whole.
pub fn read_config(file: &Path) -> Result<Config, Failure> {
    Ok(read_with_text(file)?.0)
}

/// The same, with the text it was read from, for who looks later whether it is another.
pub fn read_with_text(file: &Path) -> Result<(Config, String), Failure> {
    let text = read_text(file)?;
    Ok((parse_config(file, &text)?, text))
}

/// The text of a configuration.
pub fn read_text(file: &Path) -> Result<String, Failure> {
    Ok(std::fs::read_to_string(file).map_err(|error| KernelError::Config(file.to_path_buf(), error))?)
}

/// The configuration that a text of that file is.
pub fn parse_config(file: &Path, text: &str) -> Result<Config, Failure> {
    Ok(Config::parse(&file.display().to_string(), text, operators::KNOWN)?)
}
