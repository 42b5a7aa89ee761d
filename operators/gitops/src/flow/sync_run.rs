//! A sync run: deploy now, once, to a revision.

use serde_json::json;
use switchboard_ledger::Change;
use switchboard_ledger::ids::{
    ApiRelation, ApiResource, DesiredState, OperationId, OperationResource, OperationState, SyncOperationId,
};
use switchboard_ledger::rows::{ApiToDatabase, Application, ClusterUser, Operation, SyncOperation};

use super::operation::{self, STOP, Wish};
use super::tenant::Namespace;
use super::{Decision, Now, Target, Write};
use crate::kinds::condition::{self, Condition, ERROR_OCCURRED, Truth, UNKNOWN_ERROR};
use crate::kinds::deployment::Mode;
use crate::kinds::sync_run::{KIND, NAME_IMMUTABLE, REVISION_IMMUTABLE, SyncRunStatus, automated_not_allowed};
use crate::kinds::{self, Deployment, SyncRun};

/// What it was about is gone. As the agent says it.
pub(crate) const NO_APPLICATION: &str = "the Application does not exist";
/// Why there is an error on a run that went well: its spec was changed afterwards. The condition that said how it ended is gone by
/// then, and its Operation will be.
const CHANGED_AFTER_SUCCESS: &str = "ChangedAfterSuccess";

/// Everything that is known when a sync run is decided on.
pub struct Input<'a> {
    /// When.
    pub now: Now<'a>,
    /// The tenant's namespace.
    pub namespace: &'a Namespace,
    /// The tenant.
    pub user: &'a ClusterUser,
    /// The resource; none if it is gone.
    pub run: Option<&'a SyncRun>,
    /// Its rows.
    pub known: Option<&'a Known>,
    /// The deployment it names, if there is one.
    pub deployment: Option<&'a Deployment>,
    /// The Application of that deployment, or of the row.
    pub application: Option<&'a Application>,
    /// Whether an earlier run of the same deployment is not over.
    pub is_behind_another: bool,
    /// Operations about its row.
    pub operations: &'a [Operation],
}

/// A sync run as the database knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Which resource is which row.
    pub mapping: ApiToDatabase,
    /// That row.
    pub sync: SyncOperation,
}

/// Decides.
///
/// # Guarantees
/// - Runs of one deployment are made one after the other.                 // test: guarantees_runs_are_made_one_after_the_other
/// - A run whose deployment is missing is made when it appears.           // test: guarantees_a_run_waits_for_its_deployment
/// - What a run was told stays, however long ago it was.                  // test: guarantees_a_run_that_failed_has_failed
pub fn decide(input: &Input<'_>, id: impl FnMut() -> String) -> Decision {
    let mut decision = Decision::default();
    let live = input.run.filter(|run| !run.metadata.is_deleted());
    match (live, input.known) {
        (None, Some(known)) => stop(input, known, &mut decision),
        (None, None) => {}
        (Some(run), None) => begin(input, run, id, &mut decision),
        (Some(run), Some(known)) => follow(input, run, known, id, &mut decision),
    }
    decision
}

fn begin(input: &Input<'_>, run: &SyncRun, mut id: impl FnMut() -> String, decision: &mut Decision) {
    // Whoever reads a deployment that is not there is woken when it is: there is no list to be lost in a restart.
    let Some(deployment) = input.deployment.filter(|deployment| !deployment.metadata.is_deleted()) else { return };
    if deployment.mode() == Some(Mode::Automated) {
        return tell(run, Err(&automated_not_allowed(&run.metadata.name)), input.now, decision);
    }
    if let Err(said) = run.judge() {
        return tell(run, Err(&said), input.now, decision);
    }
    // Nothing is there to be synced, and the deployment says why: to wait for that without a word helps nobody.
    if input.application.is_none()
        && let Some(why) = error_of(deployment)
    {
        return tell(run, Err(why), input.now, decision);
    }
    let Some(application) = input.application.filter(|_| !input.is_behind_another) else { return };
    let sync = SyncOperation {
        id: SyncOperationId::from(id()),
        application: Some(application.id.clone()),
        deployment_name: run.spec.gitops_deployment_name.clone(),
        // Empty is what the deployment says; the original refuses it.
        revision: run.spec.revision_id.clone(),
        desired_state: DesiredState::Running,
        created_on: input.now.moment,
    };
    let mapping = ApiToDatabase {
        resource: ApiResource::SyncRun,
        resource_uid: run.metadata.id(),
        name: run.metadata.name.clone(),
        namespace: input.namespace.name.clone(),
        namespace_uid: input.namespace.uid.clone(),
        relation: ApiRelation::SyncOperation,
        relation_key: sync.id.as_str().to_string(),
    };
    decision.changes.extend([Change::insert(&sync), Change::insert(&mapping)]);
    // One that went well has gone well, though its rows were lost: to make it again may be a step back.
    if !has_gone_well(run) {
        ask(input, application, &sync, id, decision);
    }
}

fn ask(
    input: &Input<'_>,
    application: &Application,
    sync: &SyncOperation,
    mut id: impl FnMut() -> String,
    decision: &mut Decision,
) {
    let row = operation::row(&wish(input, application, sync), OperationId::from(id()), input.now.moment);
    decision.changes.push(Change::insert(&row));
}

/// Why a deployment is not made, if it was told.
fn error_of(deployment: &Deployment) -> Option<&str> {
    let holds = |one: &&Condition| one.r#type == ERROR_OCCURRED && one.status == Truth::True;
    deployment.status.conditions.iter().find(holds).map(|one| one.message.as_str())
}

/// What a run was told, if it was told anything.
fn standing(run: &SyncRun) -> Option<Truth> {
    run.status.conditions.iter().find(|one| one.r#type == ERROR_OCCURRED).map(|one| one.status)
}

/// Whether nothing but what a run was told says that it went well: its rows may be gone.
fn has_gone_well(run: &SyncRun) -> bool {
    let said = run.status.conditions.iter().find(|one| one.r#type == ERROR_OCCURRED);
    said.is_some_and(|one| one.status == Truth::False || one.reason == CHANGED_AFTER_SUCCESS)
}

fn follow(input: &Input<'_>, run: &SyncRun, known: &Known, id: impl FnMut() -> String, decision: &mut Decision) {
    let about = input.operations.iter().filter(|row| row.resource_id == known.sync.id.as_str());
    let last = about.max_by_key(|row| row.created_on);
    let changed = if run.spec.gitops_deployment_name != known.sync.deployment_name {
        Some(NAME_IMMUTABLE)
    } else {
        (run.spec.revision_id != known.sync.revision).then_some(REVISION_IMMUTABLE)
    };
    if let Some(said) = changed {
        let went_well = last.map_or_else(|| has_gone_well(run), |row| row.state == OperationState::Completed);
        let reason = if went_well { CHANGED_AFTER_SUCCESS } else { ERROR_OCCURRED };
        return tell_for(run, reason, Err(said), input.now, decision);
    }
    match last {
        Some(row) if row.state == OperationState::Failed => {
            let why = row.human_readable_state.as_deref().unwrap_or(UNKNOWN_ERROR);
            tell(run, Err(why), input.now, decision);
        }
        Some(row) if operation::is_overdue(row, input.now.moment) => {
            tell(run, Err(UNKNOWN_ERROR), input.now, decision);
        }
        // What it was told before it was made is over.
        Some(row) if row.state != OperationState::Completed => untell(run, decision),
        Some(_) => tell(run, Ok(()), input.now, decision),
        // It was over so long ago that nothing but its condition says how; also behind what was told of a change that is undone.
        None if has_gone_well(run) => tell(run, Ok(()), input.now, decision),
        None if standing(run).is_some() => {}
        // It was forgotten with a restore. A sync that was made all the same is found by its id, and not made again.
        None => match input.application {
            Some(application) => ask(input, application, &known.sync, id, decision),
            None => tell(run, Err(NO_APPLICATION), input.now, decision),
        },
    }
}

/// Ends a sync whose resource is gone, and removes its rows when it has ended.
fn stop(input: &Input<'_>, known: &Known, decision: &mut Decision) {
    let forget = || [Change::delete(&known.mapping), Change::delete(&known.sync)];
    let Some(application) = input.application else {
        return decision.changes.extend(forget());
    };
    let id = OperationId::from(format!("{STOP}{}", known.mapping.resource_uid));
    let stopping = input.operations.iter().find(|row| row.id == id);
    match (known.sync.desired_state, stopping) {
        (DesiredState::Running, _) => {
            let ended = SyncOperation { desired_state: DesiredState::Terminated, ..known.sync.clone() };
            decision.changes.push(Change::update(&known.sync, &ended));
            let wish = wish(input, application, &ended);
            decision.changes.push(Change::put(&operation::row(&wish, id, input.now.moment)));
        }
        (DesiredState::Terminated, Some(row))
            if row.state != OperationState::Completed && row.state != OperationState::Failed => {}
        (DesiredState::Terminated, _) => decision.changes.extend(forget()),
    }
}

fn wish<'a>(input: &'a Input<'_>, application: &'a Application, sync: &'a SyncOperation) -> Wish<'a> {
    Wish {
        instance: &application.instance,
        resource: OperationResource::SyncOperation,
        resource_id: sync.id.as_str(),
        owner: &input.user.id,
    }
}

/// Takes back what a run was told: it is under way.
fn untell(run: &SyncRun, decision: &mut Decision) {
    let mut status = run.status.clone();
    status.conditions.retain(|one| one.r#type != ERROR_OCCURRED);
    write(run, &status, decision);
}

fn tell(run: &SyncRun, result: Result<(), &str>, now: Now<'_>, decision: &mut Decision) {
    tell_for(run, ERROR_OCCURRED, result, now, decision);
}

fn tell_for(run: &SyncRun, reason: &str, result: Result<(), &str>, now: Now<'_>, decision: &mut Decision) {
    let mut status = run.status.clone();
    match result {
        // A run that went well has a condition that says nothing.
        Ok(()) => condition::set(&mut status.conditions, ERROR_OCCURRED, Truth::False, "", "", now.text),
        Err(why) => {
            condition::set(&mut status.conditions, ERROR_OCCURRED, Truth::True, reason, why, now.text);
        }
    }
    for condition in &mut status.conditions {
        // This kind has no such field.
        condition.last_probe_time = None;
    }
    write(run, &status, decision);
}

fn write(run: &SyncRun, status: &SyncRunStatus, decision: &mut Decision) {
    if *status != run.status {
        let target = Target {
            api_version: kinds::API_VERSION,
            kind: KIND,
            namespace: run.metadata.namespace.clone(),
            name: run.metadata.name.clone(),
        };
        decision.writes.push(Write::Status(target, json!(status)));
    }
}
