//! Agent decisions: bring the objects of one Argo CD in line with a row, step by step.
//!
//! A step that has to wait returns; the decision is repeated after a change or when the time is up.

use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_sql::DbTimestamp;

use crate::argocd::API_VERSION;
use crate::credential::repository_secret;
use crate::deployment::application::{self, FINALIZER};
use crate::flow::{KubernetesWrite, WriteTarget};
use crate::ids::{DesiredState, SyncOperationId};
use crate::rows::{Application, Operation, RepositoryCredentials, SyncOperation};
use crate::sync_run::NO_APPLICATION;
use crate::sync_run::argocd_operation::{self, SyncProgress};
use crate::tenant::project;

/// Time for Argo CD to delete deployed resources before the Application is deleted without them.
pub const REMOVAL_MS: i64 = 5 * 60 * 1000;

/// Time after which the deletion of an Application has failed.
pub const LAST_REMOVAL_MS: i64 = REMOVAL_MS + 2 * 60 * 1000;

/// Polling interval without an event. Awaited objects are watched; polling covers lost events.
const POLL_MS: u64 = 60_000;

/// Next step of an Operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentStep {
    /// Execute these writes, then decide again.
    Write(Vec<KubernetesWrite>),
    /// Wait for a change, or for this many milliseconds.
    Wait(u64),
    /// The Operation has finished.
    Done(Result<(), String>),
}

/// Objects that an Application requires.
#[derive(Clone, Debug, Default)]
pub struct ApplicationContext<'a> {
    /// Wanted project of the tenant; `None` if it should not exist.
    pub project: Option<&'a Value>,
    /// Live project of the tenant.
    pub live_project: Option<&'a Value>,
    /// Whether the project still has an Application. Argo CD deletes no resources of an Application without its
    /// project.
    pub is_project_used: bool,
    /// Wanted Secrets of the tenant's repositories, each with its live object.
    pub repositories: &'a [(Value, Option<Value>)],
    /// Wanted Secret of the destination cluster; `None` if it should not exist.
    pub secret: Option<&'a Value>,
    /// Live Secret of the destination cluster.
    pub live_secret: Option<&'a Value>,
}

/// Brings an Application in line with its row.
///
/// The project is written first, then the Secrets, then the Application, because each requires the one before.
/// managed-gitops changes the Application before the Secret it refers to.
pub fn ensure_application(
    row: &Application,
    namespace: &str,
    live: Option<&Value>,
    around: &ApplicationContext<'_>,
) -> AgentStep {
    let wanted = match application::object(row, namespace) {
        Ok(wanted) => wanted,
        // managed-gitops reports success here.
        Err(error) => return AgentStep::Done(Err(error.to_string())),
    };
    let mut writes = Vec::new();
    writes.extend(around.project.and_then(|wanted| ensure(wanted, around.live_project, project::same)));
    let repositories = around.repositories.iter();
    writes.extend(repositories.filter_map(|(wanted, live)| ensure(wanted, live.as_ref(), repository_secret::same)));
    if !application::is_in_cluster(&wanted["spec"]) {
        writes.extend(around.secret.and_then(|wanted| ensure(wanted, around.live_secret, repository_secret::same)));
    }
    match live {
        // Without its environment, an Application is not created.
        None if row.environment.is_some() => writes.push(KubernetesWrite::Create(wanted)),
        None => {}
        Some(live) => match application::corrected(live, row) {
            Ok(corrected) => writes.extend(corrected.map(KubernetesWrite::Update)),
            Err(error) => return AgentStep::Done(Err(error.to_string())),
        },
    }
    if writes.is_empty() { AgentStep::Done(Ok(())) } else { AgentStep::Write(writes) }
}

/// Creates a missing object or updates a differing one.
fn ensure(wanted: &Value, live: Option<&Value>, same: impl Fn(&Value, &Value) -> bool) -> Option<KubernetesWrite> {
    let Some(live) = live else { return Some(KubernetesWrite::Create(wanted.clone())) };
    (!same(live, wanted)).then(|| KubernetesWrite::Update(with_required_fields(wanted, live)))
}

/// Returns a project or Secret with the wanted content, or `None` if it already has it.
pub(crate) fn corrected(wanted: &Value, live: &Value) -> Option<Value> {
    let same = if wanted["kind"] == project::KIND { project::same } else { repository_secret::same };
    (!same(live, wanted)).then(|| with_required_fields(wanted, live))
}

fn with_required_fields(wanted: &Value, live: &Value) -> Value {
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

/// Deletes Applications without a row together with their resources, then the project if the tenant no longer needs it.
///
/// `was_forced` means that an Application was deleted without its resources, which is then reported as an error.
pub fn remove_applications(
    live: &[Value],
    around: &ApplicationContext<'_>,
    was_forced: bool,
    now: DbTimestamp,
) -> AgentStep {
    let mut writes = Vec::new();
    for object in live {
        match removal_write(object, now) {
            Ok(Some(write)) => writes.push(write),
            Ok(None) => {}
            Err(said) => return AgentStep::Done(Err(said)),
        }
    }
    if !writes.is_empty() {
        return AgentStep::Write(writes);
    }
    if let Some(ms) = live.iter().filter_map(|object| ms_until_overdue(object, now)).min() {
        return AgentStep::Wait(ms);
    }
    let last = match (around.project, around.live_project) {
        (None, Some(_)) if around.is_project_used => return AgentStep::Wait(POLL_MS),
        (None, Some(project)) => Some(KubernetesWrite::Delete(target(project, project::KIND))),
        (Some(wanted), live) => ensure(wanted, live, project::same),
        (None, None) => None,
    };
    match last {
        Some(write) => AgentStep::Write(vec![write]),
        None if was_forced => AgentStep::Done(Err(REMOVAL_TIMED_OUT.to_string())),
        None => AgentStep::Done(Ok(())),
    }
}

/// Deletes Applications whose row belongs to another Argo CD by now, and keeps their resources.
pub fn release_applications(live: &[Value]) -> AgentStep {
    let release = |object: &Value| {
        let name = target(object, application::KIND);
        let has_finalizers = object["metadata"]["finalizers"].as_array().is_some_and(|all| !all.is_empty());
        match (has_finalizers, object["metadata"]["deletionTimestamp"].is_string()) {
            (true, _) => Some(KubernetesWrite::Merge(name, json!({ "metadata": { "finalizers": [] } }))),
            (false, false) => Some(KubernetesWrite::Delete(name)),
            (false, true) => None,
        }
    };
    let writes: Vec<KubernetesWrite> = live.iter().filter_map(release).collect();
    match (writes.is_empty(), live.is_empty()) {
        (false, _) => AgentStep::Write(writes),
        (true, false) => AgentStep::Wait(POLL_MS),
        (true, true) => AgentStep::Done(Ok(())),
    }
}

/// Error message of a removal that exceeded its time limit.
pub const REMOVAL_TIMED_OUT: &str =
    "deletion took longer than 5 minutes: the Application was removed, resources it deployed may be left";

/// Whether the row of a removal records that the Application was deleted without its resources.
pub fn was_forced(row: &Operation) -> bool {
    row.human_readable_state.as_deref() == Some(REMOVAL_TIMED_OUT)
}

/// Whether an Application is about to be deleted without its resources.
pub fn is_forced(object: &Value, now: DbTimestamp) -> bool {
    deleted_for_ms(object, now).is_some_and(|ms| ms > REMOVAL_MS)
}

fn removal_write(object: &Value, now: DbTimestamp) -> Result<Option<KubernetesWrite>, String> {
    let name = target(object, application::KIND);
    let deleted_for_ms = deleted_for_ms(object, now);
    // Argo CD deletes nothing before its sync has finished, and a failing sync may be retried forever. No new one
    // starts.
    if let (Some(_), Some(patch)) = (deleted_for_ms, argocd_operation::stop_patch(object)) {
        return Ok(Some(KubernetesWrite::Merge(name, patch)));
    }
    let finalizers = object["metadata"]["finalizers"].as_array().filter(|all| !all.is_empty());
    Ok(match (deleted_for_ms, finalizers) {
        (None, Some(all)) if all.iter().any(|finalizer| finalizer == FINALIZER) => Some(KubernetesWrite::Delete(name)),
        (None, all) => {
            let mut all = all.cloned().unwrap_or_default();
            all.push(json!(FINALIZER));
            Some(KubernetesWrite::Merge(name, json!({ "metadata": { "finalizers": all } })))
        }
        (Some(ms), _) if ms > LAST_REMOVAL_MS => {
            return Err("deletion took longer than 7 minutes: the Application still exists".to_string());
        }
        (Some(ms), Some(_)) if ms > REMOVAL_MS => {
            Some(KubernetesWrite::Merge(name, json!({ "metadata": { "finalizers": [] } })))
        }
        (Some(_), _) => None,
    })
}

/// Returns the time until the deletion of an Application exceeds its next limit.
fn ms_until_overdue(object: &Value, now: DbTimestamp) -> Option<u64> {
    let gone_for_ms = deleted_for_ms(object, now)?;
    let next = [REMOVAL_MS, LAST_REMOVAL_MS].into_iter().find(|late| gone_for_ms <= *late)?;
    u64::try_from(next - gone_for_ms + 1).ok()
}

fn deleted_for_ms(object: &Value, now: DbTimestamp) -> Option<i64> {
    let since: Timestamp = object["metadata"]["deletionTimestamp"].as_str()?.parse().ok()?;
    Some(now.since_ms(DbTimestamp::from_unix_us(since.as_microsecond())))
}

fn target(object: &Value, kind: &'static str) -> WriteTarget {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_string();
    WriteTarget { api_version: API_VERSION, kind, namespace: text("namespace"), name: text("name") }
}

/// Starts or stops a sync. After a restart, the agent finds it in the Application. `has_row` means that the
/// Application has a row, so that a missing object is about to be created.
pub fn sync(row: Option<&SyncOperation>, id: &SyncOperationId, live: Option<&Value>, has_row: bool) -> AgentStep {
    let Some(live) = live else {
        return match row.map(|row| row.desired_state) {
            Some(DesiredState::Running) if has_row => AgentStep::Wait(POLL_MS),
            Some(DesiredState::Running) => AgentStep::Done(Err(NO_APPLICATION.to_string())),
            _ => AgentStep::Done(Ok(())),
        };
    };
    let merge = |patch: Value| AgentStep::Write(vec![KubernetesWrite::Merge(target(live, application::KIND), patch)]);
    match row.filter(|row| row.desired_state == DesiredState::Running) {
        None => match (argocd_operation::terminate_patch(id, live), argocd_operation::progress(id, live)) {
            (Some(patch), _) => merge(patch),
            (None, SyncProgress::Running) => AgentStep::Wait(POLL_MS),
            (None, _) => AgentStep::Done(Ok(())),
        },
        Some(row) => match argocd_operation::progress(id, live) {
            SyncProgress::NotRequested => merge(argocd_operation::sync_patch(id, &row.revision, live)),
            SyncProgress::Busy | SyncProgress::Running => AgentStep::Wait(POLL_MS),
            SyncProgress::Succeeded => AgentStep::Done(Ok(())),
            SyncProgress::Failed(why) => AgentStep::Done(Err(why)),
        },
    }
}

/// Brings the Secret of a repository credential in line with its row, or deletes it.
pub fn credential(row: Option<&RepositoryCredentials>, namespace: &str, live: &[Value], isolated: bool) -> AgentStep {
    let writes: Vec<KubernetesWrite> = match row {
        Some(row) => {
            let wanted = repository_secret::object(row, namespace, isolated);
            let found = live.iter().find(|secret| secret["metadata"]["name"] == wanted["metadata"]["name"]);
            ensure(&wanted, found, repository_secret::same).into_iter().collect()
        }
        None => live.iter().map(delete_secret).collect(),
    };
    if writes.is_empty() { AgentStep::Done(Ok(())) } else { AgentStep::Write(writes) }
}

/// Brings the Secret of an environment in line with its rows, or deletes it.
pub fn environment(wanted: Option<&Value>, live: &[Value]) -> AgentStep {
    let writes: Vec<KubernetesWrite> = match wanted {
        Some(wanted) => ensure(wanted, live.first(), repository_secret::same).into_iter().collect(),
        None => live.iter().map(delete_secret).collect(),
    };
    if writes.is_empty() { AgentStep::Done(Ok(())) } else { AgentStep::Write(writes) }
}

fn delete_secret(secret: &Value) -> KubernetesWrite {
    KubernetesWrite::Delete(WriteTarget { api_version: "v1", ..target(secret, "Secret") })
}

#[cfg(test)]
mod tests;
