//! Credentials that commands read from a file or stdin, never from a flag, which other users could read.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Maximum size of a credential.
const MAX_BYTES: u64 = 1 << 20;

/// A credential could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The file could not be read.
    #[error("could not read {what} from `{}`\nhint: pass the path of a file, or `-` for stdin", path.display())]
    Read {
        /// Description of the credential.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// I/O error of the read.
        source: std::io::Error,
    },
    /// The file is empty.
    #[error("{what} in `{}` is empty\nhint: check the file: `wc -c` prints its size", path.display())]
    Empty {
        /// Description of the credential.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is too large for a credential.
    #[error("{what} in `{}` is larger than 1 MiB\nhint: check the path", path.display())]
    TooLong {
        /// Description of the credential.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
    },
}

/// Reads the text of a file; `-` is stdin.
pub fn read(what: &'static str, path: &Path) -> Result<String, CredentialError> {
    let mut text = String::new();
    let failed = |source| CredentialError::Read { what, path: path.to_path_buf(), source };
    let length = if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).map_err(failed)?.take(MAX_BYTES + 1).read_to_string(&mut text)
    };
    let length = length.map_err(failed)?;
    if length as u64 > MAX_BYTES {
        return Err(CredentialError::TooLong { what, path: path.to_path_buf() });
    }
    if text.trim().is_empty() {
        return Err(CredentialError::Empty { what, path: path.to_path_buf() });
    }
    Ok(text)
}

/// Builds a Secret with an owner reference, so that it is deleted with its owner.
pub fn owned_secret(owner: &Value, name: &str, r#type: &str, data: &[(&str, &str)]) -> Value {
    let mut secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": r#type,
        "metadata": {
            "name": name,
            "namespace": owner["metadata"]["namespace"],
            "ownerReferences": [{
                "apiVersion": owner["apiVersion"], "kind": owner["kind"],
                "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
            }],
        },
        "stringData": {},
    });
    for (key, value) in data {
        secret["stringData"][*key] = json!(value);
    }
    secret
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_credential_comes_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(matches!(read("a password", &path), Err(CredentialError::Read { .. })));
        std::fs::write(&path, " \n").unwrap();
        assert!(matches!(read("a password", &path), Err(CredentialError::Empty { .. })));
        std::fs::write(&path, "hunter2\n").unwrap();
        assert_eq!(read("a password", &path).unwrap(), "hunter2\n");
        std::fs::write(&path, "x".repeat((1 << 20) + 1)).unwrap();
        assert!(matches!(read("a password", &path), Err(CredentialError::TooLong { .. })));
    }
}
