//! From where it only goes on.

use serde_json::Value;
use switchboard_ledger::Change;
use switchboard_ledger::ids::{MoveStep, OperationResource, OperationState};
use switchboard_ledger::rows::fleet::Placement;
use switchboard_ledger::rows::{Application, ClusterAccess, Operation, RepositoryCredentials};

use super::asleep::{awake, forget, has_finalizers, is_held_by, row_of};
use super::steps::lacking;
use super::{Act, CLEAN_MS, Next, Scene, WAKE_MS, advance, in_step_ms, source_namespace, to, wait};
use crate::argo::{self, DATABASE_ID};
use crate::flow::deployment::removal_id;
use crate::flow::operation::{self, Wish};

/// The rows name the target, all at once.
pub fn flip(scene: &Scene<'_>) -> Next {
    let placement =
        Placement { instance: scene.row.target.clone(), epoch: scene.placement.epoch + 1, ..scene.placement.clone() };
    let mut changes = vec![Change::update(scene.placement, &placement)];
    changes.extend(renamed(scene));
    let access = scene.access.iter().filter(|row| row.instance == scene.row.source);
    for row in access {
        let there = ClusterAccess { instance: scene.row.target.clone(), ..row.clone() };
        changes.extend([Change::delete(row), Change::ensure(&there)]);
    }
    for row in scene.credentials.iter().filter(|row| row.instance == scene.row.source) {
        changes.push(Change::update(row, &RepositoryCredentials { instance: scene.row.target.clone(), ..row.clone() }));
    }
    changes.push(to(scene, MoveStep::Wake, None));
    Next::Commit(changes)
}

/// Rows that still name the source: all of them at the flip, and later those that were written while it was decided.
fn renamed(scene: &Scene<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    for row in scene.applications.iter().filter(|row| row.instance != scene.row.target) {
        let moved = Application {
            instance: scene.row.target.clone(),
            spec_field: spec_field(scene, &row.spec_field),
            ..row.clone()
        };
        changes.push(Change::update(row, &moved));
    }
    for row in scene.operations.iter().filter(|row| row.instance == scene.row.source && follows(scene, row)) {
        changes.push(Change::update(row, &Operation { instance: scene.row.target.clone(), ..row.clone() }));
    }
    changes
}

/// Whether an Operation is about something that is at the target from now on. One about a deployment that was deleted before its
/// Application fell asleep is done where that one still is.
fn follows(scene: &Scene<'_>, row: &Operation) -> bool {
    let known = scene.applications.iter().any(|application| application.id.as_str() == row.resource_id);
    let copied = scene.at_target.iter().any(|object| object["metadata"]["labels"][DATABASE_ID] == *row.resource_id);
    row.resource != OperationResource::Application || known || copied
}

/// The text names the namespace, too; nobody reads it there, but a text that differs is a reason to look.
fn spec_field(scene: &Scene<'_>, text: &str) -> String {
    let line = |namespace: &str| format!("\n  namespace: {namespace}\n");
    match source_namespace(scene) {
        "" => text.to_string(),
        source => text.replacen(&line(source), &line(&scene.target.namespace), 1),
    }
}

/// The target takes over; when it has compared, Operations may begin again.
pub fn wake(scene: &Scene<'_>) -> Next {
    let late = renamed(scene);
    if !late.is_empty() {
        return Next::Commit(late);
    }
    let removals = removals(scene);
    if !removals.is_empty() {
        return Next::Commit(removals);
    }
    // A credential that changed since the target was prepared was asked for at the source. Looked at until the end of the step: who
    // changes one from then on finds the target in the rows. Without an Application nothing is needed, and the last one takes it along.
    let acts = if scene.applications.is_empty() { vec![] } else { lacking(scene) };
    if !acts.is_empty() {
        return Next::Act(acts);
    }
    let asleep = scene.at_target.iter().filter(|object| is_held_by(object, &scene.row.id));
    let acts: Vec<Act> = asleep.map(|object| Act::Update(awake(object.clone()))).collect();
    if !acts.is_empty() {
        return Next::Act(acts);
    }
    let known = scene.at_target.iter().filter(|object| row_of(object, scene.applications).is_some());
    let silent = known.filter(|object| !has_compared(object)).count();
    if silent > 0 && in_step_ms(scene) <= WAKE_MS {
        return wait(format!("{silent} Applications are not compared yet"));
    }
    let why = (silent > 0).then(|| format!("the target did not compare {silent} Applications in time"));
    let free = Placement { moving: None, ..scene.placement.clone() };
    Next::Commit(vec![Change::update(scene.placement, &free), to(scene, MoveStep::Clean, why)])
}

fn has_compared(object: &Value) -> bool {
    let answered = object["metadata"]["annotations"].get(argo::application::REFRESH).is_none();
    answered && object["status"]["sync"]["status"].as_str().is_some_and(|status| !status.is_empty())
}

/// A deployment that was deleted while its Application was on its way is deleted where the Application is now.
fn removals(scene: &Scene<'_>) -> Vec<Change> {
    let orphans = scene.at_target.iter().filter(|object| is_held_by(object, &scene.row.id));
    let orphans = orphans.filter(|object| row_of(object, scene.applications).is_none());
    orphans.filter_map(|object| removal(scene, object)).collect()
}

fn removal(scene: &Scene<'_>, object: &Value) -> Option<Change> {
    let row = object["metadata"]["labels"][DATABASE_ID].as_str()?;
    let deployment = argo::deployment_of(object["metadata"]["name"].as_str()?)?;
    let asked = scene.operations.iter().any(|operation| {
        operation.instance == scene.row.target
            && operation.resource == OperationResource::Application
            && operation.resource_id == row
            && operation.state == OperationState::Waiting
    });
    let wish = Wish {
        instance: &scene.row.target,
        resource: OperationResource::Application,
        resource_id: row,
        owner: &scene.row.user,
    };
    (!asked).then(|| Change::put(&operation::row(&wish, removal_id(&deployment), scene.now)))
}

/// What has no use at the source any more goes, with whatever a late hand put back there.
pub fn clean(scene: &Scene<'_>) -> Next {
    let strays = scene.at_source.iter().filter(|object| row_of(object, scene.applications).is_some());
    let mut acts: Vec<Act> = strays.filter(|object| !has_finalizers(object)).map(forget).collect();
    acts.extend(scene.leftovers.iter().map(forget));
    match (acts.is_empty(), scene.in_use) {
        (false, _) => Next::Act(acts),
        (true, 0) => advance(scene, MoveStep::Done),
        (true, _) if in_step_ms(scene) > CLEAN_MS => {
            let why =
                "Applications at the source still use its project or its Secrets: the agent removes those behind them";
            Next::Commit(vec![to(scene, MoveStep::Done, Some(why.to_string()))])
        }
        (true, _) => wait("Applications at the source still use its project or its Secrets"),
    }
}
