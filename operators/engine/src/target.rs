//! Target objects: manifests with namespace, tracking annotation and last-applied annotation.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_kernel::resource::Resource;

use crate::compare::{LAST_APPLIED, MAX_LAST_APPLIED, normalized};
use crate::object_fields::{annotation, list, text};

/// Annotation that assigns an object to an Application. Argo CD's default tracking method since 3.0.
pub const TRACKING: &str = "argocd.argoproj.io/tracking-id";
/// Annotation with the sync wave of an object.
const WAVE: &str = "argocd.argoproj.io/sync-wave";
/// Annotations of hooks, which run at a point of a sync instead of being part of it.
const HOOKS: [&str; 2] = ["argocd.argoproj.io/hook", "helm.sh/hook"];

/// Identity of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKey {
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// Target object of an Application.
#[derive(Clone, Debug)]
pub struct TargetObject {
    /// Key of the object.
    pub key: ResourceKey,
    /// Version of its group.
    pub version: String,
    /// Resource that serves the kind; `None` while the cluster does not serve it.
    pub resource: Option<Resource>,
    /// Manifest.
    pub object: Value,
    /// Sync wave.
    pub wave: i64,
}

/// All target objects of an Application, with warnings.
#[derive(Clone, Debug, Default)]
pub struct TargetObjects {
    /// Target objects by key.
    pub objects: BTreeMap<ResourceKey, TargetObject>,
    /// Hooks, which the engine does not run: on a cluster without pods they would never finish.
    pub hooks: Vec<ResourceKey>,
    /// Conditions: type and message.
    pub warnings: Vec<(&'static str, String)>,
}

/// Splits an `apiVersion` into group and version.
pub fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Whether the object is a CustomResourceDefinition. Definitions are not tracked: deleting one deletes all objects of
/// the kind.
fn is_definition(group: &str, kind: &str) -> bool {
    group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition"
}

/// Builds the target objects of an Application for a destination namespace. `kind_of` returns the resource that serves
/// a kind.
///
/// # Errors
/// Errors of `kind_of`.
pub fn target_objects<E>(
    application: &str,
    namespace: &str,
    objects: Vec<Value>,
    mut kind_of: impl FnMut(&str, &str) -> Result<Option<Resource>, E>,
) -> Result<TargetObjects, E> {
    let mut found = TargetObjects::default();
    let mut seen: BTreeMap<ResourceKey, usize> = BTreeMap::new();
    for object in objects {
        let api_version = text(&object, "/apiVersion").to_string();
        let (group, version) = group_version(&api_version);
        let kind = text(&object, "/kind").to_string();
        let resource = kind_of(&api_version, &kind)?;
        let namespaced = resource.as_ref().is_none_or(|resource| resource.namespaced);
        let mut object = normalized(object);
        let own = text(&object, "/metadata/namespace").to_string();
        let within = match (namespaced, own.is_empty()) {
            (false, _) => String::new(),
            (true, true) => namespace.to_string(),
            (true, false) => own,
        };
        let name = text(&object, "/metadata/name").to_string();
        let key = ResourceKey { group: group.to_string(), kind, namespace: within.clone(), name };
        if HOOKS.iter().any(|hook| !annotation(&object, hook).is_empty()) || key.name.is_empty() {
            found.hooks.push(key);
            continue;
        }
        set_namespace(&mut object, &within);
        if !is_definition(group, &key.kind) {
            let tracked = if within.is_empty() { namespace } else { &within };
            object["metadata"]["annotations"][TRACKING] =
                json!(tracking(application, &ResourceKey { namespace: tracked.into(), ..key.clone() }));
        }
        set_last_applied(&mut object, &key);
        *seen.entry(key.clone()).or_default() += 1;
        let wave = annotation(&object, WAVE).parse().unwrap_or(0);
        found.objects.insert(key.clone(), TargetObject { key, version: version.to_string(), resource, object, wave });
    }
    for (key, times) in seen.into_iter().filter(|(_, times)| *times > 1) {
        let id = format!("{}/{}/{}/{}", key.group, key.kind, key.namespace, key.name);
        let message = format!("Resource {id} appeared {times} times among application resources.");
        found.warnings.push(("RepeatedResourceWarning", message));
    }
    Ok(found)
}

fn set_namespace(object: &mut Value, namespace: &str) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    match namespace.is_empty() {
        true => drop(metadata.remove("namespace")),
        false => drop(metadata.insert("namespace".to_string(), json!(namespace))),
    }
    if !metadata.get("annotations").is_some_and(Value::is_object) {
        metadata.insert("annotations".to_string(), json!({}));
    }
}

/// Sets the last-applied annotation. It is omitted for Secrets, and for manifests that are too long: for those, fields
/// removed by a commit are not detected.
fn set_last_applied(object: &mut Value, key: &ResourceKey) {
    if key.group.is_empty() && key.kind == "Secret" {
        return;
    }
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.remove(LAST_APPLIED);
    }
    let text = object.to_string();
    if text.len() <= MAX_LAST_APPLIED {
        object["metadata"]["annotations"][LAST_APPLIED] = json!(text);
    }
}

/// Returns the value of the tracking annotation.
pub fn tracking(application: &str, key: &ResourceKey) -> String {
    format!("{application}:{}/{}:{}/{}", key.group, key.kind, key.namespace, key.name)
}

/// Returns the Application that tracks the object, or `None` if the annotation was copied from another object.
pub fn tracked_by<'a>(live: &'a Value, key: &ResourceKey) -> Option<&'a str> {
    let (application, rest) = annotation(live, TRACKING).split_once(':')?;
    let (kind, name) = rest.split_once(':')?;
    let own_name = name
        .split_once('/')
        .is_some_and(|(namespace, name)| name == key.name && (key.namespace.is_empty() || namespace == key.namespace));
    (kind == format!("{}/{}", key.group, key.kind) && own_name).then_some(application)
}

/// Returns the images of an object's pods.
pub fn images(object: &Value) -> Vec<String> {
    let pods = ["/spec", "/spec/template/spec", "/spec/jobTemplate/spec/template/spec"];
    let containers = ["initContainers", "containers"];
    let found = pods.iter().flat_map(|pod| containers.iter().map(move |field| format!("{pod}/{field}")));
    found
        .flat_map(|path| list(object, &path).map(|one| text(one, "/image").to_string()).collect::<Vec<_>>())
        .filter(|one| !one.is_empty())
        .collect()
}

/// Returns the position of a kind within a wave: kinds that others depend on come first.
pub fn kind_order(kind: &str) -> usize {
    const ORDER: [&str; 30] = [
        "Namespace",
        "NetworkPolicy",
        "ResourceQuota",
        "LimitRange",
        "PodDisruptionBudget",
        "ServiceAccount",
        "Secret",
        "ConfigMap",
        "StorageClass",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "CustomResourceDefinition",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "Service",
        "DaemonSet",
        "Pod",
        "ReplicationController",
        "ReplicaSet",
        "Deployment",
        "HorizontalPodAutoscaler",
        "StatefulSet",
        "Job",
        "CronJob",
        "IngressClass",
        "Ingress",
        "APIService",
        "",
    ];
    ORDER.iter().position(|one| *one == kind).unwrap_or(ORDER.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn kind_of(_: &str, kind: &str) -> Result<Option<Resource>, ()> {
        Ok(match kind {
            "Namespace" => Some(crate::kinds::NAMESPACES),
            "ConfigMap" => Some(Resource::namespaced("", "v1", "ConfigMap", "configmaps")),
            "Secret" => Some(crate::kinds::SECRETS),
            _ => None,
        })
    }

    fn targets_of(objects: Vec<Value>) -> TargetObjects {
        target_objects("shop", "prod", objects, kind_of).unwrap()
    }

    #[test]
    fn objects_get_a_namespace_and_are_tracked() {
        let made = targets_of(vec![
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "other"}}),
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "namespace": "odd"}}),
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "b"}}),
        ]);
        let said: Vec<(&str, &str)> =
            made.objects.values().map(|one| (one.key.namespace.as_str(), annotation(&one.object, TRACKING))).collect();
        assert_eq!(
            said,
            [
                ("other", "shop:/ConfigMap:other/a"),
                ("prod", "shop:/ConfigMap:prod/a"),
                ("", "shop:/Namespace:prod/n"),
                ("prod", ""),
            ]
        );
        assert!(made.warnings.is_empty());
        for target in made.objects.values().filter(|one| one.key.kind != "CustomResourceDefinition") {
            assert_eq!(tracked_by(&target.object, &target.key), Some("shop"));
        }
    }

    #[test]
    fn a_copied_annotation_tracks_nothing() {
        let key = ResourceKey {
            group: String::new(),
            kind: "ConfigMap".into(),
            namespace: "prod".into(),
            name: "copy".into(),
        };
        let live = json!({"metadata": {"annotations": {TRACKING: "shop:/ConfigMap:prod/a"}}});
        assert_eq!(tracked_by(&live, &key), None);
        assert_eq!(tracked_by(&json!({}), &key), None);
    }

    #[test]
    fn hooks_are_separated_and_duplicates_are_reported() {
        let a = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        let hook = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "h", "annotations": {"helm.sh/hook": "pre-install"}}});
        let made = targets_of(vec![a.clone(), hook, a]);
        assert_eq!((made.objects.len(), made.hooks.len()), (1, 1));
        assert_eq!(made.warnings[0].1, "Resource /ConfigMap/prod/a appeared 2 times among application resources.");
    }

    #[test]
    fn values_of_secrets_are_not_written_twice() {
        let made = targets_of(vec![
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "hunter2"}}),
        ]);
        let secret = &made.objects.values().next().unwrap().object;
        assert_eq!(annotation(secret, LAST_APPLIED), "");
        assert!(!secret.to_string().contains("hunter2"));
    }

    #[test]
    fn images_are_found_in_all_workloads() {
        let pod = json!({"containers": [{"image": "a"}], "initContainers": [{"image": "i"}]});
        assert_eq!(images(&json!({"spec": pod})), ["i", "a"]);
        assert_eq!(images(&json!({"spec": {"template": {"spec": pod}}})), ["i", "a"]);
        assert_eq!(images(&json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": pod}}}}})), ["i", "a"]);
    }
}
