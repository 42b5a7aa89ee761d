//! Up to where it can still go back.

use serde_json::Value;
use switchboard_ledger::Change;
use switchboard_ledger::ids::{MoveStep, OperationState};
use switchboard_ledger::rows::fleet::Placement;

use super::asleep::{
    awake, copied, ended, forget, has_finalizers, held, is_busy, is_going, is_held_by, is_retrying, object_of, row_of,
};
use super::{
    Act, FREEZE_MS, Next, PAUSE_MS, SETTLE_MS, Scene, advance, go_back, in_step_ms, source_namespace, to, wait,
};
use crate::argo::application;
use crate::flow::agent::agreed;

/// Operations that have begun end. None begins: the placement says so.
pub fn freeze(scene: &Scene<'_>) -> Next {
    let begun = scene.operations.iter().filter(|row| row.state == OperationState::InProgress).count();
    if begun == 0 {
        return advance(scene, MoveStep::Prepare);
    }
    if in_step_ms(scene) > FREEZE_MS {
        return go_back(scene, format!("{begun} Operations did not end"));
    }
    wait(format!("{begun} Operations are under way"))
}

/// The target has what the Applications need before it has them.
pub fn prepare(scene: &Scene<'_>) -> Next {
    let acts = lacking(scene);
    if acts.is_empty() { advance(scene, MoveStep::Copy) } else { Next::Act(acts) }
}

/// What the Applications need at the target and is not there, or not as it should be by now.
pub fn lacking(scene: &Scene<'_>) -> Vec<Act> {
    scene.needs.iter().filter_map(|wanted| need(wanted, scene.has)).collect()
}

fn need(wanted: &Value, has: &[Value]) -> Option<Act> {
    let same =
        |object: &&Value| object["kind"] == wanted["kind"] && object["metadata"]["name"] == wanted["metadata"]["name"];
    match has.iter().find(same) {
        None => Some(Act::Create(wanted.clone())),
        Some(live) => agreed(wanted, live).map(Act::Update),
    }
}

/// Every Application is at the target, asleep. One that was deleted meanwhile is not.
pub fn copy(scene: &Scene<'_>) -> Next {
    let mut acts = Vec::new();
    for row in scene.applications {
        match copied(row, &scene.target.namespace, object_of(row, scene.at_target), &scene.row.id) {
            Ok(act) => acts.extend(act),
            Err(error) => return go_back(scene, format!("could not copy `{}`: {error}", row.name)),
        }
    }
    acts.extend(stale_copies(scene));
    if acts.is_empty() { advance(scene, MoveStep::Pause) } else { Next::Act(acts) }
}

fn stale_copies(scene: &Scene<'_>) -> Vec<Act> {
    let ours = scene.at_target.iter().filter(|object| is_held_by(object, &scene.row.id));
    ours.filter(|object| row_of(object, scene.applications).is_none()).map(forget).collect()
}

/// Every Application at the source sleeps, and Argo CD is not in the middle of something: a sync that it has begun would never
/// end in its sleep.
pub fn pause(scene: &Scene<'_>) -> Next {
    let mut acts = stale_copies(scene);
    let mut waits = None;
    for object in scene.at_source {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let ours = is_held_by(object, &scene.row.id);
        match row_of(object, scene.applications) {
            // Its deployment was deleted meanwhile: that is done at the source, and for that it must be awake.
            None if ours => acts.push(Act::Update(awake(object.clone()))),
            None => {}
            Some(_) if is_going(object) => waits = Some(format!("`{name}` is being deleted")),
            Some(_) if has_finalizers(object) => {
                return go_back(scene, format!("`{name}` has finalizers: with it would go what it deployed"));
            }
            Some(_) if is_busy(object) => {
                acts.extend(ours.then(|| Act::Update(awake(object.clone()))));
                if !ours && is_retrying(object) {
                    acts.push(Act::Update(ended(object.clone())));
                }
                waits = Some(format!("Argo CD is at work on `{name}`"));
            }
            Some(_) if !ours => acts.push(Act::Update(held(object.clone(), &scene.row.id))),
            Some(_) => {}
        }
    }
    match (acts.is_empty(), waits) {
        (false, _) => Next::Act(acts),
        (true, Some(why)) if in_step_ms(scene) > PAUSE_MS => go_back(scene, why),
        (true, Some(why)) => wait(why),
        (true, None) => advance(scene, MoveStep::Release),
    }
}

/// Every Application at the source goes; what it deployed stays.
pub fn release(scene: &Scene<'_>) -> Next {
    if in_step_ms(scene) < SETTLE_MS {
        return Next::Wait(super::LOOK_AGAIN_MS, "Argo CD settles at the source".to_string());
    }
    let mut acts = Vec::new();
    for object in scene.at_source {
        let Some(row) = row_of(object, scene.applications) else {
            if is_held_by(object, &scene.row.id) {
                return advance(scene, MoveStep::Pause);
            }
            continue;
        };
        if is_going(object) && !has_finalizers(object) {
            continue;
        }
        let copy = object_of(row, scene.at_target).is_some_and(|copy| is_held_by(copy, &scene.row.id));
        if !copy {
            return advance(scene, MoveStep::Copy);
        }
        if has_finalizers(object) || is_busy(object) || !is_held_by(object, &scene.row.id) {
            return advance(scene, MoveStep::Pause);
        }
        acts.push(forget(object));
    }
    if acts.is_empty() { advance(scene, MoveStep::Flip) } else { Next::Act(acts) }
}

/// All becomes as it was: what the source has let go comes back asleep, then the copies go, then the source wakes, then
/// goes what was prepared.
pub fn put_back(scene: &Scene<'_>) -> Next {
    if scene.source.is_none() {
        return wait("the source is lost, and there is nowhere to go back to");
    }
    let missing = scene.applications.iter().filter(|row| object_of(row, scene.at_source).is_none());
    // A text that nobody understands was never an Application.
    let missing = missing.filter_map(|row| application::object(row, source_namespace(scene)).ok());
    let acts: Vec<Act> = missing.map(|object| Act::Create(held(object, &scene.row.id))).collect();
    if !acts.is_empty() {
        return Next::Act(acts);
    }
    let copies = scene.at_target.iter().filter(|object| is_held_by(object, &scene.row.id));
    let asleep = scene.at_source.iter().filter(|object| is_held_by(object, &scene.row.id));
    let mut acts: Vec<Act> = copies.map(forget).collect();
    if acts.is_empty() {
        acts = asleep.map(|object| Act::Update(awake(object.clone()))).collect();
    }
    if !acts.is_empty() {
        return Next::Act(acts);
    }
    let acts: Vec<Act> = scene.prepared.iter().map(forget).collect();
    if !acts.is_empty() {
        return Next::Act(acts);
    }
    let free = Placement { moving: None, ..scene.placement.clone() };
    let why = scene.row.human_readable_state.clone();
    Next::Commit(vec![Change::update(scene.placement, &free), to(scene, MoveStep::Returned, why)])
}
