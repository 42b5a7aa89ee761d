//! Paths of the kinds used by cases.

/// Returns group and version, plural, and whether the kind is namespaced.
pub fn resource_of(kind: &str) -> (&'static str, &'static str, bool) {
    match kind {
        "Namespace" => ("api/v1", "namespaces", false),
        "ConfigMap" => ("api/v1", "configmaps", true),
        "Secret" => ("api/v1", "secrets", true),
        "Service" => ("api/v1", "services", true),
        "Pod" => ("api/v1", "pods", true),
        "Event" => ("api/v1", "events", true),
        "Job" => ("apis/batch/v1", "jobs", true),
        "Deployment" => ("apis/apps/v1", "deployments", true),
        "Role" => ("apis/rbac.authorization.k8s.io/v1", "roles", true),
        "RoleBinding" => ("apis/rbac.authorization.k8s.io/v1", "rolebindings", true),
        "CustomResourceDefinition" => ("apis/apiextensions.k8s.io/v1", "customresourcedefinitions", false),
        "Plug" => ("apis/integration.rock8s.com/v1beta1", "plugs", true),
        "Socket" => ("apis/integration.rock8s.com/v1beta1", "sockets", true),
        "DeferredResource" => ("apis/integration.rock8s.com/v1beta1", "deferredresources", true),
        other => panic!("cases know no {other}"),
    }
}

/// Returns the path of a kind's objects.
pub fn list_path(of: &str, namespace: &str) -> String {
    match resource_of(of) {
        (version, plural, true) => format!("/{version}/namespaces/{namespace}/{plural}"),
        (version, plural, false) => format!("/{version}/{plural}"),
    }
}

/// Returns the path of `Kind/name` or `Kind/namespace/name`.
pub fn path(target: &str, namespace: &str) -> String {
    match target.split('/').collect::<Vec<_>>().as_slice() {
        [kind, name] => format!("{}/{name}", list_path(kind, namespace)),
        [kind, namespace, name] => format!("{}/{name}", list_path(kind, namespace)),
        _ => panic!("`{target}` is neither Kind/name nor Kind/namespace/name"),
    }
}
