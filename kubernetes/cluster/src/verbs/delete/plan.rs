//! Plan of a delete: do nothing, mark the object, or remove it. A function of the object, the options and the time.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use switchboard_object::kind::{GroupResource, GroupVersionKind};
use switchboard_object::status::Status;

use super::super::ApiCall;
use crate::clock_and_rng::time_text;
use crate::crd;
use crate::request::delete::{DeleteOptions, Propagation};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// Plan of a delete.
pub(super) enum DeletePlan {
    /// The deletion is in progress already.
    Nothing,
    /// Store this object, with its deletion marks.
    Mark(Value),
    /// Remove the object; this is its last state.
    Remove(Value),
}

/// Plans the delete of every kind except namespaces and CRDs.
pub(super) fn plan(
    call: &ApiCall,
    live: &Value,
    options: &DeleteOptions,
    now: Timestamp,
) -> Result<DeletePlan, Status> {
    check_preconditions(&call.resource.kind, live, options)?;
    let grace = match graceful(call, live, options, now) {
        GracePeriod::Pending => return Ok(DeletePlan::Nothing),
        GracePeriod::Until(seconds, marked) => Some((seconds, marked)),
        GracePeriod::None => None,
    };
    let mut object = grace.as_ref().map_or_else(|| live.clone(), |(_, marked)| marked.clone());
    set_collector_finalizers(call, &mut object, options);
    let waits = object["metadata"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
    match grace {
        None if !waits => Ok(DeletePlan::Remove(object)),
        None => {
            mark_as_deleting(&mut object, now);
            Ok(DeletePlan::Mark(object))
        }
        Some((seconds, _)) if waits || seconds > 0 => Ok(DeletePlan::Mark(object)),
        Some(_) => Ok(DeletePlan::Remove(object)),
    }
}

/// Plans the delete of a namespace: the first delete starts its termination, which ends when its finalizers are
/// removed.
pub(super) fn namespace(call: &ApiCall, live: &Value, options: &DeleteOptions) -> Result<DeletePlan, Status> {
    check_storage_preconditions(call, live, options)?;
    let now = call.inner.clock_and_rng.now();
    if live["metadata"]["deletionTimestamp"].is_null() {
        let mut object = live.clone();
        object["metadata"]["deletionTimestamp"] = time_text(now).into();
        object["status"]["phase"] = "Terminating".into();
        set_collector_finalizers(call, &mut object, options);
        return Ok(DeletePlan::Mark(object));
    }
    if live["spec"]["finalizers"].as_array().is_some_and(|f| !f.is_empty()) {
        return Ok(DeletePlan::Nothing);
    }
    plan(call, live, options, now)
}

/// Plans the delete of a CRD: its instances are deleted first.
pub(super) fn definition(call: &ApiCall, live: &Value, options: &DeleteOptions) -> Result<DeletePlan, Status> {
    check_storage_preconditions(call, live, options)?;
    let now = call.inner.clock_and_rng.now();
    if !live["metadata"]["deletionTimestamp"].is_null() {
        return plan(call, live, options, now);
    }
    Ok(DeletePlan::Mark(crd::marked_for_deletion(live, &time_text(now))))
}

fn check_storage_preconditions(call: &ApiCall, live: &Value, options: &DeleteOptions) -> Result<(), Status> {
    let (uid, version) = (ApiCall::metadata(live, "uid"), ApiCall::metadata(live, "resourceVersion"));
    let conflict = |what: &str, wanted: &str, found: &str| {
        let why = format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}");
        Status::conflict(&call.resource.group_resource(), ApiCall::metadata(live, "name"), &why)
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
    // kube-apiserver names the kind here, where other conflicts name the resource.
    let subject = GroupResource::new(kind.group.as_str(), kind.kind.as_str());
    let name = ApiCall::metadata(live, "name");
    let uid = ApiCall::metadata(live, "uid");
    if let Some(wanted) = options.uid.as_deref().filter(|w| *w != uid) {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been \
             deleted and then recreated"
        );
        return Err(Status::conflict(&subject, name, &why));
    }
    let version = ApiCall::metadata(live, "resourceVersion");
    if let Some(wanted) = options.resource_version.as_deref().filter(|w| *w != version) {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). \
             The object might have been modified"
        );
        return Err(Status::conflict(&subject, name, &why));
    }
    Ok(())
}

enum GracePeriod {
    /// The kind has no grace period, or it has ended.
    None,
    /// A grace period is running and is not shortened.
    Pending,
    /// Object with its deletion marks, and the period.
    Until(i64, Value),
}

/// Returns the grace period. Only pods have one.
fn graceful(call: &ApiCall, live: &Value, options: &DeleteOptions, now: Timestamp) -> GracePeriod {
    let wanted = options.grace_period_seconds.map(|s| if s < 0 { 1 } else { s });
    let is_pod = call.resource.kind.group.is_empty() && call.resource.kind.kind == "Pod";
    if !is_pod {
        return GracePeriod::None;
    }
    let metadata = &live["metadata"];
    if let Some(since) = metadata["deletionTimestamp"].as_str() {
        let running = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        return match wanted {
            _ if running == 0 => GracePeriod::None,
            Some(shorter) if shorter < running => shorten(live, since, running, shorter, now),
            _ => GracePeriod::Pending,
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
    GracePeriod::Until(period, marked)
}

fn shorten(live: &Value, since: &str, running: i64, shorter: i64, now: Timestamp) -> GracePeriod {
    let end = since.parse::<Timestamp>().unwrap_or(now);
    let begin = end.saturating_sub(SignedDuration::from_secs(running)).unwrap_or(now);
    let end = begin.saturating_add(SignedDuration::from_secs(shorter)).unwrap_or(now);
    // The whole period may have ended already; then the shortest graceful period is used.
    let (end, period) = if end < now { (now, shorter.min(1)) } else { (end, shorter) };
    let mut marked = live.clone();
    mark(&mut marked, end, period);
    GracePeriod::Until(period, marked)
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

/// Sets the garbage collector's finalizers according to the options.
fn set_collector_finalizers(call: &ApiCall, object: &mut Value, options: &DeleteOptions) {
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

/// Whether dependents are orphaned by default: those of Jobs and replication controllers, as in the first API versions.
fn orphans_by_default(kind: &GroupVersionKind) -> bool {
    matches!((kind.group.as_str(), kind.kind.as_str()), ("batch", "Job") | ("", "ReplicationController"))
}
