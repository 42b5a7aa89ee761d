//! What a delete does to an object: nothing more, a mark, or the end. A function of the object, the options and the time.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use switchboard_object::kind::{GroupResource, GroupVersionKind};
use switchboard_object::status::Status;

use super::super::Call;
use crate::ambient::time_text;
use crate::crd;
use crate::request::delete::{DeleteOptions, Propagation};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// What to do.
pub(super) enum Plan {
    /// The deletion is under way already.
    Nothing,
    /// Store this, with its deletion marks.
    Mark(Value),
    /// Remove the object; this is its last state.
    Remove(Value),
}

/// Decides for every kind but namespaces.
pub(super) fn plan(call: &Call, live: &Value, options: &DeleteOptions, now: Timestamp) -> Result<Plan, Status> {
    check_preconditions(&call.resource.kind, live, options)?;
    let grace = match graceful(call, live, options, now) {
        Grace::Pending => return Ok(Plan::Nothing),
        Grace::Until(seconds, marked) => Some((seconds, marked)),
        Grace::None => None,
    };
    let mut object = grace.as_ref().map_or_else(|| live.clone(), |(_, marked)| marked.clone());
    set_collector_finalizers(call, &mut object, options);
    let waits = object["metadata"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
    match grace {
        None if !waits => Ok(Plan::Remove(object)),
        None => {
            mark_as_deleting(&mut object, now);
            Ok(Plan::Mark(object))
        }
        Some((seconds, _)) if waits || seconds > 0 => Ok(Plan::Mark(object)),
        Some(_) => Ok(Plan::Remove(object)),
    }
}

/// Decides for namespaces: the first delete begins their end, which comes when their finalizers are gone.
pub(super) fn namespace(call: &Call, live: &Value, options: &DeleteOptions) -> Result<Plan, Status> {
    check_storage_preconditions(call, live, options)?;
    let now = call.inner.ambient.now();
    if live["metadata"]["deletionTimestamp"].is_null() {
        let mut object = live.clone();
        object["metadata"]["deletionTimestamp"] = time_text(now).into();
        object["status"]["phase"] = "Terminating".into();
        set_collector_finalizers(call, &mut object, options);
        return Ok(Plan::Mark(object));
    }
    if live["spec"]["finalizers"].as_array().is_some_and(|f| !f.is_empty()) {
        return Ok(Plan::Nothing);
    }
    plan(call, live, options, now)
}

/// Decides for CRDs: their instances go first.
pub(super) fn definition(call: &Call, live: &Value, options: &DeleteOptions) -> Result<Plan, Status> {
    check_storage_preconditions(call, live, options)?;
    let now = call.inner.ambient.now();
    if !live["metadata"]["deletionTimestamp"].is_null() {
        return plan(call, live, options, now);
    }
    Ok(Plan::Mark(crd::marked_for_deletion(live, &time_text(now))))
}

fn check_storage_preconditions(call: &Call, live: &Value, options: &DeleteOptions) -> Result<(), Status> {
    let (uid, version) = (Call::metadata(live, "uid"), Call::metadata(live, "resourceVersion"));
    let conflict = |what: &str, wanted: &str, found: &str| {
        let why = format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}");
        Status::conflict(&call.resource.group_resource(), Call::metadata(live, "name"), &why)
    };
    if let Some(wanted) = options.uid.as_deref().filter(|w| *w != uid) {
        return Err(conflict("UID", wanted, uid));
    }
    match options.resource_version.as_deref().filter(|w| *w != version) {
        Some(wanted) => Err(conflict("ResourceVersion", wanted, version)),
        None => Ok(()),
    }
}

fn check_preconditions(kind: &GroupVersionKind, live: &Value, options: &DeleteOptions) -> Result<(), Status> {
    // Upstream names the kind where other conflicts name the resource.
    let subject = GroupResource::new(kind.group.as_str(), kind.kind.as_str());
    let name = Call::metadata(live, "name");
    let uid = Call::metadata(live, "uid");
    if let Some(wanted) = options.uid.as_deref().filter(|w| *w != uid) {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been \
             deleted and then recreated"
        );
        return Err(Status::conflict(&subject, name, &why));
    }
    let version = Call::metadata(live, "resourceVersion");
    if let Some(wanted) = options.resource_version.as_deref().filter(|w| *w != version) {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). \
             The object might have been modified"
        );
        return Err(Status::conflict(&subject, name, &why));
    }
    Ok(())
}

enum Grace {
    /// The kind has no grace period, or it is over.
    None,
    /// A grace period is running and not made shorter.
    Pending,
    /// The object with its marks, and the period.
    Until(i64, Value),
}

/// Only pods have a grace period.
fn graceful(call: &Call, live: &Value, options: &DeleteOptions, now: Timestamp) -> Grace {
    let wanted = options.grace_period_seconds.map(|s| if s < 0 { 1 } else { s });
    let is_pod = call.resource.kind.group.is_empty() && call.resource.kind.kind == "Pod";
    if !is_pod {
        return Grace::None;
    }
    let metadata = &live["metadata"];
    if let Some(since) = metadata["deletionTimestamp"].as_str() {
        let running = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        return match wanted {
            _ if running == 0 => Grace::None,
            Some(shorter) if shorter < running => shorten(live, since, running, shorter, now),
            _ => Grace::Pending,
        };
    }
    let unscheduled = live["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
    let over = matches!(live["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    let own = live["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(0);
    let period = if unscheduled || over { 0 } else { wanted.unwrap_or(own) };
    let period = if period < 0 { 1 } else { period };
    let mut marked = live.clone();
    mark(&mut marked, now.saturating_add(SignedDuration::from_secs(period)).unwrap_or(now), period);
    bump_generation(&mut marked);
    Grace::Until(period, marked)
}

fn shorten(live: &Value, since: &str, running: i64, shorter: i64, now: Timestamp) -> Grace {
    let end = since.parse::<Timestamp>().unwrap_or(now);
    let begin = end.saturating_sub(SignedDuration::from_secs(running)).unwrap_or(now);
    let end = begin.saturating_add(SignedDuration::from_secs(shorter)).unwrap_or(now);
    // The whole period may be over already; then the shortest one that is still graceful.
    let (end, period) = if end < now { (now, shorter.min(1)) } else { (end, shorter) };
    let mut marked = live.clone();
    mark(&mut marked, end, period);
    Grace::Until(period, marked)
}

fn mark(object: &mut Value, at: Timestamp, period: i64) {
    object["metadata"]["deletionTimestamp"] = time_text(at).into();
    object["metadata"]["deletionGracePeriodSeconds"] = json!(period);
}

fn bump_generation(object: &mut Value) {
    if let Some(generation) = object["metadata"]["generation"].as_i64().filter(|g| *g > 0) {
        object["metadata"]["generation"] = json!(generation + 1);
    }
}

fn mark_as_deleting(object: &mut Value, now: Timestamp) {
    let since = object["metadata"]["deletionTimestamp"].as_str().and_then(|t| t.parse::<Timestamp>().ok());
    if since.is_none() {
        bump_generation(object);
    }
    if since.is_none_or(|since| since > now) {
        object["metadata"]["deletionTimestamp"] = time_text(now).into();
    }
    object["metadata"]["deletionGracePeriodSeconds"] = json!(0);
}

/// The garbage collector's finalizers, as the options want them.
fn set_collector_finalizers(call: &Call, object: &mut Value, options: &DeleteOptions) {
    let old: Vec<String> = object["metadata"]["finalizers"]
        .as_array()
        .map(|all| all.iter().filter_map(|f| f.as_str().map(Into::into)).collect())
        .unwrap_or_default();
    let has = |name: &str| old.iter().any(|f| f == name);
    let unsupported = call.resource.kind.kind == "Event";
    let is_namespace = call.stored_resource() == "namespaces";
    let (orphan, foreground) = match (unsupported, options.orphan_dependents, options.propagation) {
        (true, ..) => (false, false),
        (_, Some(orphan), _) => (orphan, is_namespace && !orphan),
        (_, None, Some(policy)) => (policy == Propagation::Orphan, policy == Propagation::Foreground),
        (_, None, None) if has(ORPHAN) || has(FOREGROUND) => (has(ORPHAN), !has(ORPHAN)),
        (_, None, None) => (orphans_by_default(&call.resource.kind), false),
    };
    let mut new: Vec<String> = old.iter().filter(|f| !matches!(f.as_str(), ORPHAN | FOREGROUND)).cloned().collect();
    new.extend(orphan.then(|| ORPHAN.to_string()));
    new.extend(foreground.then(|| FOREGROUND.to_string()));
    let same = old.len() == new.len() && old.iter().all(|f| new.contains(f));
    if same {
        return;
    }
    match (new.is_empty(), object["metadata"].as_object_mut()) {
        (true, Some(metadata)) => {
            metadata.remove("finalizers");
        }
        (false, Some(metadata)) => {
            metadata.insert("finalizers".into(), json!(new));
        }
        _ => {}
    }
}

/// Jobs and replication controllers keep what they made, as their first versions did.
fn orphans_by_default(kind: &GroupVersionKind) -> bool {
    matches!((kind.group.as_str(), kind.kind.as_str()), ("batch", "Job") | ("", "ReplicationController"))
}
