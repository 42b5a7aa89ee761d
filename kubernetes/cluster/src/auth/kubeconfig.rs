//! The generated kubeconfig: one context per logical cluster, readable by its owner alone.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::certificates::{Certificates, write_private};

/// The user of every context. A file without it is not ours to replace.
const USER: &str = "switchboard-admin";

/// A logical cluster, as a context names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The context's name; the first one is current.
    pub name: String,
    /// Where the cluster is: `https://127.0.0.1:6443/clusters/stage`.
    pub server: String,
}

/// What can go wrong with the kubeconfig.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// Somebody else's file is in the way.
    #[error(
        "{path} exists and was not written by switchboard; it is left alone\nhint: give another file with --kubeconfig, or move this one away"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file could not be read or written.
    #[error("could not write kubeconfig {path}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// The file's text. The first context is the current one.
pub fn render(certificates: &Certificates, contexts: &[Context]) -> String {
    let authority = STANDARD.encode(&certificates.authority.certificate);
    let mut clusters = String::new();
    let mut entries = String::new();
    for Context { name, server } in contexts {
        let (name, server) = (quoted(name), quoted(server));
        let _ = write!(
            clusters,
            "- cluster:\n    certificate-authority-data: {authority}\n    server: {server}\n  name: {name}\n"
        );
        let _ = write!(entries, "- context:\n    cluster: {name}\n    user: {USER}\n  name: {name}\n");
    }
    let current = contexts.first().map(|c| quoted(&c.name)).unwrap_or_else(|| quoted(""));
    format!(
        "apiVersion: v1\nkind: Config\npreferences: {{}}\nclusters:\n{clusters}contexts:\n{entries}\
         current-context: {current}\nusers:\n- name: {USER}\n  user:\n    client-certificate-data: {}\n    \
         client-key-data: {}\n",
        STANDARD.encode(&certificates.admin.certificate),
        STANDARD.encode(&certificates.admin.key),
    )
}

/// Writes the file with mode 0600, whole or not at all. A file of somebody else is not replaced.
pub fn write(path: &Path, certificates: &Certificates, contexts: &[Context]) -> Result<(), KubeconfigError> {
    let failed = |source| KubeconfigError::Write { path: path.to_path_buf(), source };
    match std::fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() && !is_ours(&text) => {
            return Err(KubeconfigError::Foreign { path: path.to_path_buf() });
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    write_private(path, render(certificates, contexts).as_bytes()).map_err(failed)
}

/// Everything in the file is ours: our user and no other, our contexts, and a cluster for each of them and no further one.
/// kubectl drops comments when it edits the file, so names are the mark; what somebody added or merged in is not ours to lose.
fn is_ours(text: &str) -> bool {
    let Ok(document) = switchboard_object::yaml::read(text) else { return false };
    let config = document.value;
    let entries = |list: &str| config[list].as_array().cloned().unwrap_or_default();
    let names = |list: &str| {
        entries(list).iter().filter_map(|e| e["name"].as_str().map(str::to_string)).collect::<BTreeSet<_>>()
    };
    names("users").iter().eq([USER])
        && entries("contexts").iter().all(|c| c["context"]["user"] == USER && c["context"]["cluster"] == c["name"])
        && names("contexts") == names("clusters")
}

/// A JSON string is a YAML string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
