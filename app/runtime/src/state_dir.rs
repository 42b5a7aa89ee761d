//! State directory of a kernel, and requests to the process that runs with it.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde::de::DeserializeOwned;
use switchboard_console::CommandFlags;
use switchboard_kernel::journal::{DamagedSegment, Journal};
use switchboard_kernel::listener::SOCKET;
use switchboard_kernel::state::KernelState;

use crate::failure::CommandError;
use crate::program_name;
use crate::stderr::print_stderr;
use crate::storage_location::StorageLocation;

/// Folder of the journal in the state directory.
const JOURNAL: &str = "journal";
/// State directory in a data directory.
pub const KERNEL: &str = "kernel";

/// Folder for the state directories of operators that run alone, in the user's data directory.
const ONLY: &str = "only";

/// Timeout for the response of a running kernel.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// State directory, given or by default.
#[derive(Clone, Debug, Default)]
pub struct StateDir {
    /// Given directory; `kernel` in the user's data directory when absent.
    state_dir: Option<PathBuf>,
}

/// Commands that find a running kernel, or the database of one, by its state directory.
const WITH_STATE_DIR: [&str; 13] = [
    "pause",
    "resume",
    "reconcile",
    "top",
    "why",
    "why-not",
    "replay",
    "plan",
    "doctor",
    "gitops fleet",
    "gitops backup",
    "gitops restore",
    "gitops metrics",
];

/// Error of the kernel's files or of a running kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The state directory could not be created.
    #[error("could not create the state directory {}", .0.display())]
    State(PathBuf, #[source] io::Error),
    /// The journal does not exist.
    #[error("could not find a journal in {}\nhint: pass the directory of `run` or `up` with --state-dir DIR", .0.display())]
    NoJournal(PathBuf),
    /// No kernel is running with this state directory.
    #[error("no kernel is running with state directory {}\nhint: start one with `switchboard up` or `switchboard run --config FILE`, or pass its directory with --state-dir DIR", .0.display())]
    NotRunning(PathBuf),
    /// The kernel refused the request, with its message.
    #[error("{0}")]
    Refused(String),
    /// The response of the kernel is invalid.
    #[error("invalid response of the kernel with state directory {}: {}", .0.display(), .1)]
    Answer(PathBuf, String),
}

impl StateDir {
    /// Returns the given directory, or the default.
    pub fn of(state_dir: Option<PathBuf>) -> Self {
        Self { state_dir }
    }

    /// Returns the directory without creating it.
    pub fn path(&self) -> Result<PathBuf, CommandError> {
        match &self.state_dir {
            Some(path) => Ok(path.clone()),
            None => match StorageLocation::default_path() {
                Some(path) => Ok(path.join(KERNEL)),
                None => {
                    Err("no default state directory: neither XDG_DATA_HOME nor HOME is set\nhint: pass --state-dir DIR"
                        .into())
                }
            },
        }
    }

    /// Defaults to the state directory in a data directory.
    pub fn or_below(self, data: &Path) -> Self {
        Self { state_dir: Some(self.state_dir.unwrap_or_else(|| data.join(KERNEL))) }
    }

    /// Defaults to a separate directory for one operator: two kernels cannot share a directory.
    pub fn or_for_operator(self, operator: &str) -> Self {
        match (&self.state_dir, StorageLocation::default_path()) {
            (None, Some(data)) => Self { state_dir: Some(data.join(ONLY).join(operator)) },
            _ => self,
        }
    }

    /// Adds the flag of this directory to the commands in a text, so that they reach the same kernel when pasted.
    pub fn complete(&self, text: &str) -> String {
        let Some(dir) = &self.state_dir else { return program_name::name_commands(text).into_owned() };
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
        let quoted = switchboard_console::quoted(&dir.display().to_string());
        let takes_flag = |command: &str| {
            let is_verb = |rest: &str| rest.is_empty() || rest.starts_with(' ');
            let mut verbs = WITH_STATE_DIR.iter().filter_map(|verb| command.strip_prefix(verb));
            verbs.any(is_verb) && !command.contains("--state-dir")
        };
        let spans = text.split('`').enumerate().map(|(number, span)| {
            // Every second piece is between backticks.
            let is_command = number % 2 == 1 && span.strip_prefix("switchboard ").is_some_and(takes_flag);
            if is_command { format!("{span} --state-dir {quoted}") } else { span.to_string() }
        });
        program_name::name_commands(&spans.collect::<Vec<_>>().join("`")).into_owned()
    }

    /// Reads the journal from disk, whether a kernel is running or not.
    pub fn journal(&self) -> Result<Journal, CommandError> {
        let dir = self.path()?;
        let journal = dir.join(JOURNAL);
        if !journal.is_dir() {
            return Err(KernelError::NoJournal(dir).into());
        }
        let journal = Journal::read(&journal)?;
        // While a kernel writes, the last line may be incomplete.
        if std::os::unix::net::UnixStream::connect(dir.join(SOCKET)).is_err() {
            warn_of_damage(&journal);
        }
        Ok(journal)
    }

    /// Returns the state of the running kernel.
    pub async fn state(&self) -> Result<KernelState, CommandError> {
        self.request("GET", "/api/v1/state", String::new()).await
    }

    /// Sends a request to the running kernel, with a timeout.
    pub async fn request<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: String,
    ) -> Result<T, CommandError> {
        let dir = self.path()?;
        let outcome = tokio::time::timeout(PATIENCE, exchange(&dir, method, path, body)).await;
        outcome.unwrap_or_else(|_| Err(KernelError::Answer(dir, format!("no answer within {PATIENCE:?}")).into()))
    }
}

async fn exchange<T: DeserializeOwned>(dir: &Path, method: &str, path: &str, body: String) -> Result<T, CommandError> {
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

/// Prints a warning for each damaged file of the journal.
pub fn warn_of_damage(journal: &Journal) {
    for damage in DamagedSegment::of(journal.damage()) {
        print_stderr(format_args!("warning: {damage}"));
    }
}

/// Prints the flag that reaches the kernel, if its directory is not the default.
pub fn print_state_dir_hint(dir: &Path) {
    if let Some(dir) = non_default_dir(dir) {
        print_stderr(format_args!("hint: show its operators with `switchboard top --state-dir {}`", dir.display()));
    }
}

/// Returns the flags that commands need to reach the kernel of a directory.
pub fn flags(dir: &Path) -> CommandFlags {
    let elsewhere = non_default_dir(dir).map(|dir| dir.display().to_string());
    elsewhere.map_or_else(CommandFlags::new, |dir| CommandFlags::new().kernel("--state-dir", &dir))
}

/// Returns the absolute path of the directory, unless it is the default.
fn non_default_dir(dir: &Path) -> Option<PathBuf> {
    let dir = std::path::absolute(dir).unwrap_or(dir.to_path_buf());
    (StateDir::default().path().ok().as_deref() != Some(&*dir)).then_some(dir)
}

/// Creates a state directory that only its owner can read.
pub fn create_state_dir(dir: &Path) -> Result<PathBuf, KernelError> {
    let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    created.map_err(|error| KernelError::State(dir.to_path_buf(), error))?;
    Ok(dir.join(JOURNAL))
}
