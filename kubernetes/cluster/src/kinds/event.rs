//! Validation of Events of both groups, and of Leases.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::checks::{int, name_errors, text};
use crate::metadata::{self, IMMUTABLE, NameRule};

const MAX_INSTANCE: usize = 128;
const MAX_ACTION: usize = 128;
const MAX_REASON: usize = 128;
const MAX_NOTE: usize = 1024;

/// Validates the fields of both groups. `controller` is the group's name for the reporting controller field.
pub(super) fn legacy(event: &Value, controller: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let namespace = text(event, "/metadata/namespace");
    let about = either(event, "involvedObject", "regarding");
    let theirs = text(about, "/namespace");
    let mismatch = FieldError::invalid("involvedObject.namespace", theirs, "does not match event.namespace");
    if event["eventTime"].is_null() {
        let wrong = if theirs.is_empty() { !matches!(namespace, "" | "default") } else { namespace != theirs };
        errors.extend(wrong.then_some(mismatch));
    } else {
        let wrong = theirs.is_empty() && !matches!(namespace, "default" | "kube-system");
        errors.extend(wrong.then_some(mismatch));
        errors.extend(validate_timed(event, controller));
    }
    errors.extend(name_errors(name::dns1123_subdomain(namespace), "namespace", namespace));
    errors
}

fn either<'a>(event: &'a Value, old: &str, new: &str) -> &'a Value {
    if event[old].is_null() { &event[new] } else { &event[old] }
}

/// Validates an Event with an event time, which requires reporter, reason and action.
fn validate_timed(event: &Value, controller: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let reporter = either(event, "reportingComponent", "reportingController").as_str().unwrap_or("");
    if reporter.is_empty() {
        errors.push(FieldError::required(controller, ""));
    }
    errors.extend(name_errors(name::qualified_name(reporter), controller, reporter));
    for (field, limit) in [("reportingInstance", MAX_INSTANCE), ("action", MAX_ACTION), ("reason", MAX_REASON)] {
        let value = text(event, &format!("/{field}"));
        if value.is_empty() {
            errors.push(FieldError::required(field, ""));
        }
        if value.len() > limit {
            errors.push(FieldError::invalid(field, "", format!("can have at most {limit} characters")));
        }
    }
    if either(event, "message", "note").as_str().unwrap_or("").len() > MAX_NOTE {
        errors.push(FieldError::invalid("message", "", format!("can have at most {MAX_NOTE} characters")));
    }
    errors
}

/// Validates a new Event of events.k8s.io.
pub(super) fn create(event: &Value) -> Vec<FieldError> {
    let mut errors = legacy(event, "reportingController");
    errors.extend(metadata::validate(&event["metadata"], true, NameRule::Subdomain, "metadata"));
    errors.extend(series(event));
    if event["eventTime"].is_null() {
        errors.push(FieldError::required("eventTime", ""));
    }
    let kind = text(event, "/type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", "", format!("has invalid value: {kind}")));
    }
    for (field, shown) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
    ] {
        if !event[field].is_null() {
            errors.push(FieldError::invalid(shown, "", "needs to be unset"));
        }
    }
    let source = &event["deprecatedSource"];
    if !text(source, "/component").is_empty() || !text(source, "/host").is_empty() {
        errors.push(FieldError::invalid("source", "", "needs to be unset"));
    }
    errors
}

fn series(event: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if event["series"].is_object() {
        if int(event, "/series/count") < 2 {
            errors.push(FieldError::invalid("series.count", "", "should be at least 2"));
        }
        if event["series"]["lastObservedTime"].is_null() {
            errors.push(FieldError::required("series.lastObservedTime", ""));
        }
    }
    errors
}

/// Validates an update of an Event of events.k8s.io: only its series may change.
pub(super) fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = legacy(new, "reportingController");
    if new["series"] != old["series"] {
        errors.extend(series(new));
    }
    for (field, shown) in [
        ("regarding", "involvedObject"),
        ("reason", "reason"),
        ("note", "message"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        if new[field] != old[field] {
            errors.push(FieldError::invalid(shown, new[field].clone(), IMMUTABLE));
        }
    }
    errors
}

/// Validates a Lease.
pub(super) fn lease(object: &Value) -> Vec<FieldError> {
    let (spec, mut errors) = (&object["spec"], Vec::new());
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64().filter(|s| *s <= 0) {
        errors.push(FieldError::invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
    }
    if let Some(count) = spec["leaseTransitions"].as_i64().filter(|c| *c < 0) {
        errors.push(FieldError::invalid("spec.leaseTransitions", count, "must be greater than or equal to 0"));
    }
    errors
}
