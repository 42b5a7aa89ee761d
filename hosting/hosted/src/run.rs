//! One run of a program: updates the input folder, runs the command in its sandbox, and reads the output folder.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use switchboard_gather::contract::ContractRules;
use switchboard_gather::discovery::Discovery;
use switchboard_gather::input::{InputFolder, InputFormat};
use switchboard_gather::mutation::{OutputCluster, read_files};
use switchboard_object::causes::error_chain;
use switchboard_sandbox::{INPUT, JobOutcome, OUTPUT, PreparedSandbox, ProgramEnd, Sandbox, SandboxJob, SandboxLimits};

use crate::contract::{redacted, stderr_tail};
use crate::declaration::ContractKinds;
use crate::events::EventCorrelator;
use crate::hosted_operator::{HostingError, ProgramSpec};
use crate::inputs::RunInputs;
use crate::known_errors;
use crate::run_result::{ProgramWrite, RunResult};

/// File that is written last. If it is missing, the run is incomplete.
const RESULTS: &str = "controller-results.yaml";
/// Maximum number of output files; a mutation has three.
const MAX_OUTPUT_FILES: usize = 30_000;

/// Runs the commands of a program, one at a time.
pub(crate) struct ProgramRunner {
    sandbox: Sandbox,
    program: ProgramSpec,
    folder: Mutex<InputFolder>,
    /// Discovery passed to the program.
    discovery: Mutex<Discovery>,
    limits: Mutex<SandboxLimits>,
    /// Events of earlier runs.
    correlator: Mutex<EventCorrelator>,
    /// Whether a known error was logged.
    warned: AtomicBool,
}

/// Time of a run, and whether it is a dry run.
#[derive(Clone, Copy)]
pub(crate) struct RunTime<'a> {
    /// Time passed to the program.
    pub now: &'a str,
    /// Whether the run is a dry run.
    pub dry_run: bool,
}

impl ProgramRunner {
    pub fn new(
        program: ProgramSpec,
        sandbox: Sandbox,
        work: &Path,
        discovery: Discovery,
    ) -> Result<Self, HostingError> {
        let input = work.join("input");
        let failed = |error| HostingError::Folder(input.clone(), error);
        // Files of an earlier process are not trusted, and may belong to another user.
        match std::fs::remove_dir_all(&input) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => std::fs::create_dir_all(&input).map_err(failed)?,
        }
        let folder = Mutex::new(InputFolder::new(&input, InputFormat::Json, ContractRules::Native));
        let limits = Mutex::new(program.limits);
        Ok(Self {
            sandbox,
            program,
            folder,
            discovery: Mutex::new(discovery),
            limits,
            correlator: Mutex::default(),
            warned: AtomicBool::new(false),
        })
    }

    /// Replaces the discovery from the next run on.
    pub fn set_discovery(&self, discovery: Discovery) {
        *locked(&self.discovery) = discovery;
    }

    /// Stops a run that would outlive this process.
    pub fn stop(&self) {
        self.sandbox.stop();
    }

    /// Changes the limits from the next run on.
    pub fn update_limits(&self, change: impl FnOnce(SandboxLimits) -> SandboxLimits) {
        let mut limits = locked(&self.limits);
        *limits = change(*limits);
    }

    /// Updates the input folder and runs `apply-configuration`.
    ///
    /// # Errors
    /// The reason why the run has no result.
    pub fn offline(&self, inputs: &RunInputs, kinds: &ContractKinds, when: RunTime<'_>) -> Result<RunResult, String> {
        let command = "apply-configuration";
        // The sandbox is created in parallel with writing the input.
        let sandbox = self.sandbox.prepare(&self.job(command, when.now)).map_err(|error| error_chain(&error))?;
        let mut folder = locked(&self.folder);
        let written = folder.write(&inputs.objects(kinds), Some(&locked(&self.discovery)));
        let written = written.map_err(|error| error_chain(&error))?;
        if written.written > 0 {
            make_readable(&self.program.input())
                .map_err(|error| format!("could not make its input readable: {error}"))?;
        }
        tracing::debug!(operator = %self.program.name, written = written.written, unchanged = written.unchanged, "input");
        self.run(sandbox, command, when)
    }

    /// Runs `apply-configuration-live` with the input of the preceding offline command.
    ///
    /// # Errors
    /// Same as [`ProgramRunner::offline`].
    pub fn live(
        &self,
        kubeconfig: String,
        egress: switchboard_sandbox::egress::EgressRules,
        when: RunTime<'_>,
    ) -> Result<RunResult, String> {
        let _unchanged = locked(&self.folder);
        let command = "apply-configuration-live";
        let mut job = self.job(command, when.now);
        job.arguments.push(format!("--kubeconfig={}", switchboard_sandbox::KUBECONFIG));
        job.kubeconfig = Some(kubeconfig);
        job.egress = Some(std::sync::Arc::new(egress));
        self.run(self.sandbox.prepare(&job).map_err(|error| error_chain(&error))?, command, when)
    }

    fn job(&self, command: &str, now: &str) -> SandboxJob {
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
        job.limits = *locked(&self.limits);
        job
    }

    fn run(&self, sandbox: PreparedSandbox, command: &str, when: RunTime<'_>) -> Result<RunResult, String> {
        let finished = sandbox.run().map_err(|error| error_chain(&error))?;
        let mut answer =
            self.interpret(&finished).map_err(|why| redacted(&self.program, &format!("{command} {why}")))?;
        if let Some(limit) = known_errors::find(&answer)
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(operator = %self.program.name, "{limit}");
        }
        answer.mutations = self.correlated(answer.mutations, when);
        Ok(answer)
    }

    /// Correlates the Events of a run, and remembers them unless it is a dry run.
    fn correlated(&self, wanted: Vec<ProgramWrite>, when: RunTime<'_>) -> Vec<ProgramWrite> {
        let now = when.now.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_second).unwrap_or_default();
        let mut correlator = locked(&self.correlator);
        if when.dry_run { correlator.clone().correlate(wanted, now) } else { correlator.correlate(wanted, now) }
    }

    /// Returns the result of a run. An incomplete run has no result.
    fn interpret(&self, finished: &JobOutcome) -> Result<RunResult, String> {
        let end = finished.end;
        let void = |what: &str| Err(format!("{end}{what}: its writes are discarded{}", stderr_tail(finished)));
        if finished.usage.disk_full {
            return void(&format!(", with its {} MiB of disk full", locked(&self.limits).disk_bytes >> 20));
        }
        if !end.is_exit() {
            return void(if matches!(end, ProgramEnd::Signalled(_)) { " half-way" } else { "" });
        }
        let most = locked(&self.limits).disk_bytes;
        let paths =
            finished.output.files(most).map_err(|error| format!("left an invalid output: {}", error_chain(&error)))?;
        if paths.len() > MAX_OUTPUT_FILES {
            return Err(format!("left {} files, and at most {MAX_OUTPUT_FILES} are allowed", paths.len()));
        }
        if !paths.iter().any(|path| path == Path::new(RESULTS)) {
            return void(&format!(" without {RESULTS}"));
        }
        let root = finished.output.path();
        let mut files = BTreeMap::new();
        for path in paths {
            let content = std::fs::read(root.join(&path));
            let content = content.map_err(|error| format!("could not read its output {}: {error}", path.display()))?;
            files.insert(path.display().to_string(), content);
        }
        let directory = read_files(&files, None);
        let Some(results) = directory.results else {
            let why = directory.problems.first().map(|one| one.message.clone()).unwrap_or_default();
            return Err(format!("could not read its {RESULTS}: {why}"));
        };
        // The results must contain every controller, including skipped ones.
        if results.controller_results.is_empty() {
            return void(&format!(" with a {RESULTS} without controllers"));
        }
        let said = results.failures().next().is_some();
        let unspecified = directory.mutations.iter().any(|mutation| mutation.cluster == OutputCluster::Unspecified);
        if end != ProgramEnd::Exited(0) && !said && !unspecified {
            return void(", although every controller reports success");
        }
        let mut problems: Vec<String> =
            directory.problems.iter().map(|one| format!("{}: {}", one.file, one.message)).collect();
        let mut mutations = Vec::new();
        for mutation in &directory.mutations {
            match ProgramWrite::of(mutation) {
                Ok(wanted) => mutations.push(wanted),
                Err(problem) => problems.push(problem),
            }
        }
        Ok(RunResult {
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

/// Makes the input readable for all users, regardless of the umask, because the program may run as another user. The
/// parent folder is private.
fn make_readable(folder: &Path) -> std::io::Result<()> {
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
        if entry.file_type()?.is_dir() { make_readable(&entry.path())? } else { open(&entry.path(), 0o644)? }
    }
    Ok(())
}
