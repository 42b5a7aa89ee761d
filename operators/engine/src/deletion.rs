//! Deletion of an Application and, with its finalizer, of its objects.

use serde_json::Value;

use crate::object_fields::{annotation, has_option, list};
use crate::status::LiveObjects;
use crate::target::{ResourceKey, tracked_by};

/// Finalizer that keeps an Application until its objects are deleted.
pub const FINALIZER: &str = "resources-finalizer.argocd.argoproj.io";

/// Deletion propagation policy for dependent objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionPropagation {
    /// Dependents are deleted first.
    Foreground,
    /// Dependents are deleted later.
    Background,
}

impl DeletionPropagation {
    /// Value of `propagationPolicy` in a delete request.
    pub fn as_str(self) -> &'static str {
        match self {
            DeletionPropagation::Foreground => "Foreground",
            DeletionPropagation::Background => "Background",
        }
    }
}

/// Returns the policy for deleting an Application's objects with it, or `None` if they are kept.
pub fn cascade_propagation(application: &Value) -> Option<DeletionPropagation> {
    let ours =
        list(application, "/metadata/finalizers").filter_map(Value::as_str).filter(|one| is_argocd_finalizer(one));
    let forms: Vec<&str> = ours.collect();
    match forms.iter().any(|form| form.ends_with("/background")) {
        _ if forms.is_empty() => None,
        true => Some(DeletionPropagation::Background),
        false => Some(DeletionPropagation::Foreground),
    }
}

fn is_argocd_finalizer(finalizer: &str) -> bool {
    finalizer == FINALIZER
        || ["/foreground", "/background"].iter().any(|form| finalizer.strip_suffix(form) == Some(FINALIZER))
}

/// Returns the finalizers of other controllers.
pub fn other_finalizers(application: &Value) -> Value {
    let kept = list(application, "/metadata/finalizers").filter(|one| !one.as_str().is_some_and(is_argocd_finalizer));
    kept.cloned().collect()
}

/// Objects of a deleted Application that still exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemainingObjects {
    /// Objects that must be deleted.
    pub present: Vec<ResourceKey>,
    /// Objects that are terminating.
    pub terminating: Vec<ResourceKey>,
}

/// Finds the live objects that belong to the Application and are not retained.
pub fn remaining_objects(application: &str, live: &LiveObjects) -> RemainingObjects {
    let mut remaining = RemainingObjects { present: Vec::new(), terminating: Vec::new() };
    for (key, (_, object)) in live {
        let Some(object) = object.as_ref().filter(|object| tracked_by(object, key) == Some(application)) else {
            continue;
        };
        if is_retained(object) {
            continue;
        }
        match object["metadata"]["deletionTimestamp"].is_string() {
            true => remaining.terminating.push(key.clone()),
            false => remaining.present.push(key.clone()),
        }
    }
    remaining
}

/// Whether the object is retained when its Application is deleted.
fn is_retained(object: &Value) -> bool {
    has_option(object, "argocd.argoproj.io/sync-options", "Delete=false")
        || annotation(object, "helm.sh/resource-policy") == "keep"
}

/// Whether the object is retained when its manifest is removed.
pub fn is_never_pruned(object: &Value) -> bool {
    has_option(object, "argocd.argoproj.io/sync-options", "Prune=false")
        || annotation(object, "helm.sh/resource-policy") == "keep"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::target::TRACKING;

    #[test]
    fn the_finalizer_determines_the_propagation() {
        let with = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
        assert_eq!(cascade_propagation(&with(json!([]))), None);
        assert_eq!(cascade_propagation(&with(json!(["other"]))), None);
        assert_eq!(cascade_propagation(&with(json!([FINALIZER]))), Some(DeletionPropagation::Foreground));
        let background = with(json!(["other", format!("{FINALIZER}/background")]));
        assert_eq!(cascade_propagation(&background), Some(DeletionPropagation::Background));
        assert_eq!(other_finalizers(&background), json!(["other"]));
    }

    #[test]
    fn objects_of_an_application_are_deleted_unless_retained() {
        let key = |name: &str| ResourceKey {
            group: String::new(),
            kind: "ConfigMap".into(),
            namespace: "x".into(),
            name: name.into(),
        };
        let object = |name: &str, more: Value| {
            let mut annotations = json!({TRACKING: format!("shop:/ConfigMap:x/{name}")});
            annotations
                .as_object_mut()
                .into_iter()
                .for_each(|map| map.extend(more.as_object().cloned().unwrap_or_default()));
            (key(name), ("v1".to_string(), Some(json!({"metadata": {"name": name, "annotations": annotations}}))))
        };
        let mut going = object("going", json!({}));
        going
            .1
            .1
            .as_mut()
            .into_iter()
            .for_each(|one| one["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
        let live: LiveObjects = [
            object("a", json!({})),
            object("kept", json!({"argocd.argoproj.io/sync-options": "Validate=false, Delete=false"})),
            object("helm", json!({"helm.sh/resource-policy": "keep"})),
            object("foreign", json!({TRACKING: "other:/ConfigMap:x/foreign"})),
            going,
            (key("gone"), ("v1".to_string(), None)),
        ]
        .into_iter()
        .collect();
        assert_eq!(
            remaining_objects("shop", &live),
            RemainingObjects { present: vec![key("a")], terminating: vec![key("going")] }
        );
    }
}
