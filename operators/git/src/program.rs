//! Execution of git: environment, time limit and output limits.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::address::Scheme;
use crate::error::GitError;
use crate::login::LoginEnvironment;

/// Maximum size of standard error that is kept.
const MAX_STDERR_BYTES: usize = 64 << 10;
/// Interval between checks of a running command, for instance of the repository's size.
const WATCHDOG_INTERVAL: Duration = Duration::from_millis(100);
/// Variables inherited from this process: where programs are, and how the network is reached.
const INHERITED_VARIABLES: [&str; 14] = [
    "PATH",
    "TMPDIR",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
];
/// Configuration of every command. It disables hooks and programs of the repository and of the machine, and every
/// implicit fetch.
const SETTINGS: [(&str, &str); 14] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.askPass", ""),
    ("credential.helper", ""),
    ("fetch.recurseSubmodules", "false"),
    ("submodule.recurse", "false"),
    ("fetch.unpackLimit", "1"),
    ("transfer.bundleURI", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.version", "2"),
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "30"),
    ("advice.detachedHead", "false"),
];

/// Arguments and limits of one git command.
pub(crate) struct GitCommand<'a> {
    /// Action for error messages, as a verb phrase.
    pub(crate) action: &'static str,
    /// Command-line arguments. Untrusted values follow a `--`.
    pub(crate) arguments: &'a [&'a str],
    /// Standard input.
    pub(crate) input: Vec<u8>,
    /// Maximum size of standard output.
    pub(crate) output_bytes: usize,
    /// Time limit.
    pub(crate) deadline: Duration,
    /// Check that runs repeatedly while git runs. An error stops git.
    pub(crate) watchdog: &'a dyn Fn() -> Result<(), GitError>,
}

/// Git program and its fixed environment.
pub(crate) struct GitProgram<'a> {
    /// Path of the program.
    pub(crate) git: &'a Path,
    /// Allowed transport protocols.
    pub(crate) allowed: &'a [Scheme],
    /// User configuration file, if one is used.
    pub(crate) config: Option<&'a PathBuf>,
    /// Working directory, which is also `HOME`.
    pub(crate) folder: &'a Path,
}

impl GitProgram<'_> {
    /// Runs git and returns its standard output.
    pub(crate) fn run(&self, run: GitCommand<'_>, means: &LoginEnvironment) -> Result<Vec<u8>, GitError> {
        let mut command = Command::new(self.git);
        command.args(run.arguments).current_dir(self.folder).process_group(0);
        self.environment(&mut command, means);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => GitError::NoGit,
            _ => GitError::Failed { action: run.action, message: error.to_string() },
        })?;
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let stdout = read_head(child.stdout.take().expect("stdout is piped"), run.output_bytes);
        let stderr = read_head(child.stderr.take().expect("stderr is piped"), MAX_STDERR_BYTES);
        // The input may exceed a pipe's buffer while git writes output, so a thread writes it. If git has exited, the
        // write fails.
        let input = run.input;
        let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ended = wait(&child, run.deadline, run.watchdog);
        // Child processes of git are killed with it.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        let status = child.wait();
        let _ = writing.join();
        let (stdout, cut) = stdout.join().unwrap_or_default();
        let (stderr, _) = stderr.join().unwrap_or_default();
        match ended {
            Ok(true) => {}
            Ok(false) => return Err(GitError::Timeout { action: run.action, timeout: run.deadline }),
            Err(error) => return Err(error),
        }
        if cut {
            let what = "the output of git".to_string();
            return Err(GitError::TooLarge { subject: what, limit: run.output_bytes as u64, unit: "bytes" });
        }
        if !status.is_ok_and(|status| status.success()) {
            return Err(GitError::from_stderr(run.action, &redact(&String::from_utf8_lossy(&stderr), &means.secrets)));
        }
        Ok(stdout)
    }

    fn environment(&self, command: &mut Command, means: &LoginEnvironment) {
        command.env_clear();
        for name in INHERITED_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let allowed: Vec<&str> = self.allowed.iter().map(|scheme| scheme.name()).collect();
        command.env("HOME", self.folder).env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "");
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_ALLOW_PROTOCOL", allowed.join(":"));
        command.env("GIT_CONFIG_GLOBAL", self.config.map_or(Path::new("/dev/null"), PathBuf::as_path));
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1");
        let given = means.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let mut count = 0;
        for (name, value) in SETTINGS.into_iter().chain(given) {
            command.env(format!("GIT_CONFIG_KEY_{count}"), name).env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string()).envs(means.variables.iter().map(|(k, v)| (k, v)));
    }
}

/// Returns whether the process exited in time.
fn wait(child: &Child, deadline: Duration, look: &dyn Fn() -> Result<(), GitError>) -> Result<bool, GitError> {
    let end = Instant::now() + deadline;
    let Ok(handle) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) else { return Ok(true) };
    loop {
        look()?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let nap = left.min(WATCHDOG_INTERVAL);
        let nap = Timespec { tv_sec: 0, tv_nsec: nap.subsec_nanos().max(1).into() };
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&nap)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(_) => return Ok(true),
        }
    }
}

/// Keeps the first `most` bytes but reads to the end, so that the writer never blocks. The flag is true if there was
/// more.
fn read_head(mut from: impl Read + Send + 'static, most: usize) -> JoinHandle<(Vec<u8>, bool)> {
    const CHUNK_BYTES: usize = 64 << 10;
    std::thread::spawn(move || {
        let (mut kept, mut cut) = (Vec::new(), false);
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(got @ 1..) = from.read(&mut chunk) {
            let room = most - kept.len();
            kept.extend_from_slice(&chunk[..got.min(room)]);
            cut |= got > room;
        }
        (kept, cut)
    })
}

fn redact(text: &str, hidden: &[String]) -> String {
    hidden.iter().fold(text.to_string(), |text, secret| text.replace(secret, "…"))
}

#[cfg(test)]
mod tests;
