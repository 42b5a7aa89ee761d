//! Validation of StatefulSets.

use serde_json::Value;
use switchboard_object::field::FieldError;
use switchboard_object::name;

use super::checks::{at, at_most_hundred_percent, items, name_errors, nonnegative, nonnegative_int_or_percent, text};
use super::workload::{collisions, is_zero, mismatch, own_selector, restarting, validate_replica_counts};
use super::{internal, podspec, storage};
use crate::metadata;

/// Validates a StatefulSet.
pub(super) fn stateful_set(object: &Value) -> Vec<FieldError> {
    stateful_spec(&object["spec"], true)
}

fn stateful_spec(spec: &Value, new: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let management = text(spec, "/podManagementPolicy");
    if !matches!(management, "OrderedReady" | "Parallel") {
        let detail = "must be 'OrderedReady' or 'Parallel'";
        errors.push(FieldError::invalid("spec.podManagementPolicy", management, detail));
    }
    errors.extend(stateful_strategy(&spec["updateStrategy"]));
    for field in ["whenDeleted", "whenScaled"] {
        let policy = text(spec, &format!("/persistentVolumeClaimRetentionPolicy/{field}"));
        if !matches!(policy, "Retain" | "Delete") {
            let path = format!("spec.persistentVolumeClaimRetentionPolicy.{field}");
            errors.push(FieldError::not_supported(path, policy, &["Retain", "Delete"]));
        }
    }
    if new {
        for (index, claim) in items(spec, "/volumeClaimTemplates").iter().enumerate() {
            errors.extend(storage::claim_spec(&claim["spec"], &format!("spec.volumeClaimTemplates[{index}].spec")));
        }
    }
    errors.extend(nonnegative(&spec["replicas"], "spec.replicas"));
    errors.extend(nonnegative(&spec["minReadySeconds"], "spec.minReadySeconds"));
    errors.extend(nonnegative(at(spec, "/ordinals/start"), "spec.ordinals.start"));
    let service = text(spec, "/serviceName");
    if new && !service.is_empty() {
        errors.extend(name_errors(name::dns1123_label(service), "spec.serviceName", service));
    }
    errors.extend(own_selector(spec, "statefulset"));
    errors.extend(mismatch(spec));
    errors.extend(podspec::template(&with_claims(spec), "spec.template"));
    let meta = at(spec, "/template/metadata");
    errors.extend(metadata::labels(&meta["labels"], "spec.template.labels"));
    errors.extend(metadata::annotations(&meta["annotations"], "spec.template.annotations"));
    errors.extend(restarting(spec, "StatefulSet"));
    errors
}

/// Returns the template with a volume for each claim, under the name the controller gives it.
fn with_claims(spec: &Value) -> Value {
    let mut template = spec["template"].clone();
    let names: Vec<&str> = items(spec, "/volumeClaimTemplates").iter().map(|c| text(c, "/metadata/name")).collect();
    let claim = |n: &&str| serde_json::json!({"name": n, "persistentVolumeClaim": {"claimName": n}});
    let mut volumes: Vec<Value> = names.iter().map(claim).collect();
    let own = items(spec, "/template/spec/volumes").iter().filter(|v| !names.contains(&text(v, "/name")));
    volumes.extend(own.cloned());
    if let Some(map) = template.get_mut("spec").and_then(Value::as_object_mut) {
        map.remove("subdomain");
        map.remove("hostname");
        map.insert("volumes".into(), volumes.into());
    }
    template
}

fn stateful_strategy(strategy: &Value) -> Vec<FieldError> {
    let (path, update) = ("spec.updateStrategy.rollingUpdate", &strategy["rollingUpdate"]);
    match text(strategy, "/type") {
        "OnDelete" if update.is_object() => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            vec![internal::invalid(path, "apps.RollingUpdateStatefulSetStrategy", update, detail)]
        }
        "OnDelete" => Vec::new(),
        "RollingUpdate" => {
            let mut errors: Vec<FieldError> =
                nonnegative(&update["partition"], format!("{path}.partition")).into_iter().collect();
            let unavailable = &update["maxUnavailable"];
            if !unavailable.is_null() {
                let path = format!("{path}.maxUnavailable");
                errors.extend(nonnegative_int_or_percent(unavailable, &path));
                if is_zero(unavailable) {
                    errors.push(FieldError::invalid(path.clone(), unavailable.clone(), "cannot be 0"));
                }
                errors.extend(at_most_hundred_percent(unavailable, &path));
            }
            errors
        }
        _ => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            vec![internal::invalid("spec.updateStrategy", "apps.StatefulSetUpdateStrategy", strategy, detail)]
        }
    }
}

/// Validates an update of a StatefulSet.
pub(super) fn stateful_set_update(new: &Value, old: &Value) -> Vec<FieldError> {
    const FREE: [&str; 7] = [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ];
    let mut errors = stateful_spec(&new["spec"], false);
    let fixed = |v: &Value| {
        let mut spec = v["spec"].clone();
        spec.as_object_mut().into_iter().for_each(|m| m.retain(|k, _| !FREE.contains(&k.as_str())));
        spec
    };
    if fixed(new) != fixed(old) {
        errors.push(FieldError::forbidden("spec", "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"));
    }
    errors
}

/// Validates a write to a StatefulSet's status.
pub(super) fn stateful_set_status(new: &Value, old: &Value) -> Vec<FieldError> {
    let status = &new["status"];
    let fields = ["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    let mut errors = Vec::new();
    for field in fields.into_iter().chain(["observedGeneration", "collisionCount"]) {
        errors.extend(nonnegative(&status[field], format!("status.{field}")));
    }
    errors.extend(validate_replica_counts(status, &fields[1..]));
    errors.extend(collisions(new, old));
    errors
}
