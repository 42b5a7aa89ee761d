//! Probing: the undisturbed run first, then one run for each fault.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use switchboard_kernel::operator::Operator;
use tokio::runtime::{Builder, Runtime};

use crate::case::{Case, Step};
use crate::ended::Ended;
use crate::fault::{Class, Fault};
use crate::report::{Failure, Report};
use crate::run::{Factory, Stage, run};
use crate::schedule::schedule;
use crate::world::World;

/// On how many threads runs are made at most.
pub const MAX_THREADS: usize = 8;
/// The variable that makes a test run one fault alone: what a failure of a test tells to type.
pub const REPLAY_VARIABLE: &str = "SWITCHBOARD_PROBE_FAULT";

/// Under these an operator may not see every state on the way, and then does not tell of it.
const BLIND: [Class; 3] = [Class::Stale, Class::Missed, Class::Merged];

type Progress = dyn Fn(usize, usize) + Send + Sync;

/// An operator, a beginning, a script, and which faults to try.
pub struct Probe {
    factory: Box<Factory>,
    case: Case,
    file: Option<PathBuf>,
    only: Option<Vec<Fault>>,
    without: Vec<Class>,
    threads: usize,
    progress: Box<Progress>,
}

impl Probe {
    /// Of an operator; `factory` makes one without memory, as a new process does.
    pub fn of(factory: impl Fn() -> Arc<dyn Operator> + Send + Sync + 'static) -> Self {
        Self::of_all(move || vec![factory()])
    }

    /// Of operators that work together in one process.
    pub fn of_all(factory: impl Fn() -> Vec<Arc<dyn Operator>> + Send + Sync + 'static) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS));
        Self {
            factory: Box::new(factory),
            case: Case::default(),
            file: None,
            only: None,
            without: Vec::new(),
            threads,
            progress: Box::new(|_, _| {}),
        }
    }

    /// What there is before the operator starts.
    #[must_use]
    pub fn given(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        self.case.given = objects.into_iter().collect();
        self
    }

    /// What a user then does.
    #[must_use]
    pub fn script(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.case.script = steps.into_iter().collect();
        self
    }

    /// Both, as a case has them.
    #[must_use]
    pub fn case(mut self, case: Case) -> Self {
        self.case = case;
        self
    }

    /// The file the case was read from, for the command that replays a failure.
    #[must_use]
    pub fn read_from(mut self, file: &Path) -> Self {
        self.file = Some(file.to_path_buf());
        self
    }

    /// Only these faults, instead of the whole schedule.
    #[must_use]
    pub fn only(mut self, faults: impl IntoIterator<Item = Fault>) -> Self {
        self.only = Some(faults.into_iter().collect());
        self
    }

    /// No faults of these classes.
    #[must_use]
    pub fn without(mut self, classes: impl IntoIterator<Item = Class>) -> Self {
        self.without = classes.into_iter().collect();
        self
    }

    /// On so many threads, at most [`MAX_THREADS`].
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.clamp(1, MAX_THREADS);
        self
    }

    /// Is told after each run how many are done, and of how many.
    #[must_use]
    pub fn on_progress(mut self, progress: impl Fn(usize, usize) + Send + Sync + 'static) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Makes all runs. Blocks; inside a runtime, call it where blocking is allowed.
    ///
    /// # Panics
    /// When the system gives no thread or no event loop.
    pub fn run(&self) -> Report {
        // Runtimes may not be nested, so the runs have a thread of their own. It keeps the name, which is the test's.
        let name = std::thread::current().name().unwrap_or_default().to_string();
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name(name).spawn_scoped(scope, || self.probe());
            thread.expect("the system gives a thread").join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn probe(&self) -> Report {
        let names: Vec<String> = (self.factory)().iter().map(|operator| operator.name().to_string()).collect();
        let operator = names.join(" and ");
        let mut report = Report { operator, runs: 1, writes: 0, events: 0, failures: Vec::new() };
        let first = runtime().block_on(async {
            let beginning = World::beginning(&self.case).await.map_err(|trouble| trouble.to_string())?;
            let stage = Stage { factory: &self.factory, case: &self.case, beginning: &beginning };
            let undisturbed = run(&stage, &Fault::none()).await.map_err(|stuck| stuck.to_string())?;
            Ok((beginning, undisturbed))
        });
        let (beginning, undisturbed) = match first {
            Ok(first) => first,
            Err(what) => {
                report.failures.push(self.failure(&report.operator, Fault::none(), what));
                return report;
            }
        };
        (report.writes, report.events) = (undisturbed.writes, undisturbed.events);
        let stage = Stage { factory: &self.factory, case: &self.case, beginning: &beginning };
        let faults = self.faults(&undisturbed);
        report.runs += faults.len();
        let failed = self.all(&stage, &undisturbed, &faults);
        let failure = |(at, what): (usize, String)| self.failure(&report.operator, faults[at].clone(), what);
        report.failures = failed.into_iter().map(failure).collect();
        report
    }

    fn faults(&self, undisturbed: &Ended) -> Vec<Fault> {
        if let Some(fault) = std::env::var(REPLAY_VARIABLE).ok().and_then(|text| text.parse().ok()) {
            return vec![fault];
        }
        let mut faults = self.only.clone().unwrap_or_else(|| schedule(undisturbed.writes, undisturbed.events));
        faults.retain(|fault| !self.without.iter().any(|class| fault.is(*class)));
        faults
    }

    /// The numbers of the faults that were not borne, in order, with what happened.
    fn all(&self, stage: &Stage<'_>, undisturbed: &Ended, faults: &[Fault]) -> Vec<(usize, String)> {
        let (next, done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            let runtime = runtime();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(fault) = faults.get(at) else { break };
                let what = match runtime.block_on(run(stage, fault)) {
                    Ok(ended) => ended.differs_from(undisturbed, !BLIND.iter().any(|class| fault.is(*class))),
                    Err(stuck) => Some(stuck.to_string()),
                };
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.extend(what.map(|what| (at, what)));
                drop(failed);
                (self.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, faults.len());
            }
        };
        std::thread::scope(|scope| (0..self.threads.min(faults.len())).for_each(|_| drop(scope.spawn(work))));
        let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.sort();
        failed
    }

    fn failure(&self, operator: &str, fault: Fault, what: String) -> Failure {
        let replay = match &self.file {
            Some(file) => format!("switchboard probe {operator} --case {} --fault '{fault}'", quoted(file)),
            None => {
                let test = std::thread::current().name().map(str::to_string).unwrap_or_default();
                format!("{REPLAY_VARIABLE}='{fault}' cargo test {test}").trim_end().to_string()
            }
        };
        Failure { fault, what, replay }
    }
}

/// As a shell takes it for one word.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("the system gives an event loop")
}
