//! Host side: starts the launcher, exchanges messages with it, and collects the outcome.

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
use crate::job::{JobOutcome, OutputFolder, ProgramEnd, RunUsage, SandboxJob, SandboxLimits};
use crate::launcher::LAUNCH_ARGUMENT;
use crate::stream::{self, STDERR_BYTES};
use crate::wire::{self, HostMessage, LaunchSpec, LauncherMessage};

/// Additional time for the launcher beyond the time limit of the program.
const LAUNCHER_TIMEOUT: Duration = Duration::from_secs(10);
/// User id of programs if the host runs as root.
const NOBODY_ID: u32 = 65534;

/// Reason why a program could not be run. A [`JobOutcome`] describes a completed run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The machine does not support sandboxes.
    #[error("could not create a sandbox on this machine: {what}")]
    Unsupported {
        /// Missing feature.
        what: String,
    },
    /// The program does not exist or cannot be executed.
    #[error("could not start {}: {reason}", program.display())]
    NoProgram {
        /// Path of the program.
        program: PathBuf,
        /// Cause.
        reason: String,
    },
    /// The launcher could not be started, or the connection to it failed.
    #[error("could not start the launcher of the sandbox")]
    Launcher(#[source] io::Error),
    /// The launcher exited without a message.
    #[error("the launcher of the sandbox exited before the program")]
    LauncherExited,
    /// A step of the creation failed.
    #[error("could not create the sandbox: {step}: {error}")]
    Setup {
        /// Failed step.
        step: String,
        /// Error message of the system.
        error: String,
    },
    /// The work folder cannot be used.
    #[error("could not use the work folder {}", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// The host is shutting down.
    #[error("could not run the program: Switchboard is shutting down")]
    Stopped,
}

/// Runs jobs, each in a sandbox of its own.
#[derive(Clone, Debug)]
pub struct Sandbox {
    folder: PathBuf,
    launcher: PathBuf,
    /// Unconfined process groups, which would outlive this process.
    running: Arc<direct::RunningGroups>,
}

impl Sandbox {
    /// Creates the sandbox with a work folder, which is created if necessary. The launcher is this binary. Unconfined
    /// runs that crashed processes left in the folder are killed and removed; runs of live processes are not affected.
    ///
    /// # Guarantees
    /// - Other users cannot read the folder. // test: guarantees_nobody_else_looks_into_the_work_folder
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn new(folder: &Path) -> Result<Self, SandboxError> {
        let failed = |error| SandboxError::Folder(folder.to_path_buf(), error);
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join("root"));
        made.map_err(failed)?;
        // Also for an existing folder: inputs below it are world-readable and may contain Secrets.
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
        let folder = folder.canonicalize().map_err(failed)?;
        direct::clean_up(&folder);
        Ok(Self { folder, launcher: PathBuf::from("/proc/self/exe"), running: Arc::default() })
    }

    /// Uses another binary as the launcher, which must call [`crate::launcher_main`].
    #[must_use]
    pub fn with_launcher(self, launcher: &Path) -> Self {
        Self { launcher: launcher.to_path_buf(), ..self }
    }

    /// Kills unconfined runs and removes their folders, to be called at shutdown. Sandboxes end with this process by
    /// themselves.
    pub fn stop(&self) {
        self.running.end();
    }

    /// Checks whether this machine supports sandboxes with these limits.
    ///
    /// # Errors
    /// The missing feature.
    pub fn check(&self, limits: SandboxLimits) -> Result<(), SandboxError> {
        match self.run(&SandboxJob::new("/nonexistent", limits)) {
            Err(SandboxError::NoProgram { .. }) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Runs a job to its end.
    ///
    /// # Errors
    /// If the program could not be run. There is no fallback to an unconfined run.
    ///
    /// # Guarantees
    /// - No process of the program is left afterwards. // test: guarantees_nothing_survives_the_run
    /// - The run ends, because jobs have a time limit. // test: guarantees_a_run_that_never_ends_is_ended
    pub fn run(&self, job: &SandboxJob) -> Result<JobOutcome, SandboxError> {
        self.prepare(job)?.run()
    }

    /// Creates the sandbox of a job without starting the program. Creation takes as long as a small program runs, so
    /// the caller can write the job's input in the meantime. The input folder must exist. For an unconfined job,
    /// nothing is created.
    ///
    /// # Errors
    /// If the launcher cannot be started.
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
            // Terminal signals are for the host, which shuts down in order.
            .process_group(0)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(SandboxError::Launcher)?;
        let mut launched = LauncherProcess { child, line, handshake: None };
        let (process, line) = (launched.child.id(), launched.line.try_clone().map_err(SandboxError::Launcher)?);
        let spec = HostMessage::Make(Box::new(self.spec(job, is_root().then_some(NOBODY_ID))));
        // The launcher is tied to the thread that starts it, so only the handshake runs on another thread.
        launched.handshake = Some(std::thread::spawn(move || shake_hands(process, &line, &spec)));
        Ok(launched)
    }

    fn run_confined(&self, mut launched: LauncherProcess, job: &SandboxJob) -> Result<JobOutcome, SandboxError> {
        let stdout = launched.child.stdout.take().expect("stdout is a pipe");
        let stderr = launched.child.stderr.take().expect("stderr is a pipe");
        let (stdout, stderr) = (stream::head(stdout, job.limits.stdout_bytes), stream::tail(stderr, STDERR_BYTES));
        let outcome = launched.finish_handshake().and_then(|()| self.converse(&launched.line, job));
        // Kills the program's descendants, which closes the other ends of the pipes.
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
            // The launcher has another working directory.
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
    end: ProgramEnd,
    usage: RunUsage,
    output: OwnedFd,
    proxy: Option<EgressProxy>,
}

/// A sandbox whose program has not started. Dropping it leaves nothing behind.
#[derive(Debug)]
pub struct PreparedSandbox {
    sandbox: Sandbox,
    job: SandboxJob,
    launcher: Option<LauncherProcess>,
}

impl PreparedSandbox {
    /// Runs the job to its end, as [`Sandbox::run`].
    ///
    /// # Errors
    /// Same as [`Sandbox::run`].
    pub fn run(self) -> Result<JobOutcome, SandboxError> {
        match self.launcher {
            Some(launched) => self.sandbox.run_confined(launched, &self.job),
            None => direct::run(&self.sandbox.folder, &self.sandbox.running, &self.job),
        }
    }
}

/// A launcher process that never outlives its run.
#[derive(Debug)]
struct LauncherProcess {
    child: Child,
    /// Socket for messages.
    line: OwnedFd,
    /// Thread that performs the handshake up to the job.
    handshake: Option<JoinHandle<Result<(), SandboxError>>>,
}

impl LauncherProcess {
    fn finish_handshake(&mut self) -> Result<(), SandboxError> {
        self.handshake.take().map_or(Ok(()), |greeted| greeted.join().unwrap_or(Err(SandboxError::LauncherExited)))
    }

    fn end(&mut self) {
        // The inner process dies with the outer one, and so does everything in its process namespace.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for LauncherProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// Performs the handshake until the launcher has its job.
fn shake_hands(process: u32, line: &OwnedFd, spec: &HostMessage) -> Result<(), SandboxError> {
    match receive(line, Instant::now() + LAUNCHER_TIMEOUT)? {
        (LauncherMessage::Unshared, _) if is_root() => map_users(process)?,
        (LauncherMessage::Unshared, _) => {}
        (other, _) => return Err(launcher_error(other)),
    }
    wire::send(line, &HostMessage::Mapped, &[]).map_err(SandboxError::Launcher)?;
    // The message is queued until the inner launcher reads it.
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

/// Converts an unexpected message to an error.
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

/// Maps root to root, so that the launcher can read root's files, and the program's user to user 65534.
fn map_users(process: u32) -> Result<(), SandboxError> {
    for file in ["uid_map", "gid_map"] {
        let written = std::fs::write(format!("/proc/{process}/{file}"), format!("0 0 1\n{NOBODY_ID} {NOBODY_ID} 1\n"));
        written.map_err(|error| SandboxError::Unsupported {
            what: format!("the user mapping of a user namespace cannot be set, although the process runs as root ({file}: {error})"),
        })?;
    }
    Ok(())
}
