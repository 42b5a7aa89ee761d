//! `switchboard gitops wait`: until an application, a sync or an environment is where it should be.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::state::{State, error, failed_sync, is_behind, met, of_application, of_environment, of_repository, of_run};
use super::tenant::{APPLICATIONS, ENVIRONMENTS, Kind, REPOSITORIES, RUNS, Side, Tenant};
use crate::failure::Failure;
use crate::form::{self, Form};
use crate::progress::ProgressLine;
use crate::talk::say;

/// How often the cluster is asked.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How long Argo CD may go on saying the same is wrong: a server that is away for a moment is no reason to give up.
const GIVE_UP: Duration = Duration::from_secs(30);

/// How long what only somebody can mend may stand: whoever mended it just now is told of it until it was looked at again.
const MEND: Duration = Duration::from_secs(5);

/// How long nobody waits longer than: a day.
const MAX_TIMEOUT_S: u64 = 24 * 60 * 60;

/// It was not reached in time.
pub const LATE: u8 = 3;

/// Waits until an application is deployed and healthy, or something else.
#[derive(Args)]
pub struct Wait {
    /// Its name
    name: String,
    /// What is waited for
    #[arg(long = "for", value_enum, default_value_t, value_name = "WHAT")]
    aim: Aim,
    #[command(flatten)]
    patience: Patience,
    /// Print the object as it was seen last, as JSON or YAML; a table has nothing to print
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    #[command(flatten)]
    tenant: Tenant,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Aim {
    /// The application is synced and healthy
    #[default]
    Ready,
    /// What runs is what the repository says
    Synced,
    /// What was deployed is healthy
    Healthy,
    /// The application is gone
    Deleted,
    /// The sync run of this name is over
    Run,
    /// The environment of this name is connected
    Environment,
    /// The repository takes the credential of this name
    Repository,
}

/// How long to wait.
#[derive(Args, Clone, Copy, Debug)]
pub struct Patience {
    /// How long to wait; exits with 3 when that is over
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=MAX_TIMEOUT_S))]
    timeout: u64,
}

/// Where something is on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// There.
    Arrived,
    /// It will not come: what must change first.
    Stuck(String),
    /// It will not come if this goes on.
    Failing(String),
    /// Not yet, and why.
    Going(String),
}

/// It will not come.
#[derive(Debug, thiserror::Error)]
#[error("{told} `{name}` is not {aim}: {why}\nhint: {hint}")]
struct Stuck {
    told: &'static str,
    name: String,
    aim: &'static str,
    why: String,
    hint: &'static str,
}

impl Wait {
    /// Waits.
    pub async fn run(self) -> Result<ExitCode, Failure> {
        let side = self.tenant.side().await?;
        let (ended, last) = self.patience.wait(&side, &self.aim.kind(), &self.name, self.aim).await;
        // However it ended: whoever reads it wants to know what became of it.
        if let Some(object) = last.filter(|_| !self.output.is_for_people()) {
            form::write(&self.output.text(&object)?)?;
        }
        ended
    }
}

impl Aim {
    fn kind(self) -> Kind {
        match self {
            Aim::Run => RUNS,
            Aim::Environment => ENVIRONMENTS,
            Aim::Repository => REPOSITORIES,
            _ => APPLICATIONS,
        }
    }

    fn told(self) -> &'static str {
        match self {
            Aim::Ready => "ready",
            Aim::Synced => "synced",
            Aim::Healthy => "healthy",
            Aim::Deleted => "deleted",
            Aim::Run => "done",
            Aim::Environment => "connected",
            Aim::Repository => "taken",
        }
    }

    /// Where an object is on its way; none is one that is gone.
    pub fn way(self, object: Option<&Value>) -> Way {
        let Some(object) = object else {
            return if self == Aim::Deleted { Way::Arrived } else { Way::Stuck("it was deleted".to_string()) };
        };
        let going = |state: State| match state.word {
            "Ready" => Way::Arrived,
            "Blocked" => Way::Stuck(state.why),
            word => Way::Going(format!("{word} {}", state.why).trim_end().to_string()),
        };
        let is = |pointer: &str, wanted: &str| object.pointer(pointer).is_some_and(|value| value == wanted);
        // What is said of sync and health is of an earlier look, or of none, where something is wrong.
        let holds = || error(object).is_none() && !is_behind(object);
        match self {
            Aim::Deleted if is_going(object) => Way::Going("is being deleted".to_string()),
            Aim::Deleted => Way::Going("is there, and nobody has deleted it".to_string()),
            Aim::Synced if holds() && is("/status/sync/status", "Synced") => Way::Arrived,
            Aim::Healthy if holds() && is("/status/health/status", "Healthy") => Way::Arrived,
            Aim::Ready | Aim::Synced | Aim::Healthy => match going(of_application(object)) {
                Way::Going(why) if is_behind(object) => Way::Going(why),
                // What Argo CD tries again by itself may come yet.
                Way::Going(why) => {
                    let over =
                        || failed_sync(object).filter(|(again, _)| !again && !is("/status/sync/status", "Synced"));
                    let wrong = met(object).or_else(|| over().map(|(_, message)| message));
                    wrong.map_or(Way::Going(why), Way::Failing)
                }
                // Ready is more than either; whoever waits for one of them was asked about it above.
                Way::Arrived if self != Aim::Ready => Way::Going("Working".to_string()),
                way => way,
            },
            Aim::Environment => match of_environment(object) {
                State { word: "Failing", why } => Way::Failing(why),
                state => going(state),
            },
            Aim::Repository => match of_repository(object) {
                State { word: "Failing", why } => Way::Failing(why),
                state => going(state),
            },
            Aim::Run => match of_run(object) {
                State { word: "Failing", why } => Way::Stuck(why),
                state => going(state),
            },
        }
    }
}

/// Whether somebody has deleted it.
fn is_going(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// What is wrong, and since when it is said in the same words.
#[derive(Default)]
struct Wrong(Option<(Instant, String)>);

impl Wrong {
    /// Whether it has stood for so long that nobody waits on. What is gone does not come back.
    fn gives_up(&mut self, way: &Way, is_there: bool, now: Instant) -> bool {
        let (why, most) = match way {
            Way::Stuck(why) if is_there => (why, MEND),
            Way::Stuck(why) => (why, Duration::ZERO),
            Way::Failing(why) => (why, GIVE_UP),
            Way::Arrived | Way::Going(_) => {
                self.0 = None;
                return false;
            }
        };
        let since = self.0.take().filter(|(_, before)| before == why).map_or(now, |(since, _)| since);
        self.0 = Some((since, why.clone()));
        now.duration_since(since) >= most
    }
}

impl Patience {
    /// Waits, and says what it waits on. Gives how that ended, and the object as it was seen last.
    pub async fn wait(
        self,
        side: &Side,
        kind: &Kind,
        name: &str,
        aim: Aim,
    ) -> (Result<ExitCode, Failure>, Option<Value>) {
        let mut last = None;
        (self.look(side, kind, name, aim, &mut last).await, last)
    }

    async fn look(
        self,
        side: &Side,
        kind: &Kind,
        name: &str,
        aim: Aim,
        last: &mut Option<Value>,
    ) -> Result<ExitCode, Failure> {
        let (began, timeout) = (Instant::now(), Duration::from_secs(self.timeout));
        let mut progress = ProgressLine::begin();
        let mut first = aim != Aim::Deleted;
        let mut wrong = Wrong::default();
        loop {
            // What was never there is a slip of the pen, not something that is gone.
            let object = if first { Some(side.get(kind, name).await?) } else { side.find(kind, name).await? };
            first = false;
            let way = aim.way(object.as_ref());
            let (gives_up, hint) = (wrong.gives_up(&way, object.is_some(), Instant::now()), hint(aim, &way));
            *last = object.or(last.take());
            let why = match way {
                Way::Arrived => {
                    progress.end();
                    say(format_args!("{} {name} is {}", kind.told, aim.told()));
                    return Ok(ExitCode::SUCCESS);
                }
                Way::Stuck(why) | Way::Failing(why) if gives_up => {
                    progress.end();
                    return Err(Stuck { told: kind.told, name: name.into(), aim: aim.told(), why, hint }.into());
                }
                Way::Stuck(why) | Way::Failing(why) | Way::Going(why) => why,
            };
            if began.elapsed() >= timeout {
                progress.end();
                say(format_args!("error: {} `{name}` is not {} after {} seconds", kind.told, aim.told(), self.timeout));
                say(format_args!("  {why}"));
                say(format_args!("hint: {}", late(aim, last.as_ref())));
                return Ok(ExitCode::from(LATE));
            }
            progress.show(|| format!("{} {name}: {why} ({} s)", kind.told, began.elapsed().as_secs()));
            tokio::time::sleep(LOOK_AGAIN.min(timeout.saturating_sub(began.elapsed()))).await;
        }
    }
}

/// What helps who has waited for long enough.
fn late(aim: Aim, last: Option<&Value>) -> &'static str {
    match last {
        Some(object) if aim == Aim::Deleted && !is_going(object) => {
            "delete it first: `switchboard gitops delete NAME --wait` deletes it and waits"
        }
        _ => "wait longer with --timeout SECONDS, or look with `switchboard gitops get`",
    }
}

fn hint(aim: Aim, way: &Way) -> &'static str {
    match aim {
        Aim::Repository if matches!(way, Way::Failing(_)) => {
            "see to it that the backend reaches the git server under this URL; it is asked again by itself"
        }
        Aim::Environment => "correct the environment or its Secret; it is looked at again at once",
        Aim::Repository => "correct the credential or its Secret; it is looked at again at once",
        Aim::Run => "correct what it names, then ask for another sync with `switchboard gitops sync`",
        _ => "correct the application or what it names; `switchboard gitops get -o yaml NAME` shows all that is known",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn application(sync: &str, health: &str) -> Value {
        json!({ "spec": { "type": "automated" }, "status": { "sync": { "status": sync }, "health": { "status": health } } })
    }

    #[test]
    fn every_aim_is_reached_by_its_own() {
        let ready = application("Synced", "Healthy");
        for aim in [Aim::Ready, Aim::Synced, Aim::Healthy] {
            assert_eq!(aim.way(Some(&ready)), Way::Arrived, "{aim:?}");
        }
        assert_eq!(Aim::Synced.way(Some(&application("Synced", "Degraded"))), Way::Arrived);
        assert_eq!(Aim::Healthy.way(Some(&application("OutOfSync", "Healthy"))), Way::Arrived);
        assert!(matches!(Aim::Ready.way(Some(&application("Synced", "Degraded"))), Way::Going(_)));
        assert_eq!(Aim::Deleted.way(None), Way::Arrived);
        assert_eq!(Aim::Deleted.way(Some(&ready)), Way::Going("is there, and nobody has deleted it".into()));
        let going = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
        assert_eq!(Aim::Deleted.way(Some(&going)), Way::Going("is being deleted".into()));
        assert!(matches!(Aim::Ready.way(None), Way::Stuck(_)));
    }

    #[test]
    fn what_needs_somebody_is_not_waited_for() {
        let mut object = application("Synced", "Healthy");
        object["status"]["conditions"] = json!([{ "type": "ErrorOccurred", "status": "True", "message": "no" }]);
        assert_eq!(Aim::Ready.way(Some(&object)), Way::Stuck("no".into()));
        assert_eq!(Aim::Run.way(Some(&object)), Way::Stuck("no".into()));
        for aim in [Aim::Synced, Aim::Healthy] {
            assert_eq!(aim.way(Some(&object)), Way::Stuck("no".into()), "{aim:?}");
        }
        object["status"]["conditions"][0]["type"] = "ComparisonError".into();
        for aim in [Aim::Ready, Aim::Synced, Aim::Healthy] {
            assert_eq!(aim.way(Some(&object)), Way::Failing("no".into()), "{aim:?}");
        }
    }

    #[test]
    fn what_argo_cd_has_not_looked_at_is_waited_for() {
        let mut object = application("Synced", "Healthy");
        object["spec"]["source"] = json!({ "repoURL": "https://h/r", "path": "b" });
        object["status"]["reconciledState"] = json!({ "source": { "repoURL": "https://h/r", "path": "a" } });
        object["status"]["operationState"] = json!({ "phase": "Failed", "message": "of the former path" });
        for aim in [Aim::Ready, Aim::Synced, Aim::Healthy] {
            let going = Way::Going("Working Argo CD has not looked at the change yet".into());
            assert_eq!(aim.way(Some(&object)), going, "{aim:?}");
        }
    }

    #[test]
    fn what_was_just_mended_is_given_time_to_be_looked_at() {
        let (begin, mut wrong) = (Instant::now(), Wrong::default());
        let (stuck, other) = (Way::Stuck("no such path".into()), Way::Stuck("no such branch".into()));
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert!(!wrong.gives_up(&stuck, true, at(0)) && !wrong.gives_up(&stuck, true, at(4)));
        assert!(!wrong.gives_up(&other, true, at(5)), "it is another");
        assert!(wrong.gives_up(&other, true, at(10)));
        assert!(!wrong.gives_up(&Way::Going("x".into()), true, at(10)));
        assert!(!wrong.gives_up(&other, true, at(11)), "it was mended meanwhile");
        let failing = Way::Failing("away".into());
        assert!(!wrong.gives_up(&failing, true, at(12)) && !wrong.gives_up(&failing, true, at(41)));
        assert!(wrong.gives_up(&failing, true, at(42)));
        assert!(wrong.gives_up(&Way::Stuck("it was deleted".into()), false, at(43)));
    }

    #[test]
    fn why_a_sync_fails_is_told_to_who_waits() {
        let mut object = application("OutOfSync", "Missing");
        object["status"]["operationState"] = json!({ "phase": "Failed", "message": "no namespace" });
        assert_eq!(Aim::Synced.way(Some(&object)), Way::Failing("no namespace".into()));
        // It is tried again.
        object["status"]["operationState"] =
            json!({ "phase": "Running", "finishedAt": "x", "message": "no namespace" });
        assert_eq!(Aim::Ready.way(Some(&object)), Way::Going("Failing no namespace".into()));
        let condition = json!({ "type": "ConnectionInitializationSucceeded", "status": "Unknown", "message": "away" });
        let environment = json!({ "status": { "conditions": [condition] } });
        assert_eq!(Aim::Environment.way(Some(&environment)), Way::Failing("away".into()));
        let conditions = json!([
            { "type": "ErrorOccurred", "status": "True", "message": "away" },
            { "type": "ValidRepositoryURL", "status": "Unknown", "message": "away" },
        ]);
        let repository = json!({ "status": { "conditions": conditions } });
        let way = Aim::Repository.way(Some(&repository));
        assert_eq!(way, Way::Failing("away".into()));
        assert!(hint(Aim::Repository, &way).contains("reaches the git server"));
    }
}
