//! Probing: the undisturbed run first, then one run for each fault.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use switchboard_cluster::Cluster;
use switchboard_kernel::limits::TIMEOUT;
use switchboard_kernel::operator::Operator;
use tokio::runtime::{Builder, Runtime};

use crate::case::{Case, Step};
use crate::ended::Ended;
use crate::fault::{Class, Fault};
use crate::pulse::{Hung, Pulse, heard};
use crate::report::{Failure, Report};
use crate::run::{Factory, Stage, run};
use crate::schedule::schedule;
use crate::world::World;

/// On how many threads runs are made at most.
pub const MAX_THREADS: usize = 8;
/// How long an operator may take to decide, by the real clock, when not told otherwise: as long as the kernel gives it.
pub const DECIDE_PATIENCE: Duration = TIMEOUT;
/// The variable that makes a test run one fault alone: what a failure of a test tells to type. One that is no fault fails.
pub const REPLAY_VARIABLE: &str = "SWITCHBOARD_PROBE_FAULT";

/// Under these an operator may not see every state on the way, and then does not tell of it.
const BLIND: [Class; 3] = [Class::Stale, Class::Missed, Class::Merged];

type Progress = dyn Fn(usize, usize) + Send + Sync;

/// An operator, a beginning, a script, and which faults to try.
pub struct Probe {
    factory: Arc<Factory>,
    case: Arc<Case>,
    file: Option<PathBuf>,
    /// The test it is made in, as far as that can be told.
    test: Option<String>,
    only: Option<Vec<Fault>>,
    without: Vec<Class>,
    threads: usize,
    patience: Duration,
    progress: Box<Progress>,
}

/// What all threads share.
struct Ground {
    factory: Arc<Factory>,
    case: Arc<Case>,
    beginning: Cluster,
    undisturbed: Ended,
    faults: Vec<Fault>,
    next: AtomicUsize,
}

/// A run that is over: the number of its fault, and what was wrong.
type Over = (usize, Option<String>);

impl Probe {
    /// Of an operator; `factory` makes one without memory, as a new process does.
    pub fn of(factory: impl Fn() -> Arc<dyn Operator> + Send + Sync + 'static) -> Self {
        Self::of_all(move || vec![factory()])
    }

    /// Of operators that work together in one process.
    pub fn of_all(factory: impl Fn() -> Vec<Arc<dyn Operator>> + Send + Sync + 'static) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS));
        Self {
            factory: Arc::new(factory),
            case: Arc::default(),
            file: None,
            test: std::thread::current().name().and_then(test_name).map(str::to_string),
            only: None,
            without: Vec::new(),
            threads,
            patience: DECIDE_PATIENCE,
            progress: Box::new(|_, _| {}),
        }
    }

    /// What there is before the operator starts.
    #[must_use]
    pub fn given(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        Arc::make_mut(&mut self.case).given = objects.into_iter().collect();
        self
    }

    /// What a user then does.
    #[must_use]
    pub fn script(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        Arc::make_mut(&mut self.case).script = steps.into_iter().collect();
        self
    }

    /// Both, as a case has them.
    #[must_use]
    pub fn case(mut self, case: Case) -> Self {
        self.case = Arc::new(case);
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

    /// An operator that decides for longer, by the real clock, is taken to hang: probing ends with that failure.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Is told after each run how many are done, and of how many.
    #[must_use]
    pub fn on_progress(mut self, progress: impl Fn(usize, usize) + Send + Sync + 'static) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Makes all runs. Blocks; inside a runtime, call it where blocking is allowed. An operator that hangs ends it, and leaves
    /// its thread behind: nobody can stop a thread from outside.
    ///
    /// # Panics
    /// When the system gives no thread or no event loop.
    pub fn run(&self) -> Report {
        let names: Vec<String> = (self.factory)().iter().map(|operator| operator.name().to_string()).collect();
        let operator = names.join(" and ");
        let mut report = Report { operator, runs: 1, writes: 0, events: 0, failures: Vec::new() };
        let replayed = match asked_for(std::env::var_os(REPLAY_VARIABLE)) {
            Ok(replayed) => replayed,
            Err(what) => {
                let failure = self.failure(&report.operator, Fault::none(), what);
                return Report { runs: 0, failures: vec![failure], ..report };
            }
        };
        let (beginning, undisturbed) = match self.first() {
            Ok(first) => first,
            Err(what) => {
                report.failures.push(self.failure(&report.operator, Fault::none(), what));
                return report;
            }
        };
        (report.writes, report.events) = (undisturbed.writes, undisturbed.events);
        let faults = replayed.map_or_else(|| self.faults(&undisturbed), |fault| vec![fault]);
        let (factory, case) = (self.factory.clone(), self.case.clone());
        let ground = Arc::new(Ground { factory, case, beginning, undisturbed, faults, next: AtomicUsize::default() });
        let (made, failed) = self.all(&ground);
        report.runs += made;
        let failure = |(at, what): (usize, String)| self.failure(&report.operator, ground.faults[at].clone(), what);
        report.failures = failed.into_iter().map(failure).collect();
        report
    }

    /// The state every run begins with, and the run that nothing disturbs.
    fn first(&self) -> Result<(Cluster, Ended), String> {
        let (factory, case, pulse) = (self.factory.clone(), self.case.clone(), Arc::new(Pulse::default()));
        let (tell, told) = mpsc::channel();
        let own = pulse.clone();
        // Runtimes may not be nested, so the runs have threads of their own.
        let thread = std::thread::spawn(move || {
            let first = runtime().block_on(async {
                let beginning = World::beginning(&case).await.map_err(|trouble| trouble.to_string())?;
                let stage = Stage { factory: &*factory, case: &case, beginning: &beginning, pulse: &own };
                let undisturbed = run(&stage, &Fault::none()).await.map_err(|stuck| stuck.to_string())?;
                Ok((beginning, undisturbed))
            });
            // Nobody listens when it took too long.
            let _ = tell.send(first);
        });
        match heard(&told, &[pulse], self.patience) {
            Ok(Some(first)) => first,
            Ok(None) => Err(ended(thread)),
            Err(hung) => Err(self.hangs(&hung)),
        }
    }

    fn faults(&self, undisturbed: &Ended) -> Vec<Fault> {
        let mut faults = self.only.clone().unwrap_or_else(|| schedule(undisturbed.writes, undisturbed.events));
        faults.retain(|fault| !self.without.iter().any(|class| fault.is(*class)));
        faults
    }

    /// How many runs were made, and the numbers of the faults that were not borne, in order, with what happened.
    fn all(&self, ground: &Arc<Ground>) -> (usize, Vec<(usize, String)>) {
        let (tell, told) = mpsc::channel();
        let pulses: Vec<Arc<Pulse>> = (0..self.threads.min(ground.faults.len())).map(|_| Arc::default()).collect();
        let work = |pulse: &Arc<Pulse>| {
            let (ground, pulse, tell) = (ground.clone(), pulse.clone(), tell.clone());
            std::thread::spawn(move || ground.work(&pulse, &tell))
        };
        let threads: Vec<JoinHandle<()>> = pulses.iter().map(work).collect();
        drop(tell);
        let (mut made, mut failed) = (0, Vec::new());
        loop {
            match heard(&told, &pulses, self.patience) {
                Ok(Some((at, what))) => {
                    failed.extend(what.map(|what| (at, what)));
                    made += 1;
                    (self.progress)(made, ground.faults.len());
                }
                Ok(None) => {
                    threads.into_iter().for_each(|thread| drop(ended(thread)));
                    break;
                }
                Err(hung) => {
                    ground.next.store(ground.faults.len(), Ordering::Relaxed);
                    made += 1;
                    let left = ground.faults.len() - made;
                    failed.push((hung.at, format!("{}; {left} runs were not made", self.hangs(&hung))));
                    break;
                }
            }
        }
        failed.sort();
        (made, failed)
    }

    fn hangs(&self, hung: &Hung) -> String {
        format!("hangs: {} did not decide within {:?}", hung.unit, self.patience)
    }

    fn failure(&self, operator: &str, fault: Fault, what: String) -> Failure {
        let replay = match &self.file {
            Some(file) => format!("switchboard probe {operator} --case {} --fault '{fault}'", quoted(file)),
            // Without its name all tests are run, and it among them.
            None => {
                let test = self.test.as_deref().unwrap_or_default();
                format!("{REPLAY_VARIABLE}='{fault}' cargo test {test}").trim_end().to_string()
            }
        };
        Failure { fault, what, replay }
    }
}

impl Ground {
    /// Makes runs as long as there are faults that nobody has taken.
    fn work(&self, pulse: &Pulse, tell: &mpsc::Sender<Over>) {
        let runtime = runtime();
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(fault) = self.faults.get(at) else { break };
            pulse.turn_to(at);
            let stage = Stage { factory: &*self.factory, case: &self.case, beginning: &self.beginning, pulse };
            let all_seen = !BLIND.iter().any(|class| fault.is(*class));
            let what = match runtime.block_on(run(&stage, fault)) {
                Ok(ended) => ended.differs_from(&self.undisturbed, all_seen),
                Err(stuck) => Some(stuck.to_string()),
            };
            if tell.send((at, what)).is_err() {
                break;
            }
        }
    }
}

/// Panics where a thread of ours has: that is no finding about the operator.
fn ended(thread: JoinHandle<()>) -> String {
    match thread.join() {
        Ok(()) => "the run ended without a word".to_string(),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// The fault that somebody wants to see again.
fn asked_for(variable: Option<OsString>) -> Result<Option<Fault>, String> {
    let Some(text) = variable.filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.to_string_lossy();
    let fault = text.parse::<Fault>().map_err(|error| format!("{REPLAY_VARIABLE} is no fault: {error}"))?;
    Ok(Some(fault))
}

/// The test that a thread of that name is of. Tests run on threads of their names, unless they run one after the other, or
/// where somebody else made the thread: a filter of such a name would run no test at all, and that looks well.
fn test_name(thread: &str) -> Option<&str> {
    let word = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    Some(thread).filter(|name| *name != "main" && name.split("::").all(word))
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
    fn a_fault_that_is_none_is_refused() {
        assert_eq!(asked_for(None), Ok(None));
        assert_eq!(asked_for(Some("".into())), Ok(None));
        assert_eq!(asked_for(Some("crash-after-write:3".into())).map(|fault| fault.is_some()), Ok(true));
        let refused = asked_for(Some("crsh-after-write:3".into())).err().unwrap_or_default();
        assert!(refused.starts_with("SWITCHBOARD_PROBE_FAULT is no fault: "), "{refused}");
    }
}
