//! Objects of an Argo CD instance.

use serde_json::{Value, json};

use crate::argocd::{API_VERSION, DEFAULT_PROJECT};
use crate::deployment::application;
use crate::tenant::project;

/// Label without which Argo CD ignores its configuration.
const PART_OF: (&str, &str) = ("app.kubernetes.io/part-of", "argocd");

/// ServiceAccount of Argo CD's application controller.
const CONTROLLER: &str = "argocd-application-controller";

/// ServiceAccount of Argo CD's repo server.
const REPO_SERVER: &str = "argocd-repo-server";

/// Scope of an Argo CD instance on the cluster it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceScope {
    /// Deploys to the whole cluster, like Argo CD's standard installation.
    Cluster,
    /// Reads and writes its own namespace only; access to others is granted separately.
    Namespace,
}

/// Returns Argo CD's CustomResourceDefinitions for a cluster without them. Their schema is open, because the schema of
/// a release would validate that release only. Existing definitions are kept.
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
    // There is no status subresource, because Argo CD and the service write Applications as a whole.
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

/// Returns the configuration and RBAC objects of an Argo CD in this namespace. `key` is the signing key of its server,
/// which is written once and never changed.
pub fn configuration(namespace: &str, key: &str, reach: InstanceScope) -> Vec<Value> {
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
                // Argo CD tracks resources by annotation; the label is used to find leftover resources of a deployment.
                "application.resourceTrackingMethod": "annotation+label",
                "resource.exclusions": EXCLUSIONS,
            }),
        ),
        // Argo CD 3 does not write the health of resources to the status by default.
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
    if reach == InstanceScope::Cluster {
        objects.extend(cluster_admin_rbac(namespace));
    }
    objects
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Returns the cluster-wide permissions of Argo CD's standard installation.
fn cluster_admin_rbac(namespace: &str) -> [Value; 2] {
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

/// Kinds that change constantly and are never deployed.
const EXCLUSIONS: &str = "- apiGroups: ['', discovery.k8s.io]
  kinds: [Endpoints, EndpointSlice]
- apiGroups: [coordination.k8s.io]
  kinds: [Lease]
- apiGroups: [authentication.k8s.io, authorization.k8s.io]
  kinds: [SelfSubjectReview, TokenReview, LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview]
- apiGroups: [certificates.k8s.io]
  kinds: [CertificateSigningRequest]
";
