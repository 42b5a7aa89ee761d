//! One run of git: its environment, its deadline, what it may say.

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
use crate::login::Means;

/// How much of what git complains of is kept.
const MAX_STDERR_BYTES: usize = 64 << 10;
/// How often a run is looked at: whether it has grown too large.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What is taken over of this process's environment: where programs are, and how the network is reached.
const TAKEN_OVER: [&str; 14] = [
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
/// Settings of every run. Nothing of a repository or of this machine runs, and nothing but what is asked for is fetched.
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

/// A run that is about to be made.
pub(crate) struct Run<'a> {
    /// What it is for, as a verb.
    pub(crate) act: &'static str,
    /// The arguments. What comes from outside stands behind a `--`.
    pub(crate) arguments: &'a [&'a str],
    /// What it reads.
    pub(crate) input: Vec<u8>,
    /// The most it may write to its output.
    pub(crate) output_bytes: usize,
    /// How long it may take.
    pub(crate) deadline: Duration,
    /// Looked at while it runs; an error ends it.
    pub(crate) look: &'a dyn Fn() -> Result<(), GitError>,
}

/// Where git is started.
pub(crate) struct Program<'a> {
    /// The program.
    pub(crate) git: &'a Path,
    /// The protocols it may use.
    pub(crate) allowed: &'a [Scheme],
    /// The settings file of the user, if one counts.
    pub(crate) config: Option<&'a PathBuf>,
    /// The folder it stands in, and that is its home.
    pub(crate) folder: &'a Path,
}

impl Program<'_> {
    /// Runs git, and gives its output.
    pub(crate) fn run(&self, run: Run<'_>, means: &Means) -> Result<Vec<u8>, GitError> {
        let mut command = Command::new(self.git);
        command.args(run.arguments).current_dir(self.folder).process_group(0);
        self.environment(&mut command, means);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => GitError::NoGit,
            _ => GitError::Failed { act: run.act, message: error.to_string() },
        })?;
        let mut stdin = child.stdin.take().expect("stdin was asked for as a pipe");
        let stdout = head(child.stdout.take().expect("stdout was asked for as a pipe"), run.output_bytes);
        let stderr = head(child.stderr.take().expect("stderr was asked for as a pipe"), MAX_STDERR_BYTES);
        // What is written may be more than a pipe holds, and git writes while it reads. A git that ended reads no more.
        let input = run.input;
        let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ended = wait(&child, run.deadline, run.look);
        // What it started goes with it.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        let status = child.wait();
        let _ = writing.join();
        let (stdout, cut) = stdout.join().unwrap_or_default();
        let (stderr, _) = stderr.join().unwrap_or_default();
        match ended {
            Ok(true) => {}
            Ok(false) => return Err(GitError::Deadline { act: run.act, after: run.deadline }),
            Err(error) => return Err(error),
        }
        if cut {
            let what = "what git has to say".to_string();
            return Err(GitError::TooLarge { what, most: run.output_bytes as u64, unit: "bytes" });
        }
        if !status.is_ok_and(|status| status.success()) {
            return Err(GitError::said(run.act, &hide(&String::from_utf8_lossy(&stderr), &means.hidden)));
        }
        Ok(stdout)
    }

    fn environment(&self, command: &mut Command, means: &Means) {
        command.env_clear();
        for name in TAKEN_OVER {
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

/// Whether it ended in time.
fn wait(child: &Child, deadline: Duration, look: &dyn Fn() -> Result<(), GitError>) -> Result<bool, GitError> {
    let end = Instant::now() + deadline;
    let Ok(handle) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) else { return Ok(true) };
    loop {
        look()?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let nap = left.min(LOOK_EVERY);
        let nap = Timespec { tv_sec: 0, tv_nsec: nap.subsec_nanos().max(1).into() };
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&nap)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(_) => return Ok(true),
        }
    }
}

/// Keeps the beginning, and reads to the end: nobody is to wait for a reader. True when there was more.
fn head(mut from: impl Read + Send + 'static, most: usize) -> JoinHandle<(Vec<u8>, bool)> {
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

fn hide(text: &str, hidden: &[String]) -> String {
    hidden.iter().fold(text.to_string(), |text, secret| text.replace(secret, "…"))
}

#[cfg(test)]
mod tests;
