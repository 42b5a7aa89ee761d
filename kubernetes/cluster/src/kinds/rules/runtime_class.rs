//! RuntimeClass admission: overhead, and scheduling to nodes that support the class.

use serde_json::Value;
use switchboard_object::quote::quote;
use switchboard_object::status::Status;

use super::super::WriteContext;
use super::pod_admission::forbidden;
use super::{at, items, push, text};

/// Completes a new pod that names a class.
pub(super) fn admit(pod: &mut Value, env: &WriteContext<'_>) -> Result<(), Status> {
    let Some(name) = at(pod, "/spec/runtimeClassName").as_str() else { return Ok(()) };
    let Some(class) = env.cluster.get("runtimeclasses.node.k8s.io", "", name) else {
        return Err(forbidden(pod, &format!("pod rejected: RuntimeClass {} not found", quote(name))));
    };
    let overhead = at(&class, "/overhead/podFixed");
    if !overhead.is_null() {
        let given = at(pod, "/spec/overhead");
        if !given.is_null() && given != overhead {
            let why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
            return Err(forbidden(pod, why));
        }
        pod["spec"]["overhead"] = overhead.clone();
    }
    for (key, value) in at(&class, "/scheduling/nodeSelector").as_object().into_iter().flatten() {
        let own = &pod["spec"]["nodeSelector"][key.as_str()];
        if !own.is_null() && own != value {
            let shown = |v: &Value| v.as_str().unwrap_or("").to_string();
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                shown(value),
                shown(own)
            );
            return Err(forbidden(pod, &why));
        }
        pod["spec"]["nodeSelector"][key.as_str()] = value.clone();
    }
    for toleration in items(&class, "/scheduling/tolerations") {
        if !items(pod, "/spec/tolerations").contains(toleration) {
            push(&mut pod["spec"]["tolerations"], toleration.clone());
        }
    }
    Ok(())
}

/// Checks that the pod's overhead is the class's.
pub(super) fn review(pod: &Value, env: &WriteContext<'_>) -> Result<(), Status> {
    let class = env.cluster.get("runtimeclasses.node.k8s.io", "", text(pod, "/spec/runtimeClassName"));
    let defined = class.is_some_and(|c| !at(&c, "/overhead/podFixed").is_null());
    if defined || at(pod, "/spec/overhead").is_null() {
        return Ok(());
    }
    let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
    Err(forbidden(pod, why))
}
