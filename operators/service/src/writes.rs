//! What was decided, as writes of the kernel.

use serde_json::Value;
use switchboard_gitops::flow::{Target, Write};
use switchboard_kernel::place::Place;
use switchboard_kernel::plan::{Mutation, PatchForm};
use switchboard_kernel::resource::Resource;

use crate::resources;

/// The write of a decision at a place. A status is replaced in the object it was decided on, which is `live`.
///
/// None for a status of an object that is gone, and for kinds that nobody here knows.
pub fn mutation(write: Write, live: Option<&Value>, place: Place) -> Option<Mutation> {
    let made = match write {
        Write::Create(body) => Mutation::create(of_body(&body)?, body),
        Write::Update(body) => Mutation::update(of_body(&body)?, body),
        Write::Merge(target, patch) => {
            Mutation::patch(of_target(&target)?, &target.namespace, &target.name, PatchForm::Merge, patch)
        }
        Write::Status(target, status) => {
            let mut body = live?.clone();
            body["status"] = status;
            Mutation::update(of_target(&target)?, body).status()
        }
        Write::Delete(target) => Mutation::delete(of_target(&target)?, &target.namespace, &target.name),
    };
    Some(made.at(place))
}

fn of_body(body: &Value) -> Option<&'static Resource> {
    resources::of(body["apiVersion"].as_str()?, body["kind"].as_str()?)
}

fn of_target(target: &Target) -> Option<&'static Resource> {
    resources::of(target.api_version, target.kind)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use switchboard_kernel::plan::Act;

    use super::*;

    #[test]
    fn a_status_replaces_the_one_of_the_object_it_was_decided_on() {
        let target = Target {
            api_version: "managed-gitops.redhat.com/v1alpha1",
            kind: "GitOpsDeployment",
            namespace: "shop".into(),
            name: "web".into(),
        };
        let live =
            json!({"metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7"}, "status": {"old": 1}});
        let write = Write::Status(target, json!({"sync": {}}));
        assert_eq!(mutation(write.clone(), None, Place::Configuration), None);
        let made = mutation(write, Some(&live), Place::Configuration).unwrap();
        let Act::Update(body) = &made.act else { panic!("{made:?}") };
        assert_eq!(body["status"], json!({"sync": {}}));
        assert_eq!((made.subresource.as_deref(), &*made.namespace), (Some("status"), "shop"));
    }
}
