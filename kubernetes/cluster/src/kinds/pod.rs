//! Validation of Pods and their updates.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::checks::{at, items, text};
use super::internal;
use super::podspec::{self, PodSpecContext};
use crate::metadata::{IMMUTABLE, NameRule, validate as validate_metadata};

/// Validates a new Pod.
pub(super) fn create(pod: &Value) -> Vec<FieldError> {
    let mut errors = spec(pod);
    if !items(pod, "/spec/ephemeralContainers").is_empty() {
        errors.push(FieldError::forbidden("spec.ephemeralContainers", "cannot be set on create"));
    }
    if !text(pod, "/spec/nodeName").is_empty() && !items(pod, "/spec/schedulingGates").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        errors.push(FieldError::forbidden("spec.nodeName", detail));
    }
    errors
}

/// Validates the spec of a Pod.
pub(super) fn spec(pod: &Value) -> Vec<FieldError> {
    let place = PodSpecContext { path: "spec", pod: Some(text(pod, "/metadata/name")) };
    let mut errors = podspec::validate(&pod["spec"], &place);
    for list in ["containers", "initContainers"] {
        for (index, container) in items(&pod["spec"], &format!("/{list}")).iter().enumerate() {
            let image = text(container, "/image");
            if image.trim() != image {
                let path = format!("spec.{list}[{index}].image");
                errors.push(FieldError::invalid(path, image, "must not have leading or trailing whitespace"));
            }
        }
    }
    errors
}

/// Validates an update, which may only change images and the deadline, add tolerations, and remove scheduling gates.
pub(super) fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = validate_metadata(&new["metadata"], true, NameRule::Subdomain, "metadata");
    errors.extend(spec(new));
    for list in ["containers", "initContainers"] {
        let pointer = format!("/spec/{list}");
        if items(new, &pointer).len() != items(old, &pointer).len() {
            let detail = "pod updates may not add or remove containers";
            errors.push(FieldError::forbidden(format!("spec.{list}"), detail));
            return errors;
        }
        // Images are validated again here, so their errors are listed twice.
        for (index, container) in items(new, &pointer).iter().enumerate() {
            let (image, path) = (text(container, "/image"), format!("spec.{list}[{index}].image"));
            if image.is_empty() {
                errors.push(FieldError::required(path.clone(), ""));
            }
            if image.trim() != image {
                errors.push(FieldError::invalid(path, image, "must not have leading or trailing whitespace"));
            }
        }
    }
    match deadline(new, old) {
        Some((error, true)) => {
            errors.push(error);
            return errors;
        }
        Some((error, false)) => errors.push(error),
        None => {}
    }
    errors.extend(added_tolerations(new, old));
    errors.extend(removed_gates(new, old));
    if new["spec"] == old["spec"] {
        return errors;
    }
    let munged = munged(new, old);
    if munged != old["spec"] {
        let fields = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        let text = format!("pod updates may not change fields other than {fields}");
        let detail = internal::with_diff(&text, "core.PodSpec", &old["spec"], &munged);
        errors.push(FieldError::forbidden("spec", detail));
    }
    errors
}

fn deadline(new: &Value, old: &Value) -> Option<(FieldError, bool)> {
    const MAX: i64 = i32::MAX as i64;
    let path = "spec.activeDeadlineSeconds";
    let value = |v: &Value| at(v, "/spec/activeDeadlineSeconds").as_i64();
    match (value(new), value(old)) {
        (Some(is), _) if !(0..=MAX).contains(&is) => {
            Some((FieldError::invalid(path, is, name::inclusive_range_error(0, MAX)), true))
        }
        (Some(is), Some(was)) if was < is => {
            Some((FieldError::invalid(path, is, "must be less than or equal to previous value"), true))
        }
        (None, Some(_)) => {
            let detail = "must not update from a positive integer to nil value";
            Some((FieldError::invalid(path, Value::Null, detail), false))
        }
        _ => None,
    }
}

fn added_tolerations(new: &Value, old: &Value) -> Option<FieldError> {
    let bare = |t: &Value| {
        let mut t = t.clone();
        t.as_object_mut().map(|m| m.remove("tolerationSeconds"));
        t
    };
    let kept = |was: &Value| items(new, "/spec/tolerations").iter().any(|is| bare(is) == bare(was));
    let detail = "existing toleration can not be modified except its tolerationSeconds";
    let all = items(old, "/spec/tolerations").iter().all(kept);
    (!all).then(|| FieldError::forbidden("spec.tolerations", detail))
}

fn removed_gates(new: &Value, old: &Value) -> Vec<FieldError> {
    let was = items(old, "/spec/schedulingGates");
    let added = items(new, "/spec/schedulingGates").iter().enumerate().filter(|(_, g)| !was.contains(g));
    added
        .map(|(i, _)| {
            let detail = "only deletion is allowed, but found new scheduling gate";
            FieldError::forbidden(format!("spec.schedulingGates[{i}]"), detail)
        })
        .collect()
}

/// Returns the new spec with the old values of all mutable fields.
fn munged(new: &Value, old: &Value) -> Value {
    let mut spec = new["spec"].clone();
    for list in ["containers", "initContainers"] {
        for (index, container) in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().enumerate() {
            container["image"] = old["spec"][list][index]["image"].clone();
        }
    }
    let mut put_back = |field: &str| match old["spec"].get(field) {
        Some(value) => spec[field] = value.clone(),
        None => {
            spec.as_object_mut().map(|m| m.remove(field));
        }
    };
    put_back("activeDeadlineSeconds");
    put_back("schedulingGates");
    put_back("tolerations");
    let grace = "terminationGracePeriodSeconds";
    if old["spec"][grace].as_i64().is_some_and(|s| s < 0) && new["spec"][grace] == 1 {
        put_back(grace);
    }
    if !items(old, "/spec/schedulingGates").is_empty() {
        put_back("nodeSelector");
        put_back("affinity");
    }
    spec
}

/// Validates a write to `status`.
pub(super) fn status(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let class = |v: &Value| at(v, "/status/qosClass").clone();
    if class(new) != class(old) {
        errors.push(FieldError::invalid("status.qosClass", class(new), IMMUTABLE));
    }
    errors
}
