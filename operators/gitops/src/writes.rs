//! Decisions as mutations of the kernel.

use serde_json::Value;
use switchboard_kernel::plan::{Mutation, PatchType};
use switchboard_kernel::resource::Resource;
use switchboard_kernel::topology::ClusterType;

use crate::flow::{KubernetesWrite, WriteTarget};
use crate::resources;

/// Converts a write to a mutation for a cluster. A status is replaced in `live`, the object that the decision was based
/// on.
///
/// Returns `None` for a status of a deleted object, and for unknown kinds.
pub fn mutation(write: KubernetesWrite, live: Option<&Value>, place: ClusterType) -> Option<Mutation> {
    let made = match write {
        KubernetesWrite::Create(body) => Mutation::create(of_body(&body)?, body),
        KubernetesWrite::Update(body) => Mutation::update(of_body(&body)?, body),
        KubernetesWrite::Merge(target, patch) => {
            Mutation::patch(of_target(&target)?, &target.namespace, &target.name, PatchType::Merge, patch)
        }
        KubernetesWrite::Status(target, status) => {
            let mut body = live?.clone();
            body["status"] = status;
            Mutation::update(of_target(&target)?, body).status()
        }
        KubernetesWrite::Delete(target) => Mutation::delete(of_target(&target)?, &target.namespace, &target.name),
    };
    Some(made.on(place))
}

fn of_body(body: &Value) -> Option<&'static Resource> {
    resources::of(body["apiVersion"].as_str()?, body["kind"].as_str()?)
}

fn of_target(target: &WriteTarget) -> Option<&'static Resource> {
    resources::of(target.api_version, target.kind)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use switchboard_kernel::plan::WriteOp;

    use super::*;

    #[test]
    fn a_status_update_is_based_on_the_decided_object() {
        let target = WriteTarget {
            api_version: "managed-gitops.redhat.com/v1alpha1",
            kind: "GitOpsDeployment",
            namespace: "shop".into(),
            name: "web".into(),
        };
        let live =
            json!({"metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7"}, "status": {"old": 1}});
        let write = KubernetesWrite::Status(target, json!({"sync": {}}));
        assert_eq!(mutation(write.clone(), None, ClusterType::Configuration), None);
        let made = mutation(write, Some(&live), ClusterType::Configuration).unwrap();
        let WriteOp::Update(body) = &made.operation else { panic!("{made:?}") };
        assert_eq!(body["status"], json!({"sync": {}}));
        assert_eq!((made.subresource.as_deref(), &*made.namespace), (Some("status"), "shop"));
    }
}
