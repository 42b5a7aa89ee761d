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
use crate::egress::Proxy;
use crate::job::{End, Finished, Job, Output, Usage};
use crate::launcher::VERB;
use crate::stream::{self, STDERR_BYTES};
use crate::wire::{self, Go, Spec, Told};

/// How long the launcher may take beside what the program may.
const GRACE: Duration = Duration::from_secs(10);
/// Who a program is when root hosts it.
const NOBODY: u32 = 65534;

/// Why a program could not be run. How it ran is a [`Finished`].
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The machine does not offer what a sandbox needs.
    #[error("there is no sandbox on this machine: {what}")]
    Lacks {
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
    Silent,
    /// A step of the making of a sandbox failed.
    #[error("could not make a sandbox: {act}: {error}")]
    Failed {
        /// What was tried.
        act: String,
        /// What the system said.
        error: String,
    },
    /// The work folder cannot be used.
    #[error("could not use the work folder {}", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// The host ends.
    #[error("nothing is run any more: the host ends")]
    Over,
}

/// Runs jobs, each in a sandbox of its own.
#[derive(Clone, Debug)]
pub struct Sandbox {
    folder: PathBuf,
    launcher: PathBuf,
    /// What is not confined, and so does not end with this process.
    going: Arc<direct::Going>,
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
        direct::clear(&folder);
        Ok(Self { folder, launcher: PathBuf::from("/proc/self/exe"), going: Arc::default() })
    }

    /// With another binary as the launcher; it hands its arguments to [`crate::launched`].
    #[must_use]
    pub fn with_launcher(self, launcher: &Path) -> Self {
        Self { launcher: launcher.to_path_buf(), ..self }
    }

    /// Ends what runs unconfined, and removes what it was given: before this process ends. All else ends with it by itself.
    pub fn end(&self) {
        self.going.end();
    }

    /// Whether this machine offers a sandbox.
    ///
    /// # Errors
    /// What it lacks.
    pub fn check(&self) -> Result<(), SandboxError> {
        match self.run(&Job::new("/nonexistent")) {
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
    pub fn run(&self, job: &Job) -> Result<Finished, SandboxError> {
        self.begin(job)?.run()
    }

    /// Makes the sandbox of a job, and starts nothing in it yet: that takes as long as a small program runs, and whoever still
    /// has the job's input to write can do so meanwhile. The input folder must be there. Nothing is made for a job that is not
    /// confined.
    ///
    /// # Errors
    /// When the launcher cannot be started.
    pub fn begin(&self, job: &Job) -> Result<Begun, SandboxError> {
        let launched = if job.unconfined { None } else { Some(self.launch(job)?) };
        Ok(Begun { sandbox: self.clone(), job: job.clone(), launched })
    }

    fn launch(&self, job: &Job) -> Result<Launched, SandboxError> {
        let (line, theirs) = wire::line().map_err(SandboxError::Launcher)?;
        let child = Command::new(&self.launcher)
            .args([VERB, "outer"])
            .env_clear()
            .current_dir("/")
            // A signal of the terminal is for the host, which stops in order.
            .process_group(0)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(SandboxError::Launcher)?;
        let mut launched = Launched { child, line, greeted: None };
        let (process, line) = (launched.child.id(), launched.line.try_clone().map_err(SandboxError::Launcher)?);
        let spec = Go::Make(Box::new(self.spec(job, is_root().then_some(NOBODY))));
        // The launcher lives as long as the thread that started it, so only the talk is another one's.
        launched.greeted = Some(std::thread::spawn(move || greet(process, &line, &spec)));
        Ok(launched)
    }

    fn confined(&self, mut launched: Launched, job: &Job) -> Result<Finished, SandboxError> {
        let stdout = launched.child.stdout.take().expect("stdout was asked for as a pipe");
        let stderr = launched.child.stderr.take().expect("stderr was asked for as a pipe");
        let (stdout, stderr) = (stream::head(stdout, job.bounds.stdout_bytes), stream::tail(stderr, STDERR_BYTES));
        let came = launched.greeted().and_then(|()| self.converse(&launched.line, job));
        // What the program started has the other ends of the pipes: they close with the last of it.
        launched.end();
        let (stdout, stdout_cut) = stdout.join().unwrap_or_default();
        let stderr = stderr.join().unwrap_or_default();
        let Came { end, usage, output, proxy } = came?;
        let attempts = proxy.map(Proxy::stop).unwrap_or_default();
        Ok(Finished { end, usage, stdout, stdout_cut, stderr, output: Output::Held(output), attempts })
    }

    fn converse(&self, line: &OwnedFd, job: &Job) -> Result<Came, SandboxError> {
        let mut give_up = Instant::now() + GRACE;
        let (mut output, mut proxy) = (None, None);
        loop {
            let (told, files) = hear(line, give_up)?;
            match told {
                Told::Ready => {
                    let mut files = files.into_iter();
                    output = files.next();
                    if let (Some(listener), Some(rules)) = (files.next(), &job.egress) {
                        proxy = Some(Proxy::start(listener.into(), rules.clone()).map_err(SandboxError::Launcher)?);
                    }
                    wire::send(line, &Go::Start, &[]).map_err(SandboxError::Launcher)?;
                    give_up = Instant::now() + job.bounds.wall + GRACE;
                }
                Told::Ended { end, usage } => {
                    let output = output.ok_or(SandboxError::Silent)?;
                    return Ok(Came { end, usage, output, proxy });
                }
                Told::NoProgram { error } => {
                    return Err(SandboxError::NoProgram { program: job.program.clone(), reason: error });
                }
                other => return Err(refusal(other)),
            }
        }
    }

    fn spec(&self, job: &Job, user: Option<u32>) -> Spec {
        Spec {
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
            bounds: job.bounds,
        }
    }
}

struct Came {
    end: End,
    usage: Usage,
    output: OwnedFd,
    proxy: Option<Proxy>,
}

/// A sandbox whose program is still to be started. Dropped instead, it leaves nothing behind.
#[derive(Debug)]
pub struct Begun {
    sandbox: Sandbox,
    job: Job,
    launched: Option<Launched>,
}

impl Begun {
    /// Runs its job to its end, as [`Sandbox::run`].
    ///
    /// # Errors
    /// As [`Sandbox::run`].
    pub fn run(self) -> Result<Finished, SandboxError> {
        match self.launched {
            Some(launched) => self.sandbox.confined(launched, &self.job),
            None => direct::run(&self.sandbox.folder, &self.sandbox.going, &self.job),
        }
    }
}

/// A launcher that does not outlive its run, whatever happens.
#[derive(Debug)]
struct Launched {
    child: Child,
    /// What is said to it and heard of it.
    line: OwnedFd,
    /// Whoever brings it so far that it knows its job.
    greeted: Option<JoinHandle<Result<(), SandboxError>>>,
}

impl Launched {
    fn greeted(&mut self) -> Result<(), SandboxError> {
        self.greeted.take().map_or(Ok(()), |greeted| greeted.join().unwrap_or(Err(SandboxError::Silent)))
    }

    fn end(&mut self) {
        // The inner part dies with the outer one, and with it everything in its process namespace.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.end();
    }
}

/// Brings a launcher to where it makes the sandbox of its job.
fn greet(process: u32, line: &OwnedFd, spec: &Go) -> Result<(), SandboxError> {
    match hear(line, Instant::now() + GRACE)? {
        (Told::Unshared, _) if is_root() => map_users(process)?,
        (Told::Unshared, _) => {}
        (other, _) => return Err(refusal(other)),
    }
    wire::send(line, &Go::Mapped, &[]).map_err(SandboxError::Launcher)?;
    // It lies there until the inner part reads it.
    wire::send(line, spec, &[]).map_err(SandboxError::Launcher)
}

fn hear(line: &OwnedFd, give_up: Instant) -> Result<(Told, Vec<OwnedFd>), SandboxError> {
    loop {
        let left = give_up.saturating_duration_since(Instant::now());
        if wire::readable(line, left).map_err(SandboxError::Launcher)? {
            break;
        }
        if left.is_zero() {
            return Err(SandboxError::Silent);
        }
    }
    wire::receive(line).map_err(SandboxError::Launcher)?.ok_or(SandboxError::Silent)
}

/// What the launcher said instead of what it should have.
fn refusal(told: Told) -> SandboxError {
    match told {
        Told::Lacks { what } => SandboxError::Lacks { what },
        Told::Failed { act, error } => SandboxError::Failed { act, error },
        _ => SandboxError::Silent,
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Root inside stays root, to read what root may and to give the rest away; the program becomes nobody.
fn map_users(process: u32) -> Result<(), SandboxError> {
    for file in ["uid_map", "gid_map"] {
        let written = std::fs::write(format!("/proc/{process}/{file}"), format!("0 0 1\n{NOBODY} {NOBODY} 1\n"));
        written.map_err(|error| SandboxError::Lacks {
            what: format!("the users of a user namespace cannot be set, though this is root ({file}: {error})"),
        })?;
    }
    Ok(())
}
