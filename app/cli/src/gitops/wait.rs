//! `switchboard gitops wait`: waits until a resource reaches a state.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde_json::Value;
use switchboard_gitops::state::{
    ErrorClass, ResourceState, StateLabel, application_state, argo_cd_error, environment_state, error, failed_sync,
    is_behind, repository_state, root_cause, sync_run_state,
};
use switchboard_runtime::stderr::print_stderr;

use super::tenant::{APPLICATIONS, ENVIRONMENTS, REPOSITORIES, RUNS, TenantArgs, TenantClient, TenantKind};
use crate::failure::CommandError;
use crate::flag_duration;
use crate::output_format::{self, OutputFormat};
use crate::progress::ProgressLine;

/// Poll interval.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Time that the same error of Argo CD may persist if its class is unknown.
const FAILING_TIMEOUT: Duration = Duration::from_secs(30);

/// Time that an error only the user can fix may persist: after a fix, the old error is reported until the next check.
const BLOCKED_TIMEOUT: Duration = Duration::from_secs(5);

/// Exit code for a timeout.
pub const EXIT_TIMEOUT: u8 = 3;

/// Wait until a resource reaches a state, such as an application being synced and healthy
#[derive(Args)]
pub struct WaitCommand {
    /// Name of the resource
    name: String,
    /// State to wait for
    #[arg(long = "for", value_enum, default_value_t, value_name = "WHAT")]
    goal: WaitGoal,
    #[command(flatten)]
    timeout: TimeoutArgs,
    /// Print the last observed object as JSON or YAML; a table prints nothing
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    tenant: TenantArgs,
}

/// State to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum WaitGoal {
    /// Application is synced and healthy
    #[default]
    Ready,
    /// Application is synced
    Synced,
    /// Application is healthy
    Healthy,
    /// Application is deleted
    Deleted,
    /// Sync run is finished
    #[value(name = "syncrun")]
    SyncRun,
    /// Environment is connected
    Environment,
    /// Repository accepts the credential
    Repository,
}

/// Timeout flag.
#[derive(Args, Clone, Copy, Debug)]
pub struct TimeoutArgs {
    /// Timeout; exit with 3 when it expires
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = flag_duration::parse)]
    timeout: Duration,
}

/// Progress toward the goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitProgress {
    /// The goal is reached.
    Reached,
    /// The goal is unreachable until the user changes the application or its repository.
    Invalid(String),
    /// The goal is unreachable until the user fixes the reason.
    Blocked(String),
    /// The goal is unreachable while the error persists.
    Failing(String),
    /// The goal is not reached yet, with the reason.
    Pending(String),
}

/// The wait failed before its timeout.
#[derive(Debug, thiserror::Error)]
#[error("{noun} `{name}` is not {aim}: {why}\nhint: {hint}")]
struct WaitFailed {
    noun: &'static str,
    name: String,
    aim: &'static str,
    why: String,
    hint: &'static str,
}

impl WaitCommand {
    /// Waits for the goal.
    pub async fn run(self) -> Result<ExitCode, CommandError> {
        let side = self.tenant.client().await?;
        let (ended, last) = self.timeout.wait(&side, &self.goal.kind(), &self.name, self.goal).await;
        // The object is printed after a failure as well.
        if let Some(object) = last.filter(|_| !self.output.is_table()) {
            output_format::write(&self.output.text(&object)?)?;
        }
        ended
    }
}

impl WaitGoal {
    fn kind(self) -> TenantKind {
        match self {
            WaitGoal::SyncRun => RUNS,
            WaitGoal::Environment => ENVIRONMENTS,
            WaitGoal::Repository => REPOSITORIES,
            _ => APPLICATIONS,
        }
    }

    fn participle(self) -> &'static str {
        match self {
            WaitGoal::Ready => "ready",
            WaitGoal::Synced => "synced",
            WaitGoal::Healthy => "healthy",
            WaitGoal::Deleted => "deleted",
            WaitGoal::SyncRun => "done",
            WaitGoal::Environment => "connected",
            WaitGoal::Repository => "accepted",
        }
    }

    /// Returns the progress of an object; `None` is a deleted object.
    pub fn progress(self, object: Option<&Value>) -> WaitProgress {
        let Some(object) = object else {
            return if self == WaitGoal::Deleted {
                WaitProgress::Reached
            } else {
                WaitProgress::Blocked("it was deleted".to_string())
            };
        };
        let progress_of = |state: ResourceState| match state.label {
            StateLabel::Ready => WaitProgress::Reached,
            StateLabel::Blocked => WaitProgress::blocked(state.reason),
            label => WaitProgress::Pending(format!("{label} {}", root_cause(&state.reason)).trim_end().to_string()),
        };
        let or_failing = |state: ResourceState| match state.label {
            StateLabel::Failing => WaitProgress::failing(state.reason),
            _ => progress_of(state),
        };
        let is = |pointer: &str, expected: &str| object.pointer(pointer).is_some_and(|value| value == expected);
        // With an error, sync and health are outdated or missing.
        let holds = || error(object).is_none() && !is_behind(object);
        match self {
            WaitGoal::Deleted if is_being_deleted(object) => WaitProgress::Pending("being deleted".to_string()),
            WaitGoal::Deleted => WaitProgress::Pending("it exists and is not being deleted".to_string()),
            WaitGoal::Synced if holds() && is("/status/sync/status", "Synced") => WaitProgress::Reached,
            WaitGoal::Healthy if holds() && is("/status/health/status", "Healthy") => WaitProgress::Reached,
            WaitGoal::Ready | WaitGoal::Synced | WaitGoal::Healthy => match progress_of(application_state(object)) {
                WaitProgress::Pending(why) if is_behind(object) => WaitProgress::Pending(why),
                // A sync that Argo CD retries may still succeed.
                WaitProgress::Pending(why) => {
                    let over =
                        || failed_sync(object).filter(|(again, _)| !again && !is("/status/sync/status", "Synced"));
                    let wrong = argo_cd_error(object).or_else(|| over().map(|(_, message)| message));
                    wrong.map_or(WaitProgress::Pending(why), WaitProgress::failing)
                }
                // Ready implies both other goals, which were checked above.
                WaitProgress::Reached if self != WaitGoal::Ready => WaitProgress::Pending("Working".to_string()),
                way => way,
            },
            WaitGoal::Environment => or_failing(environment_state(object)),
            WaitGoal::Repository => or_failing(repository_state(object)),
            WaitGoal::SyncRun => match sync_run_state(object) {
                // A finished run is not repeated.
                ResourceState { label: StateLabel::Failing, reason } => {
                    WaitProgress::Blocked(root_cause(&reason).to_string())
                }
                state => progress_of(state),
            },
        }
    }
}

impl WaitProgress {
    /// Returns the progress for an error that only the user can fix.
    fn blocked(message: String) -> Self {
        match ErrorClass::of(&message) {
            ErrorClass::Source => Self::Invalid(root_cause(&message).to_string()),
            _ => Self::Blocked(root_cause(&message).to_string()),
        }
    }

    /// Returns the progress for an error that may end by itself. Without an answer of a server, the wait continues.
    fn failing(message: String) -> Self {
        match ErrorClass::of(&message) {
            ErrorClass::Unreachable => Self::Pending(format!("Failing {}", root_cause(&message))),
            _ => Self::Failing(root_cause(&message).to_string()),
        }
    }
}

/// Whether the object is under deletion.
fn is_being_deleted(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// First time of the current error, and its message.
#[derive(Default)]
struct FailureTimer(Option<(Instant, String)>);

impl FailureTimer {
    /// Whether the error has persisted for too long. A deleted object does not come back.
    fn has_expired(&mut self, way: &WaitProgress, is_there: bool, now: Instant) -> bool {
        let (why, most) = match way {
            WaitProgress::Invalid(why) => (why, Duration::ZERO),
            WaitProgress::Blocked(why) if is_there => (why, BLOCKED_TIMEOUT),
            WaitProgress::Blocked(why) => (why, Duration::ZERO),
            WaitProgress::Failing(why) => (why, FAILING_TIMEOUT),
            WaitProgress::Reached | WaitProgress::Pending(_) => {
                self.0 = None;
                return false;
            }
        };
        let since = self.0.take().filter(|(_, before)| before == why).map_or(now, |(since, _)| since);
        self.0 = Some((since, why.clone()));
        now.duration_since(since) >= most
    }
}

impl TimeoutArgs {
    /// Waits and prints progress. Returns the result and the last observed object.
    pub async fn wait(
        self,
        side: &TenantClient,
        kind: &TenantKind,
        name: &str,
        aim: WaitGoal,
    ) -> (Result<ExitCode, CommandError>, Option<Value>) {
        let mut last = None;
        (self.poll(side, kind, name, aim, &mut last).await, last)
    }

    async fn poll(
        self,
        side: &TenantClient,
        kind: &TenantKind,
        name: &str,
        aim: WaitGoal,
        last: &mut Option<Value>,
    ) -> Result<ExitCode, CommandError> {
        let (began, timeout) = (Instant::now(), self.timeout);
        let mut progress = ProgressLine::begin();
        let mut first = aim != WaitGoal::Deleted;
        let mut wrong = FailureTimer::default();
        loop {
            // A name that never existed is mistyped, not deleted.
            let object = if first { Some(side.get(kind, name).await?) } else { side.find(kind, name).await? };
            first = false;
            let way = aim.progress(object.as_ref());
            let (gives_up, hint) = (wrong.has_expired(&way, object.is_some(), Instant::now()), hint(aim, &way));
            *last = object.or(last.take());
            let why = match way {
                WaitProgress::Reached => {
                    progress.end();
                    print_stderr(format_args!("{} {name} is {}", kind.noun, aim.participle()));
                    return Ok(ExitCode::SUCCESS);
                }
                WaitProgress::Invalid(why) | WaitProgress::Blocked(why) | WaitProgress::Failing(why) if gives_up => {
                    progress.end();
                    return Err(
                        WaitFailed { noun: kind.noun, name: name.into(), aim: aim.participle(), why, hint }.into()
                    );
                }
                WaitProgress::Invalid(why)
                | WaitProgress::Blocked(why)
                | WaitProgress::Failing(why)
                | WaitProgress::Pending(why) => why,
            };
            if began.elapsed() >= timeout {
                progress.end();
                print_stderr(format_args!(
                    "error: {} `{name}` is not {} after {} seconds",
                    kind.noun,
                    aim.participle(),
                    self.timeout.as_secs_f64()
                ));
                print_stderr(format_args!("  {why}"));
                print_stderr(format_args!("hint: {}", timeout_hint(aim, last.as_ref())));
                return Ok(ExitCode::from(EXIT_TIMEOUT));
            }
            progress.show_state(&format!("{} {name}: {why}", kind.noun), began.elapsed());
            tokio::time::sleep(POLL_INTERVAL.min(timeout.saturating_sub(began.elapsed()))).await;
        }
    }
}

/// Returns the hint for a timeout.
fn timeout_hint(aim: WaitGoal, last: Option<&Value>) -> &'static str {
    match last {
        Some(object) if aim == WaitGoal::Deleted && !is_being_deleted(object) => {
            "delete it first: `switchboard gitops delete NAME --wait`"
        }
        _ => "wait longer with --timeout DURATION, or check it with `switchboard gitops get`",
    }
}

fn hint(aim: WaitGoal, way: &WaitProgress) -> &'static str {
    match aim {
        WaitGoal::Repository if matches!(way, WaitProgress::Failing(_)) => {
            "check that the backend can reach the git server at this URL; the check is retried"
        }
        WaitGoal::Environment => "correct the environment or its Secret; it is checked again at once",
        WaitGoal::Repository => "correct the credential or its Secret; it is checked again at once",
        WaitGoal::SyncRun => "correct the cause, then start another sync with `switchboard gitops sync`",
        _ if is_access(way) => {
            "check the URL of the repository; `switchboard gitops repo create` adds a credential for it"
        }
        _ => {
            "correct the application or the objects it refers to; `switchboard gitops get -o yaml NAME` shows its status"
        }
    }
}

/// Whether the repository or its credential is missing or wrong.
fn is_access(way: &WaitProgress) -> bool {
    matches!(way, WaitProgress::Blocked(why) if ErrorClass::of(why) == ErrorClass::Access)
}

#[cfg(test)]
mod tests;
