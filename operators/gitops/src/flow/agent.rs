//! What an agent does about a row: the objects of one Argo CD become what the row says, step by step, until nothing is left to do.
//!
//! A step that waits returns; the same is decided again when something changed, or when it is time.

use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_ledger::Moment;
use switchboard_ledger::ids::{DesiredState, SyncOperationId};
use switchboard_ledger::rows::{Application, Operation, RepositoryCredentials, SyncOperation};

use super::sync_run::NO_APPLICATION;
use super::{Target, Write};
use crate::argo::application::{self, FINALIZER};
use crate::argo::operation::{self, Progress};
use crate::argo::{API_VERSION, project, repository_secret};

/// How long Argo CD may take to delete what it deployed; then the Application goes without it.
pub const REMOVAL_MS: i64 = 5 * 60 * 1000;

/// How long after that an Application may still be there.
pub const LAST_REMOVAL_MS: i64 = REMOVAL_MS + 2 * 60 * 1000;

/// How often is looked again though nothing changed. What is waited for is watched: this is for what a watch may lose.
const LOOK_AGAIN_MS: u64 = 60_000;

/// What is left to do about an Operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// These, and then it is decided again.
    Write(Vec<Write>),
    /// Nothing now: it is decided again when something changed, or in so many milliseconds.
    Wait(u64),
    /// Nothing any more.
    Done(Result<(), String>),
}

/// What an Application needs beside itself.
#[derive(Clone, Debug, Default)]
pub struct Around<'a> {
    /// The tenant's project as it should be; none if it should not be.
    pub project: Option<&'a Value>,
    /// The tenant's project as it is.
    pub live_project: Option<&'a Value>,
    /// Whether an Application is in it that is there yet. Argo CD removes nothing of one whose project is gone.
    pub is_project_used: bool,
    /// Secrets of the tenant's repositories as they should be, each with the one there is.
    pub repositories: &'a [(Value, Option<Value>)],
    /// The target's Secret as it should be; none if there is none to be.
    pub secret: Option<&'a Value>,
    /// The target's Secret as it is.
    pub live_secret: Option<&'a Value>,
}

/// An Application is as its row says.
///
/// The project comes first, then Secrets, then the Application: each needs the one before. The original changes the Application
/// before the Secret it points to.
pub fn keep(row: &Application, namespace: &str, live: Option<&Value>, around: &Around<'_>) -> Step {
    let wanted = match application::object(row, namespace) {
        Ok(wanted) => wanted,
        // The original says that all went well.
        Err(error) => return Step::Done(Err(error.to_string())),
    };
    let mut writes = Vec::new();
    writes.extend(around.project.and_then(|wanted| agree(wanted, around.live_project, project::same)));
    let repositories = around.repositories.iter();
    writes.extend(repositories.filter_map(|(wanted, live)| agree(wanted, live.as_ref(), repository_secret::same)));
    if !application::is_in_cluster(&wanted["spec"]) {
        writes.extend(around.secret.and_then(|wanted| agree(wanted, around.live_secret, repository_secret::same)));
    }
    match live {
        // A target that was removed gets no new Applications.
        None if row.environment.is_some() => writes.push(Write::Create(wanted)),
        None => {}
        Some(live) => match application::corrected(live, row) {
            Ok(corrected) => writes.extend(corrected.map(Write::Update)),
            Err(error) => return Step::Done(Err(error.to_string())),
        },
    }
    if writes.is_empty() { Step::Done(Ok(())) } else { Step::Write(writes) }
}

/// Creates what is missing, changes what differs.
fn agree(wanted: &Value, live: Option<&Value>, same: impl Fn(&Value, &Value) -> bool) -> Option<Write> {
    let Some(live) = live else { return Some(Write::Create(wanted.clone())) };
    (!same(live, wanted)).then(|| Write::Update(changed(wanted, live)))
}

/// A project or a Secret as it should be; none if it is so.
pub(crate) fn agreed(wanted: &Value, live: &Value) -> Option<Value> {
    let same = if wanted["kind"] == project::KIND { project::same } else { repository_secret::same };
    (!same(live, wanted)).then(|| changed(wanted, live))
}

fn changed(wanted: &Value, live: &Value) -> Value {
    let mut changed = live.clone();
    for part in ["spec", "data"] {
        if let Some(value) = wanted.get(part) {
            changed[part] = value.clone();
        }
    }
    for part in ["labels", "annotations"] {
        for (key, value) in wanted["metadata"][part].as_object().into_iter().flatten() {
            changed["metadata"][part][key] = value.clone();
        }
    }
    changed
}

/// An Application whose row is gone goes, and with it what it deployed; then the project, if the tenant has no use for it.
///
/// `was_cut` says that it went without: then what was deployed may still be there, and that is said.
pub fn remove(live: &[Value], around: &Around<'_>, was_cut: bool, now: Moment) -> Step {
    let mut writes = Vec::new();
    for object in live {
        match removal(object, now) {
            Ok(Some(write)) => writes.push(write),
            Ok(None) => {}
            Err(said) => return Step::Done(Err(said)),
        }
    }
    if !writes.is_empty() {
        return Step::Write(writes);
    }
    if let Some(ms) = live.iter().filter_map(|object| until_late_ms(object, now)).min() {
        return Step::Wait(ms);
    }
    let last = match (around.project, around.live_project) {
        (None, Some(_)) if around.is_project_used => return Step::Wait(LOOK_AGAIN_MS),
        (None, Some(project)) => Some(Write::Delete(target(project, project::KIND))),
        (Some(wanted), live) => agree(wanted, live, project::same),
        (None, None) => None,
    };
    match last {
        Some(write) => Step::Write(vec![write]),
        None if was_cut => Step::Done(Err(CUT.to_string())),
        None => Step::Done(Ok(())),
    }
}

/// An Application whose row is another Argo CD's by now goes, and what it deployed stays: it is the other one's.
pub fn let_go(live: &[Value]) -> Step {
    let release = |object: &Value| {
        let name = target(object, application::KIND);
        let has_finalizers = object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty());
        match (has_finalizers, object["metadata"]["deletionTimestamp"].is_string()) {
            (true, _) => Some(Write::Merge(name, json!({ "metadata": { "finalizers": [] } }))),
            (false, false) => Some(Write::Delete(name)),
            (false, true) => None,
        }
    };
    let writes: Vec<Write> = live.iter().filter_map(release).collect();
    match (writes.is_empty(), live.is_empty()) {
        (false, _) => Step::Write(writes),
        (true, false) => Step::Wait(LOOK_AGAIN_MS),
        (true, true) => Step::Done(Ok(())),
    }
}

/// What is said of a removal that took too long.
pub const CUT: &str =
    "deletion took longer than 5 minutes: the Application was removed, resources it deployed may be left";

/// Whether the row of a removal notes that the Application went without what it deployed.
pub fn was_cut(row: &Operation) -> bool {
    row.human_readable_state.as_deref() == Some(CUT)
}

/// Whether an Application is about to go without what it deployed.
pub fn is_cut(object: &Value, now: Moment) -> bool {
    deleted_for_ms(object, now).is_some_and(|ms| ms > REMOVAL_MS)
}

fn removal(object: &Value, now: Moment) -> Result<Option<Write>, String> {
    let name = target(object, application::KIND);
    let deleted_for_ms = deleted_for_ms(object, now);
    // Argo CD deletes nothing before a sync has ended, and one that fails may be tried again for ever. None begins any more.
    if let (Some(_), Some(patch)) = (deleted_for_ms, operation::stop(object)) {
        return Ok(Some(Write::Merge(name, patch)));
    }
    let finalizers = object["metadata"]["finalizers"].as_array().filter(|all| !all.is_empty());
    Ok(match (deleted_for_ms, finalizers) {
        (None, Some(all)) if all.iter().any(|finalizer| finalizer == FINALIZER) => Some(Write::Delete(name)),
        (None, all) => {
            let mut all = all.cloned().unwrap_or_default();
            all.push(json!(FINALIZER));
            Some(Write::Merge(name, json!({ "metadata": { "finalizers": all } })))
        }
        (Some(ms), _) if ms > LAST_REMOVAL_MS => {
            return Err("deletion took longer than 7 minutes: the Application is still there".to_string());
        }
        (Some(ms), Some(_)) if ms > REMOVAL_MS => Some(Write::Merge(name, json!({ "metadata": { "finalizers": [] } }))),
        (Some(_), _) => None,
    })
}

/// When an Application that is about to go has taken too long, once or for good.
fn until_late_ms(object: &Value, now: Moment) -> Option<u64> {
    let gone_for_ms = deleted_for_ms(object, now)?;
    let next = [REMOVAL_MS, LAST_REMOVAL_MS].into_iter().find(|late| gone_for_ms <= *late)?;
    u64::try_from(next - gone_for_ms + 1).ok()
}

fn deleted_for_ms(object: &Value, now: Moment) -> Option<i64> {
    let since: Timestamp = object["metadata"]["deletionTimestamp"].as_str()?.parse().ok()?;
    Some(now.since_ms(Moment::from_unix_us(since.as_microsecond())))
}

fn target(object: &Value, kind: &'static str) -> Target {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_string();
    Target { api_version: API_VERSION, kind, namespace: text("namespace"), name: text("name") }
}

/// A sync is made, or stopped. An agent that is started anew finds it where it was. `is_coming` says that the Application has a
/// row: if it is not there, somebody is about to make it.
pub fn sync(row: Option<&SyncOperation>, id: &SyncOperationId, live: Option<&Value>, is_coming: bool) -> Step {
    let Some(live) = live else {
        return match row.map(|row| row.desired_state) {
            Some(DesiredState::Running) if is_coming => Step::Wait(LOOK_AGAIN_MS),
            Some(DesiredState::Running) => Step::Done(Err(NO_APPLICATION.to_string())),
            _ => Step::Done(Ok(())),
        };
    };
    let merge = |patch: Value| Step::Write(vec![Write::Merge(target(live, application::KIND), patch)]);
    match row.filter(|row| row.desired_state == DesiredState::Running) {
        None => match (operation::terminate(id, live), operation::progress(id, live)) {
            (Some(patch), _) => merge(patch),
            (None, Progress::Running) => Step::Wait(LOOK_AGAIN_MS),
            (None, _) => Step::Done(Ok(())),
        },
        Some(row) => match operation::progress(id, live) {
            Progress::NotAsked => merge(operation::ask(id, &row.revision, live)),
            Progress::Busy | Progress::Running => Step::Wait(LOOK_AGAIN_MS),
            Progress::Succeeded => Step::Done(Ok(())),
            Progress::Failed(why) => Step::Done(Err(why)),
        },
    }
}

/// The Secret of a repository's credential is as its row says, or gone with it.
pub fn credential(row: Option<&RepositoryCredentials>, namespace: &str, live: &[Value], isolated: bool) -> Step {
    let writes: Vec<Write> = match row {
        Some(row) => {
            let wanted = repository_secret::object(row, namespace, isolated);
            let found = live.iter().find(|secret| secret["metadata"]["name"] == wanted["metadata"]["name"]);
            agree(&wanted, found, repository_secret::same).into_iter().collect()
        }
        None => live.iter().map(secret_gone).collect(),
    };
    if writes.is_empty() { Step::Done(Ok(())) } else { Step::Write(writes) }
}

/// The Secret of an environment is as its rows say, or gone with them.
pub fn environment(wanted: Option<&Value>, live: &[Value]) -> Step {
    let writes: Vec<Write> = match wanted {
        Some(wanted) => agree(wanted, live.first(), repository_secret::same).into_iter().collect(),
        None => live.iter().map(secret_gone).collect(),
    };
    if writes.is_empty() { Step::Done(Ok(())) } else { Step::Write(writes) }
}

fn secret_gone(secret: &Value) -> Write {
    Write::Delete(Target { api_version: "v1", ..target(secret, "Secret") })
}
