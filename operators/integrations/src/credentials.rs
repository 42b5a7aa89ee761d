//! Tokens of clusters: where the data says they lie, and who can read there. The one door for a secret store.

use std::fmt;
use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;

use crate::model::Token;

/// The largest token that is read.
pub const MAX_TOKEN_BYTES: u64 = 64 << 10;

/// A secret. It is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret in.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The secret itself, for who sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A secret that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read the token {path} ({field}): {why}")]
pub struct SecretError {
    /// Where it should lie.
    pub path: String,
    /// In which field.
    pub field: String,
    /// Why.
    pub why: String,
}

impl SecretError {
    /// Of a token.
    pub fn of(token: &Token, why: impl fmt::Display) -> Self {
        Self { path: token.path.clone(), field: token.field.clone(), why: why.to_string() }
    }
}

/// What a store answers, once it has.
pub type Reading<'a> = Pin<Box<dyn Future<Output = Result<Secret, SecretError>> + Send + 'a>>;

/// Somebody who keeps secrets.
pub trait SecretStore: Send + Sync {
    /// A field of a secret.
    fn read<'a>(&'a self, token: &'a Token) -> Reading<'a>;
}

/// Secrets in files: `<directory>/<path>/<field>`, as Kubernetes mounts them and as `vault agent` writes them.
#[derive(Clone, Debug)]
pub struct Files(pub PathBuf);

impl SecretStore for Files {
    fn read<'a>(&'a self, token: &'a Token) -> Reading<'a> {
        Box::pin(std::future::ready(read_file(&self.0, token)))
    }
}

fn read_file(directory: &Path, token: &Token) -> Result<Secret, SecretError> {
    let relative = Path::new(&token.path).join(&token.field);
    let inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if !inside {
        return Err(SecretError::of(token, "it leads out of the directory of secrets"));
    }
    let path = directory.join(relative);
    let size = std::fs::metadata(&path).map_err(|error| SecretError::of(token, error))?.len();
    if size > MAX_TOKEN_BYTES {
        return Err(SecretError::of(token, format!("it is larger than {MAX_TOKEN_BYTES} bytes")));
    }
    let text = std::fs::read_to_string(&path).map_err(|error| SecretError::of(token, error))?;
    Ok(Secret::new(text.trim().to_string()))
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
        let token = |path: &str, field: &str| Token { path: path.to_string(), field: field.to_string() };
        let read = |token: &Token| read_file(dir.path(), token);
        assert_eq!(read(&token("creds/kube", "token")).unwrap().reveal(), "secret");
        assert_eq!(format!("{:?}", read(&token("creds/kube", "token")).unwrap()), "Secret(…)");
        assert!(read(&token("creds", "gone")).is_err());
        for (path, field) in [("../creds", "token"), ("/etc", "hostname"), ("creds", "../../etc/hostname")] {
            assert!(read(&token(path, field)).unwrap_err().why.contains("leads out"), "{path}");
        }
    }
}
