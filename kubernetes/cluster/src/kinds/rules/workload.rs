//! Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers.

use serde_json::{Value, json};

use super::super::builtin::KindRules;
use super::super::{stateful_set, warnings, workload};
use super::{at, text};

/// Annotation of a DaemonSet that holds its internal `templateGeneration`.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(super) const DEPLOYMENT: KindRules = KindRules {
    status: |new, old, _| new["metadata"]["labels"] = at(old, "/metadata/labels").clone(),
    validate: workload::deployment,
    validate_update: workload::deployment_update,
    validate_status: workload::deployment_status,
    warnings: |new, old| warnings::template(new, old, "/spec/template", "spec.template"),
    ..KindRules::NONE
};

pub(super) const REPLICA_SET: KindRules = KindRules {
    validate: workload::replica_set,
    validate_update: workload::replica_set_update,
    validate_status: workload::replica_set_status,
    warnings: |new, old| warnings::template(new, old, "/spec/template", "spec.template"),
    ..KindRules::NONE
};

pub(super) const STATEFUL_SET: KindRules = KindRules {
    validate: stateful_set::stateful_set,
    validate_update: stateful_set::stateful_set_update,
    validate_status: stateful_set::stateful_set_status,
    warnings: |new, old| warnings::template(new, old, "/spec/template", "spec.template"),
    ..KindRules::NONE
};

pub(super) const DAEMON_SET: KindRules = KindRules {
    create: |object, _| {
        let given = template_generation(object).max(1);
        object["metadata"]["annotations"][TEMPLATE_GENERATION] = json!(given.to_string());
        Ok(())
    },
    update: |new, old, _| {
        let changed = new["spec"]["template"] != old["spec"]["template"];
        let generation = template_generation(old) + i64::from(changed);
        new["metadata"]["annotations"][TEMPLATE_GENERATION] = json!(generation.to_string());
        Ok(())
    },
    validate: workload::daemon_set,
    validate_update: workload::daemon_set_update,
    warnings: |new, old| warnings::template(new, old, "/spec/template", "spec.template"),
    ..KindRules::NONE
};

pub(super) const REPLICATION_CONTROLLER: KindRules = KindRules {
    validate: workload::replication_controller,
    validate_update: |new, _| workload::replication_controller(new),
    warnings: |new, old| warnings::template(new, old, "/spec/template", "spec.template"),
    ..KindRules::NONE
};

/// Returns the counter in the annotation; zero if it is not a number.
fn template_generation(object: &Value) -> i64 {
    let annotation = "/metadata/annotations/deprecated.daemonset.template.generation";
    text(object, annotation).parse().unwrap_or(0)
}
