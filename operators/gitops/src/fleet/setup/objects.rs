//! The objects.

use serde_json::{Value, json};

use crate::argo::{API_VERSION, DEFAULT_PROJECT, application, project};

/// Argo CD reads only configuration that says it is its own.
const PART_OF: (&str, &str) = ("app.kubernetes.io/part-of", "argocd");

/// As whom Argo CD's controller works.
const CONTROLLER: &str = "argocd-application-controller";

/// As whom its server of repositories works.
const REPO_SERVER: &str = "argocd-repo-server";

/// What an Argo CD may do in the cluster it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Deploy everywhere there, as Argo CD's own installation has it.
    Cluster,
    /// Read and write its own namespace only; somebody else grants it others.
    Namespace,
}

/// The kinds that an Argo CD serves, for a cluster that has none yet: with an open schema, as those of a release would be checked by
/// that release. A cluster that has them keeps its own.
pub fn definitions() -> Vec<Value> {
    vec![
        definition(
            "applications",
            application::KIND,
            &["app", "apps"],
            &[
                ("Sync Status", ".status.sync.status"),
                ("Health Status", ".status.health.status"),
                ("Revision", ".status.sync.revision"),
            ],
        ),
        definition("appprojects", project::KIND, &["appproj", "appprojs"], &[]),
    ]
}

fn definition(plural: &str, kind: &str, short: &[&str], columns: &[(&str, &str)]) -> Value {
    let columns: Vec<Value> =
        columns.iter().map(|(name, path)| json!({ "name": name, "type": "string", "jsonPath": path })).collect();
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut properties = json!({
        "apiVersion": { "type": "string" },
        "kind": { "type": "string" },
        "metadata": { "type": "object" },
        "spec": open.clone(),
        "status": open.clone(),
    });
    if kind == application::KIND {
        properties["operation"] = open;
    }
    // There is no status subresource: Argo CD writes all of an Application at once, and so do we.
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.argoproj.io"), "labels": { PART_OF.0: PART_OF.1 } },
        "spec": {
            "group": "argoproj.io",
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "listKind": format!("{kind}List"),
                "plural": plural,
                "singular": kind.to_lowercase(),
                "shortNames": short,
            },
            "versions": [{
                "name": "v1alpha1",
                "served": true,
                "storage": true,
                "additionalPrinterColumns": columns,
                "schema": { "openAPIV3Schema": { "type": "object", "required": ["metadata", "spec"], "properties": properties } },
            }],
        },
    })
}

/// What an Argo CD of this namespace reads, and what it may do. `key` is what its server signs with; it is written once and never
/// changed.
pub fn configuration(namespace: &str, key: &str, reach: Reach) -> Vec<Value> {
    let named = |kind: &str, version: &str, name: &str| {
        json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": { "name": name, "namespace": namespace, "labels": { PART_OF.0: PART_OF.1, "app.kubernetes.io/name": name } },
        })
    };
    let settings = |name: &str, data: Value| {
        let mut object = named("ConfigMap", "v1", name);
        object["data"] = data;
        object
    };
    let mut secret = named("Secret", "v1", "argocd-secret");
    secret["type"] = json!("Opaque");
    secret["stringData"] = json!({ "server.secretkey": key });
    let mut default = named(project::KIND, API_VERSION, DEFAULT_PROJECT);
    default["spec"] = json!({
        "sourceRepos": ["*"],
        "destinations": [{ "server": "*", "namespace": "*" }],
        "clusterResourceWhitelist": [{ "group": "*", "kind": "*" }],
    });
    let mut objects = vec![
        settings(
            "argocd-cm",
            json!({
                // The label is how leftovers of a deployment are found; the annotation is how Argo CD finds them.
                "application.resourceTrackingMethod": "annotation+label",
                "resource.exclusions": EXCLUSIONS,
            }),
        ),
        // Argo CD 3 keeps the health of resources to itself unless it is told to say it.
        settings("argocd-cmd-params-cm", json!({ "controller.resource.health.persist": "true" })),
        settings("argocd-rbac-cm", json!({})),
        settings("argocd-ssh-known-hosts-cm", json!({ "ssh_known_hosts": "" })),
        settings("argocd-tls-certs-cm", json!({})),
        settings("argocd-gpg-keys-cm", json!({})),
        secret,
        default,
        named("ServiceAccount", "v1", CONTROLLER),
        named("ServiceAccount", "v1", REPO_SERVER),
    ];
    let mut role = named("Role", RBAC, CONTROLLER);
    role["rules"] = json!([
        { "apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["get", "list", "watch"] },
        { "apiGroups": ["argoproj.io"], "resources": ["applications", "appprojects"], "verbs": ["create", "get", "list", "watch", "update", "patch", "delete"] },
        { "apiGroups": [""], "resources": ["events"], "verbs": ["create", "list"] },
        { "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch"] },
    ]);
    let mut binding = named("RoleBinding", RBAC, CONTROLLER);
    bind(&mut binding, "Role", CONTROLLER, namespace);
    objects.extend([role, binding]);
    if reach == Reach::Cluster {
        objects.extend(everywhere(namespace));
    }
    objects
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// The rights of Argo CD's own installation.
fn everywhere(namespace: &str) -> [Value; 2] {
    let name = format!("{namespace}-{CONTROLLER}");
    let role = json!({
        "apiVersion": RBAC,
        "kind": "ClusterRole",
        "metadata": { "name": name, "labels": { PART_OF.0: PART_OF.1 } },
        "rules": [
            { "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] },
            { "nonResourceURLs": ["*"], "verbs": ["*"] },
        ],
    });
    let mut binding = json!({
        "apiVersion": RBAC,
        "kind": "ClusterRoleBinding",
        "metadata": { "name": name, "labels": { PART_OF.0: PART_OF.1 } },
    });
    bind(&mut binding, "ClusterRole", &name, namespace);
    [role, binding]
}

fn bind(binding: &mut Value, kind: &str, role: &str, namespace: &str) {
    binding["roleRef"] = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role });
    binding["subjects"] = json!([{ "kind": "ServiceAccount", "name": CONTROLLER, "namespace": namespace }]);
}

/// What changes all the time and is nobody's deployment.
const EXCLUSIONS: &str = "- apiGroups: ['', discovery.k8s.io]
  kinds: [Endpoints, EndpointSlice]
- apiGroups: [coordination.k8s.io]
  kinds: [Lease]
- apiGroups: [authentication.k8s.io, authorization.k8s.io]
  kinds: [SelfSubjectReview, TokenReview, LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview]
- apiGroups: [certificates.k8s.io]
  kinds: [CertificateSigningRequest]
";
