//! Namespaces, certificate signing requests, priority classes and CRDs.

use serde_json::{Value, json};
use switchboard_object::field::FieldError;
use switchboard_object::kind::GroupResource;
use switchboard_object::status::Status;

use super::super::WriteContext;
use super::super::builtin::KindRules;
use super::super::infrastructure;
use super::{items, push, text};
use crate::metadata::IMMUTABLE;

pub(super) const NAMESPACE: KindRules = KindRules {
    create: |object, _| {
        object["status"] = json!({"phase": "Active"});
        if !items(object, "/spec/finalizers").iter().any(|f| f == "kubernetes") {
            push(&mut object["spec"]["finalizers"], json!("kubernetes"));
        }
        Ok(())
    },
    update: |new, old, _| {
        new["spec"] = old["spec"].clone();
        Ok(())
    },
    validate_status: |new, _| {
        let phase = text(new, "/status/phase");
        let (deleting, detail) = match new["metadata"]["deletionTimestamp"].is_null() {
            true => (false, "may only be 'Active' if `deletionTimestamp` is empty"),
            false => (true, "may only be 'Terminating' if `deletionTimestamp` is not empty"),
        };
        let wanted = if deleting { "Terminating" } else { "Active" };
        if phase == wanted { Vec::new() } else { vec![FieldError::invalid("status.Phase", phase, detail)] }
    },
    ..KindRules::NONE
};

/// Rules that record the user of the request, whatever the client sent.
pub(super) const SIGNING_REQUEST: KindRules = KindRules {
    create: |object, env| {
        for field in ["username", "uid", "groups", "extra"] {
            super::remove(&mut object["spec"], field);
        }
        object["spec"]["username"] = json!(env.user.name);
        object["spec"]["uid"] = json!(env.user.uid);
        object["spec"]["groups"] = json!(env.user.groups);
        object["spec"]["extra"] = json!(env.user.extra);
        Ok(())
    },
    update: |new, old, _| {
        new["spec"] = old["spec"].clone();
        Ok(())
    },
    validate: infrastructure::signing_request,
    ..KindRules::NONE
};

pub(super) const PRIORITY_CLASS: KindRules = KindRules {
    review: one_default,
    validate: priority_class,
    validate_update: |new, old| {
        let mut errors = Vec::new();
        if new["value"] != old["value"] {
            errors.push(FieldError::forbidden("value", "may not be changed in an update."));
        }
        if new["preemptionPolicy"] != old["preemptionPolicy"] {
            errors.push(FieldError::invalid("preemptionPolicy", new["preemptionPolicy"].clone(), IMMUTABLE));
        }
        errors
    },
    ..KindRules::NONE
};

fn priority_class(object: &Value) -> Vec<FieldError> {
    /// Highest value a user may set.
    const HIGHEST: i64 = 1_000_000_000;
    let mut errors = Vec::new();
    let name = text(object, "/metadata/name");
    if name.starts_with("system-") {
        if !matches!(name, "system-cluster-critical" | "system-node-critical") {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"
            );
            errors.push(FieldError::forbidden("metadata.name", detail));
        }
    } else if object["value"].as_i64().unwrap_or(0) > HIGHEST {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        errors.push(FieldError::forbidden("value", detail));
    }
    let policy = text(object, "/preemptionPolicy");
    if !matches!(policy, "" | "PreemptLowerPriority" | "Never") {
        errors.push(FieldError::not_supported("preemptionPolicy", policy, &["PreemptLowerPriority", "Never"]));
    }
    errors
}

fn one_default(object: &Value, old: Option<&Value>, env: &WriteContext<'_>) -> Result<(), Status> {
    if object["globalDefault"] != true {
        return Ok(());
    }
    let Some(first) = default_priority_class(env) else { return Ok(()) };
    if old.is_some() && first["metadata"]["name"] == object["metadata"]["name"] {
        return Ok(());
    }
    let message = format!(
        "PriorityClass {} is already marked as default. Only one default can exist",
        text(&first, "/metadata/name")
    );
    let resource = GroupResource::new("scheduling.k8s.io", "priorityclasses");
    Err(Status::forbidden(&resource, text(object, "/metadata/name"), &message))
}

/// Returns the class of pods without one; of several defaults, the lowest.
pub(super) fn default_priority_class(env: &WriteContext<'_>) -> Option<Value> {
    let classes = env.cluster.list("priorityclasses.scheduling.k8s.io", "");
    classes.into_iter().filter(|c| c["globalDefault"] == true).min_by_key(|c| c["value"].as_i64())
}

/// Rules of CRDs. The `crd` module handles their lifecycle.
pub(super) const CUSTOM_RESOURCE: KindRules = KindRules::NONE;
