//! Secret with which Argo CD reads a repository.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::argocd::{DATABASE_ID, SECRET_TYPE, credential_name, project_name};
use crate::rows::RepositoryCredentials;

/// Builds the Secret of a credential for an Argo CD in this namespace.
///
/// With `isolated`, only the tenant's own project may use it. Without, every tenant of that Argo CD may, as in
/// managed-gitops.
pub fn object(row: &RepositoryCredentials, namespace: &str, isolated: bool) -> Value {
    let mut data = Map::new();
    let mut put = |key: &str, value: &str| {
        if !value.is_empty() {
            data.insert(key.to_string(), json!(STANDARD.encode(value)));
        }
    };
    put("name", &row.secret);
    put("url", &row.url);
    put("username", row.username.as_deref().unwrap_or_default());
    put("password", row.password.as_ref().map_or("", |password| password.expose()));
    put("sshPrivateKey", row.ssh_key.as_ref().map_or("", |key| key.expose()));
    if isolated {
        put("project", &project_name(&row.user));
    }
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": credential_name(&row.id),
            "namespace": namespace,
            "labels": { SECRET_TYPE: "repository", DATABASE_ID: row.id.as_str() },
            "annotations": { "managed-by": "argocd.argoproj.io" },
        },
        "type": "Opaque",
        "data": data,
    })
}

/// Whether a live Secret has the wanted data, labels and annotations.
///
/// managed-gitops compares one key and writes another, so that a rotated key is never applied.
pub fn same(live: &Value, wanted: &Value) -> bool {
    let holds = |part: &str| {
        let wanted = wanted["metadata"][part].as_object();
        wanted.into_iter().flatten().all(|(key, value)| live["metadata"][part].get(key) == Some(value))
    };
    live["data"] == wanted["data"] && holds("labels") && holds("annotations")
}
