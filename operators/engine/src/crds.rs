//! CustomResourceDefinitions of Argo CD's kinds for the embedded cluster. The schema describes the fields that the
//! engine uses and preserves all others.

use serde_json::{Value, json};

use crate::kinds::{APPLICATIONS, GROUP, PROJECTS, VERSION};

/// Returns the CustomResourceDefinitions of Application and AppProject.
pub fn crds() -> Vec<Value> {
    vec![applications(), projects()]
}

fn open_schema(description: &str) -> Value {
    json!({"type": "object", "description": description, "x-kubernetes-preserve-unknown-fields": true})
}

fn applications() -> Value {
    let mut spec = open_schema("source and destination of the deployment");
    spec["required"] = json!(["destination", "project"]);
    spec["properties"] = json!({
        "project": {"type": "string", "description": "AppProject with the permissions"},
        "source": open_schema("repository, path and revision"),
        "destination": open_schema("cluster, by server or name, and namespace"),
        "syncPolicy": open_schema("automated sync and sync options"),
    });
    let schema = json!({"type": "object", "required": ["metadata", "spec"], "properties": {
        "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
        "spec": spec, "operation": open_schema("requested sync"), "status": open_schema("status of the Application"),
    }});
    let columns = json!([
        {"name": "Sync Status", "type": "string", "jsonPath": ".status.sync.status"},
        {"name": "Health Status", "type": "string", "jsonPath": ".status.health.status"},
        {"name": "Revision", "type": "string", "jsonPath": ".status.sync.revision", "priority": 10},
        {"name": "Project", "type": "string", "jsonPath": ".spec.project", "priority": 10},
    ]);
    definition(APPLICATIONS.plural.as_ref(), "Application", "application", &["app", "apps"], schema, columns)
}

fn projects() -> Value {
    let schema = json!({"type": "object", "required": ["metadata", "spec"], "properties": {
        "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
        "spec": open_schema("permitted repositories, destinations and kinds"), "status": open_schema("not used"),
    }});
    definition(PROJECTS.plural.as_ref(), "AppProject", "appproject", &["appproj", "appprojs"], schema, json!([]))
}

/// There is no status subresource, as in Argo CD: clients start and stop a sync by patching the object.
fn definition(plural: &str, kind: &str, singular: &str, short: &[&str], schema: Value, columns: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{GROUP}"),
            "labels": {"app.kubernetes.io/name": format!("{plural}.{GROUP}"), "app.kubernetes.io/part-of": "argocd"},
        },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular, "shortNames": short},
            "versions": [{
                "name": VERSION, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
                "additionalPrinterColumns": columns,
            }],
        },
    })
}
