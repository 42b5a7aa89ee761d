//! Tokens of clusters: their location in the data, and the stores that contain them. The only access to secret stores.

use std::fmt;
use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;

use crate::model::TokenReference;

/// Maximum size of a token.
pub const MAX_TOKEN_BYTES: u64 = 64 << 10;

/// Token of a cluster. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterToken(String);

impl ClusterToken {
    /// Wraps a token.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the token, for sending it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ClusterToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Error of reading a token.
#[derive(Debug, thiserror::Error)]
#[error("could not read the token {path} ({field}): {why}")]
pub struct ClusterTokenError {
    /// Path of the secret.
    pub path: String,
    /// Field of the secret.
    pub field: String,
    /// Cause.
    pub why: String,
}

impl ClusterTokenError {
    /// Creates the error for a token.
    pub fn new(token: &TokenReference, why: impl fmt::Display) -> Self {
        Self { path: token.path.clone(), field: token.field.clone(), why: why.to_string() }
    }
}

/// Future of a token.
pub type TokenFuture<'a> = Pin<Box<dyn Future<Output = Result<ClusterToken, ClusterTokenError>> + Send + 'a>>;

/// Store of secrets.
pub trait SecretStore: Send + Sync {
    /// Reads a field of a secret.
    fn read<'a>(&'a self, token: &'a TokenReference) -> TokenFuture<'a>;
}

/// Secrets in files `<directory>/<path>/<field>`, as mounted by Kubernetes or written by `vault agent`.
#[derive(Clone, Debug)]
pub struct SecretFiles(pub PathBuf);

impl SecretStore for SecretFiles {
    fn read<'a>(&'a self, token: &'a TokenReference) -> TokenFuture<'a> {
        Box::pin(std::future::ready(read_file(&self.0, token)))
    }
}

fn read_file(directory: &Path, token: &TokenReference) -> Result<ClusterToken, ClusterTokenError> {
    let relative = Path::new(&token.path).join(&token.field);
    let inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if !inside {
        return Err(ClusterTokenError::new(token, "the path leads out of the directory of secrets"));
    }
    let path = directory.join(relative);
    let size = std::fs::metadata(&path).map_err(|error| ClusterTokenError::new(token, error))?.len();
    if size > MAX_TOKEN_BYTES {
        return Err(ClusterTokenError::new(token, format!("the file is larger than {MAX_TOKEN_BYTES} bytes")));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| ClusterTokenError::new(token, error))?;
    Ok(ClusterToken::new(text.trim().to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_token_is_read_from_its_file_and_never_from_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("creds/kube")).unwrap();
        std::fs::write(dir.path().join("creds/kube/token"), "secret\n").unwrap();
        let token = |path: &str, field: &str| TokenReference { path: path.to_string(), field: field.to_string() };
        let read = |token: &TokenReference| read_file(dir.path(), token);
        assert_eq!(read(&token("creds/kube", "token")).unwrap().reveal(), "secret");
        assert_eq!(format!("{:?}", read(&token("creds/kube", "token")).unwrap()), "Secret(…)");
        assert!(read(&token("creds", "gone")).is_err());
        for (path, field) in [("../creds", "token"), ("/etc", "hostname"), ("creds", "../../etc/hostname")] {
            assert!(read(&token(path, field)).unwrap_err().why.contains("leads out"), "{path}");
        }
    }
}
