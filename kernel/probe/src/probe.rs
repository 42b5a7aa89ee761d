//! Probe: an undisturbed run, then one run for each fault.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use switchboard_cluster::Cluster;
use switchboard_kernel::limits::TIMEOUT;
use switchboard_kernel::operator::Operator;
use switchboard_kernel::row::RowWrite;
use switchboard_kernel::store::MemoryRowStore;
use tokio::runtime::{Builder, Runtime};

use crate::case::{ProbeCase, ScriptStep};
use crate::fault::{Fault, FaultClass};
use crate::final_state::FinalState;
use crate::report::{ProbeFailure, ProbeReport};
use crate::run::{OperatorFactory, RunSetup, run};
use crate::run_cluster::RunCluster;
use crate::schedule::{row_schedule, schedule};
use crate::watchdog::{HungOperator, Watchdog, receive};

/// Maximum number of threads.
pub const MAX_THREADS: usize = 8;
/// Default timeout of a decision in real time, as in the kernel.
pub const DECIDE_TIMEOUT: Duration = TIMEOUT;
/// Environment variable that limits a test to one fault; a failed test prints it. An invalid value fails the test.
pub const REPLAY_VARIABLE: &str = "SWITCHBOARD_PROBE_FAULT";

/// Fault classes with which an operator may miss intermediate states, and so write no Event for them.
const MISSES_STATES: [FaultClass; 3] = [FaultClass::Stale, FaultClass::Missed, FaultClass::Merged];

type ProgressCallback = dyn Fn(usize, usize) + Send + Sync;

/// Probe of an operator: its initial objects, its script, and the faults to inject.
pub struct Probe {
    factory: Arc<OperatorFactory>,
    case: Arc<ProbeCase>,
    rows: Option<MemoryRowStore>,
    file: Option<PathBuf>,
    /// Name of the test that runs the probe, if known.
    test: Option<String>,
    only: Option<Vec<Fault>>,
    without: Vec<FaultClass>,
    threads: usize,
    decide_timeout: Duration,
    progress: Arc<ProgressCallback>,
}

/// State shared by all threads.
struct SharedState {
    factory: Arc<OperatorFactory>,
    case: Arc<ProbeCase>,
    initial_state: Cluster,
    initial_rows: Option<MemoryRowStore>,
    undisturbed: FinalState,
    faults: Vec<Fault>,
    next: AtomicUsize,
    /// Number of finished runs.
    finished: Mutex<usize>,
    progress: Arc<ProgressCallback>,
}

/// Number of a run's fault, with the problem if the run failed.
type RunVerdict = (usize, Option<String>);

impl Probe {
    /// Creates a probe of one operator. `factory` creates the operator without memory, as a new process does.
    pub fn of(factory: impl Fn() -> Arc<dyn Operator> + Send + Sync + 'static) -> Self {
        Self::of_all(move || vec![factory()])
    }

    /// Creates a probe of several operators in one process.
    pub fn of_all(factory: impl Fn() -> Vec<Arc<dyn Operator>> + Send + Sync + 'static) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS));
        Self {
            factory: Arc::new(factory),
            case: Arc::default(),
            rows: None,
            file: None,
            test: std::thread::current().name().and_then(test_name).map(str::to_string),
            only: None,
            without: Vec::new(),
            threads,
            decide_timeout: DECIDE_TIMEOUT,
            progress: Arc::new(|_, _| {}),
        }
    }

    /// Sets the objects that exist before the operator starts.
    #[must_use]
    pub fn given(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        Arc::make_mut(&mut self.case).given = objects.into_iter().collect();
        self
    }

    /// Sets the steps of the user.
    #[must_use]
    pub fn script(mut self, steps: impl IntoIterator<Item = ScriptStep>) -> Self {
        Arc::make_mut(&mut self.case).script = steps.into_iter().collect();
        self
    }

    /// Sets the rows that exist before the operator starts.
    #[must_use]
    pub fn given_rows(self, rows: &MemoryRowStore) -> Self {
        Self { rows: Some(rows.copy()), ..self }
    }

    /// Lets another program commit rows after that number of steps.
    #[must_use]
    pub fn commit_after(mut self, steps: usize, writes: impl IntoIterator<Item = RowWrite>) -> Self {
        Arc::make_mut(&mut self.case).commits.push((steps, writes.into_iter().collect()));
        self
    }

    /// Sets initial objects and steps from a case.
    #[must_use]
    pub fn case(mut self, case: ProbeCase) -> Self {
        self.case = Arc::new(case);
        self
    }

    /// Sets the file of the case, for the command that replays a failure.
    #[must_use]
    pub fn read_from(mut self, file: &Path) -> Self {
        self.file = Some(file.to_path_buf());
        self
    }

    /// Limits the probe to these faults.
    #[must_use]
    pub fn only(mut self, faults: impl IntoIterator<Item = Fault>) -> Self {
        self.only = Some(faults.into_iter().collect());
        self
    }

    /// Excludes faults of these classes.
    #[must_use]
    pub fn without(mut self, classes: impl IntoIterator<Item = FaultClass>) -> Self {
        self.without = classes.into_iter().collect();
        self
    }

    /// Sets the number of threads, at most [`MAX_THREADS`].
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.clamp(1, MAX_THREADS);
        self
    }

    /// Sets the timeout of a decision in real time. An operator that exceeds it is reported as hung, and the probe
    /// ends.
    #[must_use]
    pub fn decide_timeout(mut self, patience: Duration) -> Self {
        self.decide_timeout = patience;
        self
    }

    /// Sets a callback for progress, called after each run with the number of finished runs and of all runs. The next
    /// run of a thread starts after the callback has returned.
    #[must_use]
    pub fn on_progress(mut self, progress: impl Fn(usize, usize) + Send + Sync + 'static) -> Self {
        self.progress = Arc::new(progress);
        self
    }

    /// Runs the probe. The call blocks; inside a runtime, use a context where blocking is allowed. If an operator
    /// hangs, the probe ends and leaves its thread behind, because a thread cannot be stopped from outside.
    ///
    /// # Panics
    /// When the system provides no thread or no event loop.
    pub fn run(&self) -> ProbeReport {
        let names: Vec<String> = (self.factory)().iter().map(|operator| operator.name().to_string()).collect();
        let operator = names.join(" and ");
        let mut report = ProbeReport { operator, runs: 1, writes: 0, events: 0, failures: Vec::new() };
        let replayed = match fault_from_variable(std::env::var_os(REPLAY_VARIABLE)) {
            Ok(replayed) => replayed,
            Err(what) => {
                let failure = self.failure(&report.operator, Fault::none(), what);
                return ProbeReport { runs: 0, failures: vec![failure], ..report };
            }
        };
        let (beginning, undisturbed) = match self.run_undisturbed() {
            Ok(first) => first,
            Err(what) => {
                report.failures.push(self.failure(&report.operator, Fault::none(), what));
                return report;
            }
        };
        (report.writes, report.events) = (undisturbed.writes, undisturbed.events);
        let faults = replayed.map_or_else(|| self.faults(&undisturbed), |fault| vec![fault]);
        let (factory, case) = (self.factory.clone(), self.case.clone());
        let shared = Arc::new(SharedState {
            factory,
            case,
            initial_state: beginning,
            initial_rows: self.rows.clone(),
            undisturbed,
            faults,
            next: AtomicUsize::default(),
            finished: Mutex::default(),
            progress: self.progress.clone(),
        });
        let (made, failed) = self.run_faults(&shared);
        report.runs += made;
        let failure = |(at, what): (usize, String)| self.failure(&report.operator, shared.faults[at].clone(), what);
        report.failures = failed.into_iter().map(failure).collect();
        report
    }

    /// Creates the initial state of all runs, and makes the undisturbed run.
    fn run_undisturbed(&self) -> Result<(Cluster, FinalState), String> {
        let (factory, case, watchdog) = (self.factory.clone(), self.case.clone(), Arc::new(Watchdog::default()));
        let (sender, receiver) = mpsc::channel();
        let (own, rows) = (watchdog.clone(), self.rows.clone());
        // Runtimes cannot be nested, so the runs have threads of their own.
        let thread = std::thread::spawn(move || {
            let first = runtime().block_on(async {
                let beginning = RunCluster::initial_state(&case).await.map_err(|error| error.to_string())?;
                let setup = RunSetup {
                    factory: &*factory,
                    case: &case,
                    initial_state: &beginning,
                    initial_rows: rows.as_ref(),
                    watchdog: &own,
                };
                let undisturbed = run(&setup, &Fault::none()).await.map_err(|failure| failure.to_string())?;
                Ok((beginning, undisturbed))
            });
            // After a timeout the receiver is dropped.
            let _ = sender.send(first);
        });
        match receive(&receiver, &[watchdog], self.decide_timeout) {
            Ok(Some(first)) => first,
            Ok(None) => Err(join_run(thread)),
            Err(hung) => Err(self.hung_message(&hung)),
        }
    }

    fn faults(&self, undisturbed: &FinalState) -> Vec<Fault> {
        let of_rows = || row_schedule(undisturbed.row_counts.sent, undisturbed.row_counts.made);
        let all = || [schedule(undisturbed.writes, undisturbed.events), of_rows()].concat();
        let mut faults = self.only.clone().unwrap_or_else(all);
        faults.retain(|fault| !self.without.iter().any(|class| fault.has_class(*class)));
        faults
    }

    /// Makes one run for each fault, and returns their number, and the failed faults in order with their problems.
    fn run_faults(&self, shared: &Arc<SharedState>) -> (usize, Vec<(usize, String)>) {
        let (sender, receiver) = mpsc::channel();
        let pulses: Vec<Arc<Watchdog>> = (0..self.threads.min(shared.faults.len())).map(|_| Arc::default()).collect();
        let work = |watchdog: &Arc<Watchdog>| {
            let (shared, watchdog, sender) = (shared.clone(), watchdog.clone(), sender.clone());
            std::thread::spawn(move || shared.work(&watchdog, &sender))
        };
        let threads: Vec<JoinHandle<()>> = pulses.iter().map(work).collect();
        drop(sender);
        let (mut made, mut failed) = (0, Vec::new());
        loop {
            match receive(&receiver, &pulses, self.decide_timeout) {
                Ok(Some((at, what))) => {
                    failed.extend(what.map(|what| (at, what)));
                    made += 1;
                }
                Ok(None) => {
                    threads.into_iter().for_each(|thread| drop(join_run(thread)));
                    break;
                }
                Err(hung) => {
                    shared.next.store(shared.faults.len(), Ordering::Relaxed);
                    made += 1;
                    let left = shared.faults.len() - made;
                    failed.push((hung.at, format!("{}; {left} runs were skipped", self.hung_message(&hung))));
                    break;
                }
            }
        }
        failed.sort();
        (made, failed)
    }

    fn hung_message(&self, hung: &HungOperator) -> String {
        format!("hangs: {} did not decide within {:?}", hung.unit, self.decide_timeout)
    }

    fn failure(&self, operator: &str, fault: Fault, problem: String) -> ProbeFailure {
        let replay = match &self.file {
            Some(file) => format!("switchboard fault-test {operator} --case {} --fault '{fault}'", shell_quote(file)),
            // Without a test name all tests are run, including this one.
            None => {
                let test = self.test.as_deref().unwrap_or_default();
                format!("{REPLAY_VARIABLE}='{fault}' cargo test {test}").trim_end().to_string()
            }
        };
        ProbeFailure { fault, problem, replay }
    }
}

impl SharedState {
    /// Calls the callback before this thread starts another run, so that a single thread's runs never overlap it.
    fn report_progress(&self) {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        *finished += 1;
        (self.progress)(*finished, self.faults.len());
    }

    /// Makes runs until there are no more faults.
    fn work(&self, watchdog: &Watchdog, sender: &mpsc::Sender<RunVerdict>) {
        let runtime = runtime();
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(fault) = self.faults.get(at) else { break };
            watchdog.set_fault(at);
            let setup = RunSetup {
                factory: &*self.factory,
                case: &self.case,
                initial_state: &self.initial_state,
                initial_rows: self.initial_rows.as_ref(),
                watchdog,
            };
            let all_seen = !MISSES_STATES.iter().any(|class| fault.has_class(*class));
            let what = match runtime.block_on(run(&setup, fault)) {
                Ok(ended) => ended.differs_from(&self.undisturbed, all_seen),
                Err(failure) => Some(failure.to_string()),
            };
            self.report_progress();
            if sender.send((at, what)).is_err() {
                break;
            }
        }
    }
}

/// Propagates the panic of a probe thread, which is no finding about the operator.
fn join_run(thread: JoinHandle<()>) -> String {
    match thread.join() {
        Ok(()) => "the run ended without a result".to_string(),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Returns the fault to replay, if the variable is set.
fn fault_from_variable(variable: Option<OsString>) -> Result<Option<Fault>, String> {
    let Some(text) = variable.filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.to_string_lossy();
    let fault = text.parse::<Fault>().map_err(|error| format!("invalid {REPLAY_VARIABLE}: {error}"))?;
    Ok(Some(fault))
}

/// Returns the test name of a thread. Tests run on threads with their names, unless they run sequentially or another
/// library started the thread: filtering by such a name would run no test and succeed.
fn test_name(thread: &str) -> Option<&str> {
    let word = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    Some(thread).filter(|name| *name != "main" && name.split("::").all(word))
}

/// Quotes a path as one shell word.
fn shell_quote(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("the system gives an event loop")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_threads_of_tests_are_named_in_a_command() {
        assert_eq!(test_name("probe::tests::bears_crashes"), Some("probe::tests::bears_crashes"));
        for other in ["main", "tokio-runtime-worker", "my thread", "", "a::", "3"] {
            assert_eq!(test_name(other), None, "{other}");
        }
    }

    #[test]
    fn an_invalid_fault_variable_is_refused() {
        assert_eq!(fault_from_variable(None), Ok(None));
        assert_eq!(fault_from_variable(Some("".into())), Ok(None));
        assert_eq!(fault_from_variable(Some("crash-after-write:3".into())).map(|fault| fault.is_some()), Ok(true));
        let refused = fault_from_variable(Some("crsh-after-write:3".into())).err().unwrap_or_default();
        assert!(refused.starts_with("invalid SWITCHBOARD_PROBE_FAULT: "), "{refused}");
    }
}
