//! Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers.

use serde_json::{Value, json};

use super::super::builtin::Rules;
use super::super::{stateful, warnings, workload};
use super::{at, text};

/// Where the API keeps a DaemonSet's internal `templateGeneration`.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(super) const DEPLOYMENT: Rules = Rules {
    status: |new, old, _| new["metadata"]["labels"] = at(old, "/metadata/labels").clone(),
    validate: workload::deployment,
    validate_update: workload::deployment_update,
    validate_status: workload::deployment_status,
    warnings: |new, old| warnings::template(new, old, "/spec/template", "spec.template"),
    ..Rules::NONE
};

pub(super) const REPLICA_SET: Rules = Rules {
    validate: workload::replica_set,
    validate_update: workload::replica_set_update,
    validate_status: workload::replica_set_status,
    warnings: |new, old| warnings::template(new, old, "/spec/template", "spec.template"),
    ..Rules::NONE
};

pub(super) const STATEFUL_SET: Rules = Rules {
    validate: stateful::stateful_set,
    validate_update: stateful::stateful_set_update,
    validate_status: stateful::stateful_set_status,
    warnings: |new, old| warnings::template(new, old, "/spec/template", "spec.template"),
    ..Rules::NONE
};

pub(super) const DAEMON_SET: Rules = Rules {
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
    ..Rules::NONE
};

pub(super) const REPLICATION_CONTROLLER: Rules = Rules {
    validate: workload::replication_controller,
    validate_update: |new, _| workload::replication_controller(new),
    warnings: |new, old| warnings::template(new, old, "/spec/template", "spec.template"),
    ..Rules::NONE
};

/// The counter the annotation holds; zero when it is no number.
fn template_generation(object: &Value) -> i64 {
    let annotation = "/metadata/annotations/deprecated.daemonset.template.generation";
    text(object, annotation).parse().unwrap_or(0)
}
