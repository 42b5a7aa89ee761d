//! One run of a program: the input folder brought up to date, the command in its sandbox, the output folder read.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use switchboard_gather::contract::Rules;
use switchboard_gather::discovery::Discovery;
use switchboard_gather::input::{Form, InputFolder};
use switchboard_gather::mutation::{Place, read_files};
use switchboard_sandbox::{Begun, Bounds, End, Finished, INPUT, Job, OUTPUT, Sandbox};

use crate::answer::{Answer, Wanted};
use crate::contract::{hushed, last_words};
use crate::declare::Kinds;
use crate::events::Correlator;
use crate::guest::{GuestError, Program};
use crate::inputs::Inputs;
use crate::telltale;

/// The last that a run writes. Where it is missing, the run was cut short.
const RESULTS: &str = "controller-results.yaml";
/// How many files an output may hold, three for a mutation.
const MAX_OUTPUT_FILES: usize = 30_000;

/// Runs the commands of one program, one at a time.
pub(crate) struct Runner {
    sandbox: Sandbox,
    program: Program,
    folder: Mutex<InputFolder>,
    /// What it is told that the clusters serve.
    discovery: Mutex<Discovery>,
    bounds: Mutex<Bounds>,
    /// What it has told in Events.
    told: Mutex<Correlator>,
    /// Whether it was said what its library cannot do.
    warned: AtomicBool,
}

/// When a run is, and whether it counts.
#[derive(Clone, Copy)]
pub(crate) struct When<'a> {
    /// What the program is told.
    pub now: &'a str,
    /// Nothing of it will be written.
    pub pretending: bool,
}

impl Runner {
    pub fn new(program: Program, sandbox: Sandbox, work: &Path, discovery: Discovery) -> Result<Self, GuestError> {
        let input = work.join("input");
        let failed = |error| GuestError::Folder(input.clone(), error);
        // What an earlier process left is not trusted, and may be of another user.
        match std::fs::remove_dir_all(&input) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => std::fs::create_dir_all(&input).map_err(failed)?,
        }
        let folder = Mutex::new(InputFolder::new(&input, Form::Json, Rules::Native));
        let bounds = Mutex::new(program.bounds);
        Ok(Self {
            sandbox,
            program,
            folder,
            discovery: Mutex::new(discovery),
            bounds,
            told: Mutex::default(),
            warned: AtomicBool::new(false),
        })
    }

    /// From the next run on the program is told that this is served.
    pub fn tell(&self, discovery: Discovery) {
        *locked(&self.discovery) = discovery;
    }

    /// Ends what is under way and would not end with this process.
    pub fn end(&self) {
        self.sandbox.end();
    }

    /// From the next run on other bounds hold.
    pub fn bound(&self, change: impl FnOnce(Bounds) -> Bounds) {
        let mut bounds = locked(&self.bounds);
        *bounds = change(*bounds);
    }

    /// Begins to make the sandbox of `apply-configuration`: its input is read and written meanwhile.
    ///
    /// # Errors
    /// Why none can be made.
    pub fn begin(&self, now: &str) -> Result<Begun, String> {
        self.sandbox.begin(&self.job("apply-configuration", now)).map_err(|error| told(&error))
    }

    /// Brings the input folder up to date and runs `apply-configuration`.
    ///
    /// # Errors
    /// Why nothing can be made of the run.
    pub fn offline(&self, begun: Begun, inputs: &Inputs, kinds: &Kinds, when: When<'_>) -> Result<Answer, String> {
        let mut folder = locked(&self.folder);
        let written = folder.write(&inputs.objects(kinds), Some(&locked(&self.discovery)));
        let written = written.map_err(|error| told(&error))?;
        if written.written > 0 {
            open_up(&self.program.input()).map_err(|error| format!("could not open its input to it: {error}"))?;
        }
        tracing::debug!(operator = %self.program.name, written = written.written, unchanged = written.unchanged, "input");
        self.run(begun, "apply-configuration", when)
    }

    /// Runs `apply-configuration-live` on the input of the offline command before it.
    ///
    /// # Errors
    /// As [`Runner::offline`].
    pub fn live(
        &self,
        kubeconfig: String,
        egress: switchboard_sandbox::egress::Rules,
        when: When<'_>,
    ) -> Result<Answer, String> {
        let _unchanged = locked(&self.folder);
        let command = "apply-configuration-live";
        let mut job = self.job(command, when.now);
        job.arguments.push(format!("--kubeconfig={}", switchboard_sandbox::KUBECONFIG));
        job.kubeconfig = Some(kubeconfig);
        job.egress = Some(std::sync::Arc::new(egress));
        self.run(self.sandbox.begin(&job).map_err(|error| told(&error))?, command, when)
    }

    fn job(&self, command: &str, now: &str) -> Job {
        let mut job = self.program.job(command);
        job.arguments.extend([
            format!("--input-dir={INPUT}"),
            format!("--output-dir={OUTPUT}"),
            format!("--now={now}"),
        ]);
        if !self.program.controllers.is_empty() {
            job.arguments.push(format!("--controllers={}", self.program.controllers.join(",")));
        }
        job.input = Some(self.program.input());
        job.bounds = *locked(&self.bounds);
        job
    }

    fn run(&self, begun: Begun, command: &str, when: When<'_>) -> Result<Answer, String> {
        let finished = begun.run().map_err(|error| told(&error))?;
        let mut answer =
            self.understood(&finished).map_err(|why| hushed(&self.program, &format!("{command} {why}")))?;
        if let Some(limit) = telltale::found(&answer)
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(operator = %self.program.name, "{limit}");
        }
        answer.mutations = self.correlated(answer.mutations, when);
        Ok(answer)
    }

    /// With its Events counted, and remembered unless nothing of it will be written.
    fn correlated(&self, wanted: Vec<Wanted>, when: When<'_>) -> Vec<Wanted> {
        let now = when.now.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_second).unwrap_or_default();
        let mut told = locked(&self.told);
        if when.pretending { told.clone().correlate(wanted, now) } else { told.correlate(wanted, now) }
    }

    /// What a run left. What was cut short left nothing that counts.
    fn understood(&self, finished: &Finished) -> Result<Answer, String> {
        let end = finished.end;
        let void = |what: &str| Err(format!("{end}{what}: nothing of it is written{}", last_words(finished)));
        if finished.usage.disk_full {
            return void(&format!(", with its {} MiB of disk full", locked(&self.bounds).disk_bytes >> 20));
        }
        if !end.is_orderly() {
            return void(if matches!(end, End::Signalled(_)) { " half-way" } else { "" });
        }
        let most = locked(&self.bounds).disk_bytes;
        let paths = finished.output.files(most).map_err(|error| format!("left an odd output: {}", told(&error)))?;
        if paths.len() > MAX_OUTPUT_FILES {
            return Err(format!("left {} files, which is too much", paths.len()));
        }
        if !paths.iter().any(|path| path == Path::new(RESULTS)) {
            return void(&format!(" without {RESULTS}"));
        }
        let root = finished.output.path();
        let mut files = BTreeMap::new();
        for path in paths {
            let content = std::fs::read(root.join(&path));
            let content = content.map_err(|error| format!("left {} that cannot be read: {error}", path.display()))?;
            files.insert(path.display().to_string(), content);
        }
        let directory = read_files(&files, None);
        let Some(results) = directory.results else {
            let why = directory.problems.first().map(|one| one.message.clone()).unwrap_or_default();
            return Err(format!("left a {RESULTS} that cannot be read: {why}"));
        };
        // Every controller is in it, those too that did not run.
        if results.controller_results.is_empty() {
            return void(&format!(" with a {RESULTS} of no controllers"));
        }
        let said = results.failures().next().is_some();
        let unspecified = directory.mutations.iter().any(|mutation| mutation.place == Place::Unspecified);
        if end != End::Exited(0) && !said && !unspecified {
            return void(", though every controller says that it succeeded");
        }
        let mut problems: Vec<String> =
            directory.problems.iter().map(|one| format!("{}: {}", one.file, one.message)).collect();
        let mut mutations = Vec::new();
        for mutation in &directory.mutations {
            match Wanted::of(mutation) {
                Ok(wanted) => mutations.push(wanted),
                Err(problem) => problems.push(problem),
            }
        }
        Ok(Answer {
            end,
            usage: finished.usage,
            results: results.controller_results,
            mutations,
            problems,
            attempts: finished.attempts.clone(),
        })
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Lets everybody read the input, whatever this user keeps from others by default: the program may be somebody else, and the
/// folder around it is closed.
fn open_up(folder: &Path) -> std::io::Result<()> {
    let open = |path: &Path, mode: u32| {
        let facts = std::fs::metadata(path)?;
        if facts.permissions().mode() & mode == mode {
            return Ok(());
        }
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
    };
    open(folder, 0o755)?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { open_up(&entry.path())? } else { open(&entry.path(), 0o644)? }
    }
    Ok(())
}

/// An error with its causes, on one line.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}
