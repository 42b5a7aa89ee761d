//! Pods: fields that a write may change, and the quality of service class that follows from the resources.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_object::quantity::Quantity;

use super::super::builtin::KindRules;
use super::super::{pod, warnings};
use super::{at, items, limit_ranger, pod_admission, runtime_class, text};

pub(super) const POD: KindRules = KindRules {
    admit: pod_admission::admit,
    review: |pod, old, env| {
        if old.is_some() {
            return Ok(());
        }
        limit_ranger::review_pod(pod, env)?;
        runtime_class::review(pod, env)
    },
    create: |object, _| {
        let class = class_of_service(object);
        object["status"] = json!({"phase": "Pending", "qosClass": class});
        if !items(object, "/spec/schedulingGates").is_empty() {
            object["status"]["conditions"] = json!([{
                "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null,
                "lastTransitionTime": null, "message": "Scheduling is blocked due to non-empty scheduling gates",
            }]);
        }
        Ok(())
    },
    status: |new, old, _| {
        new["metadata"]["ownerReferences"] = at(old, "/metadata/ownerReferences").clone();
        if text(new, "/status/qosClass").is_empty() {
            new["status"]["qosClass"] = at(old, "/status/qosClass").clone();
        }
    },
    validate: pod::create,
    validate_update: pod::update,
    validate_status: pod::status,
    warnings: warnings::pod,
    ..KindRules::NONE
};

/// Returns `Guaranteed` if every container limits CPU and memory to its requests, `BestEffort` if no container requests
/// anything.
fn class_of_service(pod: &Value) -> &'static str {
    let (mut requests, mut limits) = (BTreeMap::new(), BTreeMap::new());
    let mut guaranteed = true;
    let whole = at(pod, "/spec/resources");
    if whole.is_object() {
        gather(whole, "/requests", &mut requests);
        guaranteed = gather(whole, "/limits", &mut limits) == 2;
    } else {
        for list in ["/spec/containers", "/spec/initContainers"] {
            for container in items(pod, list) {
                gather(&container["resources"], "/requests", &mut requests);
                guaranteed &= gather(&container["resources"], "/limits", &mut limits) == 2;
            }
        }
    }
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if guaranteed && requests.len() == limits.len() && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Adds up CPU and memory; returns how many of the two were set.
fn gather(resources: &Value, field: &str, sums: &mut BTreeMap<&'static str, Quantity>) -> usize {
    let mut given = 0;
    for resource in ["cpu", "memory"] {
        let quantity = resources.pointer(&format!("{field}/{resource}")).and_then(|q| Quantity::from_value(q).ok());
        if let Some(quantity) = quantity.filter(|q| q.sign() > 0) {
            given += 1;
            let sum = sums.get(resource).map_or(quantity.clone(), |sum: &Quantity| sum.plus(&quantity));
            sums.insert(resource, sum);
        }
    }
    given
}
