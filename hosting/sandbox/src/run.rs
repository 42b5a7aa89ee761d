//! The host's side: starts the launcher, serves it, and collects what came of the run.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::direct;
use crate::egress::EgressProxy;
use crate::job::{JobOutcome, OutputFolder, RunEnd, RunUsage, SandboxJob};
use crate::launcher::LAUNCH_ARGUMENT;
use crate::stream::{self, STDERR_BYTES};
use crate::wire::{self, HostMessage, LaunchSpec, LauncherMessage};

/// How long the launcher may take beside what the program may.
const LAUNCHER_TIMEOUT: Duration = Duration::from_secs(10);
/// Who a program is when root hosts it.
const NOBODY: u32 = 65534;

/// Why a program could not be run. How it ran is a [`Finished`].
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The machine does not offer what a sandbox needs.
    #[error("there is no sandbox on this machine: {what}")]
    Unsupported {
        /// What is missing.
        what: String,
    },
    /// The program is not there, or may not be started.
    #[error("could not start {}: {reason}", program.display())]
    NoProgram {
        /// Which.
        program: PathBuf,
        /// Why.
        reason: String,
    },
    /// The launcher could not be started or spoken to.
    #[error("could not start the sandbox's launcher")]
    Launcher(#[source] io::Error),
    /// The launcher ended without a word.
    #[error("the sandbox's launcher ended before the program did")]
    LauncherExited,
    /// A step of the making of a sandbox failed.
    #[error("could not make a sandbox: {step}: {error}")]
    Setup {
        /// What was tried.
        step: String,
        /// What the system said.
        error: String,
    },
    /// The work folder cannot be used.
    #[error("could not use the work folder {}", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// The host ends.
    #[error("nothing is run any more: the host ends")]
    Stopped,
}

/// Runs jobs, each in a sandbox of its own.
#[derive(Clone, Debug)]
pub struct Sandbox {
    folder: PathBuf,
    launcher: PathBuf,
    /// What is not confined, and so does not end with this process.
    running: Arc<direct::RunningGroups>,
}

impl Sandbox {
    /// Over a folder of this user's own, made when it is not there. The launcher is this very binary. What runs without a
    /// sandbox of a process that is gone left there is ended and removed; those of others that live are left alone.
    ///
    /// # Guarantees
    /// - Nobody else looks into the folder. // test: guarantees_nobody_else_looks_into_the_work_folder
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn new(folder: &Path) -> Result<Self, SandboxError> {
        let failed = |error| SandboxError::Folder(folder.to_path_buf(), error);
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join("root"));
        made.map_err(failed)?;
        // Also one that was there before: what programs are given to read may hold Secrets, and lies open below it.
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
        let folder = folder.canonicalize().map_err(failed)?;
        direct::clean_up(&folder);
        Ok(Self { folder, launcher: PathBuf::from("/proc/self/exe"), running: Arc::default() })
    }

    /// With another binary as the launcher; it hands its arguments to [`crate::launched`].
    #[must_use]
    pub fn with_launcher(self, launcher: &Path) -> Self {
        Self { launcher: launcher.to_path_buf(), ..self }
    }

    /// Ends what runs unconfined, and removes what it was given: before this process ends. All else ends with it by itself.
    pub fn stop(&self) {
        self.running.end();
    }

    /// Whether this machine offers a sandbox.
    ///
    /// # Errors
    /// What it lacks.
    pub fn check(&self) -> Result<(), SandboxError> {
        match self.run(&SandboxJob::new("/nonexistent")) {
            Err(SandboxError::NoProgram { .. }) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Runs a job to its end.
    ///
    /// # Errors
    /// When the program could not be run at all; nothing unconfined is tried instead.
    ///
    /// # Guarantees
    /// - When it returns, no process of the program is left. // test: guarantees_nothing_survives_the_run
    /// - It returns: a job has a wall bound. // test: guarantees_a_run_that_never_ends_is_ended
    pub fn run(&self, job: &SandboxJob) -> Result<JobOutcome, SandboxError> {
        self.prepare(job)?.run()
    }

    /// Makes the sandbox of a job, and starts nothing in it yet: that takes as long as a small program runs, and whoever still
    /// has the job's input to write can do so meanwhile. The input folder must be there. Nothing is made for a job that is not
    /// confined.
    ///
    /// # Errors
    /// When the launcher cannot be started.
    pub fn prepare(&self, job: &SandboxJob) -> Result<PreparedSandbox, SandboxError> {
        let launched = if job.unconfined { None } else { Some(self.launch(job)?) };
        Ok(PreparedSandbox { sandbox: self.clone(), job: job.clone(), launcher: launched })
    }

    fn launch(&self, job: &SandboxJob) -> Result<LauncherProcess, SandboxError> {
        let (line, theirs) = wire::socket_pair().map_err(SandboxError::Launcher)?;
        let child = Command::new(&self.launcher)
            .args([LAUNCH_ARGUMENT, "outer"])
            .env_clear()
            .current_dir("/")
            // A signal of the terminal is for the host, which stops in order.
            .process_group(0)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(SandboxError::Launcher)?;
        let mut launched = LauncherProcess { child, line, handshake: None };
        let (process, line) = (launched.child.id(), launched.line.try_clone().map_err(SandboxError::Launcher)?);
        let spec = HostMessage::Make(Box::new(self.spec(job, is_root().then_some(NOBODY))));
        // The launcher lives as long as the thread that started it, so only the talk is another one's.
        launched.handshake = Some(std::thread::spawn(move || shake_hands(process, &line, &spec)));
        Ok(launched)
    }

    fn run_confined(&self, mut launched: LauncherProcess, job: &SandboxJob) -> Result<JobOutcome, SandboxError> {
        let stdout = launched.child.stdout.take().expect("stdout was asked for as a pipe");
        let stderr = launched.child.stderr.take().expect("stderr was asked for as a pipe");
        let (stdout, stderr) = (stream::head(stdout, job.limits.stdout_bytes), stream::tail(stderr, STDERR_BYTES));
        let outcome = launched.finish_handshake().and_then(|()| self.converse(&launched.line, job));
        // What the program started has the other ends of the pipes: they close with the last of it.
        launched.end();
        let (stdout, stdout_cut) = stdout.join().unwrap_or_default();
        let stderr = stderr.join().unwrap_or_default();
        let ConfinedOutcome { end, usage, output, proxy } = outcome?;
        let attempts = proxy.map(EgressProxy::stop).unwrap_or_default();
        Ok(JobOutcome {
            end,
            usage,
            stdout,
            stdout_truncated: stdout_cut,
            stderr,
            output: OutputFolder::Memory(output),
            attempts,
        })
    }

    fn converse(&self, line: &OwnedFd, job: &SandboxJob) -> Result<ConfinedOutcome, SandboxError> {
        let mut give_up = Instant::now() + LAUNCHER_TIMEOUT;
        let (mut output, mut proxy) = (None, None);
        loop {
            let (message, files) = receive(line, give_up)?;
            match message {
                LauncherMessage::Ready => {
                    let mut files = files.into_iter();
                    output = files.next();
                    if let (Some(listener), Some(rules)) = (files.next(), &job.egress) {
                        proxy =
                            Some(EgressProxy::start(listener.into(), rules.clone()).map_err(SandboxError::Launcher)?);
                    }
                    wire::send(line, &HostMessage::Start, &[]).map_err(SandboxError::Launcher)?;
                    give_up = Instant::now() + job.limits.wall + LAUNCHER_TIMEOUT;
                }
                LauncherMessage::Ended { end, usage } => {
                    let output = output.ok_or(SandboxError::LauncherExited)?;
                    return Ok(ConfinedOutcome { end, usage, output, proxy });
                }
                LauncherMessage::NoProgram { error } => {
                    return Err(SandboxError::NoProgram { program: job.program.clone(), reason: error });
                }
                other => return Err(launcher_error(other)),
            }
        }
    }

    fn spec(&self, job: &SandboxJob, user: Option<u32>) -> LaunchSpec {
        LaunchSpec {
            program: job.program.clone(),
            arguments: job.arguments.clone(),
            env: job.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            readable: job.readable.clone(),
            // The launcher stands elsewhere.
            input: job.input.as_ref().map(|input| std::path::absolute(input).unwrap_or_else(|_| input.clone())),
            kubeconfig: job.kubeconfig.clone(),
            root: self.folder.join("root"),
            proxy: job.egress.is_some(),
            user,
            bounds: job.limits,
        }
    }
}

struct ConfinedOutcome {
    end: RunEnd,
    usage: RunUsage,
    output: OwnedFd,
    proxy: Option<EgressProxy>,
}

/// A sandbox whose program is still to be started. Dropped instead, it leaves nothing behind.
#[derive(Debug)]
pub struct PreparedSandbox {
    sandbox: Sandbox,
    job: SandboxJob,
    launcher: Option<LauncherProcess>,
}

impl PreparedSandbox {
    /// Runs its job to its end, as [`Sandbox::run`].
    ///
    /// # Errors
    /// As [`Sandbox::run`].
    pub fn run(self) -> Result<JobOutcome, SandboxError> {
        match self.launcher {
            Some(launched) => self.sandbox.run_confined(launched, &self.job),
            None => direct::run(&self.sandbox.folder, &self.sandbox.running, &self.job),
        }
    }
}

/// A launcher that does not outlive its run, whatever happens.
#[derive(Debug)]
struct LauncherProcess {
    child: Child,
    /// What is said to it and heard of it.
    line: OwnedFd,
    /// Whoever brings it so far that it knows its job.
    handshake: Option<JoinHandle<Result<(), SandboxError>>>,
}

impl LauncherProcess {
    fn finish_handshake(&mut self) -> Result<(), SandboxError> {
        self.handshake.take().map_or(Ok(()), |greeted| greeted.join().unwrap_or(Err(SandboxError::LauncherExited)))
    }

    fn end(&mut self) {
        // The inner part dies with the outer one, and with it everything in its process namespace.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for LauncherProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// Brings a launcher to where it makes the sandbox of its job.
fn shake_hands(process: u32, line: &OwnedFd, spec: &HostMessage) -> Result<(), SandboxError> {
    match receive(line, Instant::now() + LAUNCHER_TIMEOUT)? {
        (LauncherMessage::Unshared, _) if is_root() => map_users(process)?,
        (LauncherMessage::Unshared, _) => {}
        (other, _) => return Err(launcher_error(other)),
    }
    wire::send(line, &HostMessage::Mapped, &[]).map_err(SandboxError::Launcher)?;
    // It lies there until the inner part reads it.
    wire::send(line, spec, &[]).map_err(SandboxError::Launcher)
}

fn receive(line: &OwnedFd, give_up: Instant) -> Result<(LauncherMessage, Vec<OwnedFd>), SandboxError> {
    loop {
        let left = give_up.saturating_duration_since(Instant::now());
        if wire::readable(line, left).map_err(SandboxError::Launcher)? {
            break;
        }
        if left.is_zero() {
            return Err(SandboxError::LauncherExited);
        }
    }
    wire::receive(line).map_err(SandboxError::Launcher)?.ok_or(SandboxError::LauncherExited)
}

/// What the launcher said instead of what it should have.
fn launcher_error(message: LauncherMessage) -> SandboxError {
    match message {
        LauncherMessage::Unsupported { what } => SandboxError::Unsupported { what },
        LauncherMessage::Failed { act, error } => SandboxError::Setup { step: act, error },
        _ => SandboxError::LauncherExited,
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Root inside stays root, to read what root may and to give the rest away; the program becomes nobody.
fn map_users(process: u32) -> Result<(), SandboxError> {
    for file in ["uid_map", "gid_map"] {
        let written = std::fs::write(format!("/proc/{process}/{file}"), format!("0 0 1\n{NOBODY} {NOBODY} 1\n"));
        written.map_err(|error| SandboxError::Unsupported {
            what: format!("the users of a user namespace cannot be set, though this is root ({file}: {error})"),
        })?;
    }
    Ok(())
}
