//! The generated kubeconfig: one context per logical cluster, readable by its owner only.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::certificates::{Certificates, write_private};

/// Context of a logical cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeconfigContext {
    /// Name of the context; the first one is the current context.
    pub name: String,
    /// URL of the cluster: `https://127.0.0.1:6443/clusters/stage`.
    pub server: String,
}

/// Error of the kubeconfig.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// A file that was not generated is in the way.
    #[error("{path} exists and is not a generated kubeconfig of the user {user}")]
    Foreign {
        /// File.
        path: PathBuf,
        /// User of generated files.
        user: String,
    },
    /// Reading or writing the file failed.
    #[error("could not write kubeconfig {path}")]
    Write {
        /// File.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
}

/// Returns the text of the file, with `user` in every context. The first context is the current one.
pub fn render(user: &str, certificates: &Certificates, contexts: &[KubeconfigContext]) -> String {
    let user = quoted(user);
    let authority = STANDARD.encode(&certificates.authority.certificate);
    let mut clusters = String::new();
    let mut entries = String::new();
    for KubeconfigContext { name, server } in contexts {
        let (name, server) = (quoted(name), quoted(server));
        let _ = write!(
            clusters,
            "- cluster:\n    certificate-authority-data: {authority}\n    server: {server}\n  name: {name}\n"
        );
        let _ = write!(entries, "- context:\n    cluster: {name}\n    user: {user}\n  name: {name}\n");
    }
    let current = contexts.first().map(|c| quoted(&c.name)).unwrap_or_else(|| quoted(""));
    format!(
        "apiVersion: v1\nkind: Config\npreferences: {{}}\nclusters:\n{clusters}contexts:\n{entries}\
         current-context: {current}\nusers:\n- name: {user}\n  user:\n    client-certificate-data: {}\n    \
         client-key-data: {}\n",
        STANDARD.encode(&certificates.admin.certificate),
        STANDARD.encode(&certificates.admin.key),
    )
}

/// Writes the file with mode 0600, completely or not at all. A file that was not generated for the same user is not replaced.
pub fn write(
    path: &Path,
    user: &str,
    certificates: &Certificates,
    contexts: &[KubeconfigContext],
) -> Result<(), KubeconfigError> {
    let failed = |source| KubeconfigError::Write { path: path.to_path_buf(), source };
    match std::fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() && !is_generated(&text, user) => {
            return Err(KubeconfigError::Foreign { path: path.to_path_buf(), user: user.to_string() });
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    write_private(path, render(user, certificates, contexts).as_bytes()).map_err(failed)
}

/// Whether everything in the file was generated: the user and no other, the contexts, and exactly one cluster for each.
/// kubectl drops comments when it edits the file, so the names identify it. Entries that a user added or merged must
/// not be lost.
fn is_generated(text: &str, user: &str) -> bool {
    let Ok(document) = switchboard_object::yaml::read(text) else { return false };
    let config = document.value;
    let entries = |list: &str| config[list].as_array().cloned().unwrap_or_default();
    let names = |list: &str| {
        entries(list).iter().filter_map(|e| e["name"].as_str().map(str::to_string)).collect::<BTreeSet<_>>()
    };
    names("users").iter().eq([user])
        && entries("contexts").iter().all(|c| c["context"]["user"] == user && c["context"]["cluster"] == c["name"])
        && names("contexts") == names("clusters")
}

/// Quotes a string. A JSON string is also a YAML string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
