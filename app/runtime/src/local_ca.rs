//! Detection of the API server of a local `switchboard up` from another process.
//!
//! `up` writes its CA certificate to its state directory, which other users cannot access. A client that trusts only
//! this CA connects to the process with the CA's key, no matter which address it uses: no other server can present a
//! valid certificate. The path of the kubeconfig stands beside it, so that commands with `--state-dir` find the cluster.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// File with the CA certificate in the state directory.
const FILE: &str = "authority.pem";
/// File with the path of the kubeconfig in the state directory.
const KUBECONFIG: &str = "kubeconfig.path";

/// Writes the CA certificate of this process's API server, as PEM, and the path of its kubeconfig.
///
/// # Errors
/// Fails if a file cannot be written.
pub fn record(dir: &Path, authority: &str, kubeconfig: &Path) -> io::Result<()> {
    write(&dir.join(FILE), authority.as_bytes())?;
    write(&dir.join(KUBECONFIG), std::path::absolute(kubeconfig)?.as_os_str().as_bytes())
}

/// Returns the kubeconfig of the `up` with this state directory, if it exists.
pub fn kubeconfig(dir: &Path) -> Option<PathBuf> {
    let path = std::fs::read(dir.join(KUBECONFIG)).ok()?;
    Some(PathBuf::from(OsString::from_vec(path))).filter(|path| path.exists())
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    // A file created by another user would keep its mode.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)
}

/// Whether a client with these settings connects to the API server whose CA is recorded in the directory.
pub fn is_local(dir: &Path, config: &kube::Config) -> bool {
    let noted = std::fs::read_to_string(dir.join(FILE)).ok().and_then(|text| certificate(&text));
    let Some(noted) = noted.filter(|_| !config.accept_invalid_certs && config.root_cert_file.is_none()) else {
        return false;
    };
    config.root_cert.as_deref() == Some(&[noted][..])
}

/// Decodes a PEM file with exactly one certificate.
fn certificate(text: &str) -> Option<Vec<u8>> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    if lines.next()? != "-----BEGIN CERTIFICATE-----" {
        return None;
    }
    let body: Vec<&str> = lines.collect();
    let (end, body) = body.split_last()?;
    if *end != "-----END CERTIFICATE-----" {
        return None;
    }
    STANDARD.decode(body.concat()).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const ONE: &str = "-----BEGIN CERTIFICATE-----\nb25l\n-----END CERTIFICATE-----\n";

    fn believing(authorities: &[&[u8]]) -> kube::Config {
        let mut config = kube::Config::new("https://127.0.0.1:6443".parse().unwrap());
        config.root_cert = Some(authorities.iter().map(|one| one.to_vec()).collect());
        config
    }

    #[test]
    fn kubeconfig_is_found_while_it_exists() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(kubeconfig(folder.path()), None);
        let file = folder.path().join("config");
        record(folder.path(), ONE, &file).unwrap();
        assert_eq!(kubeconfig(folder.path()), None);
        std::fs::write(&file, "").unwrap();
        assert_eq!(kubeconfig(folder.path()), Some(file));
    }

    #[test]
    fn config_is_local_only_if_it_trusts_only_the_local_ca() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_local(folder.path(), &believing(&[b"one"])), "nothing is recorded");
        let file = folder.path().join("elsewhere");
        record(folder.path(), "something else", &file).unwrap();
        assert!(!is_local(folder.path(), &believing(&[b"one"])));
        record(folder.path(), ONE, &file).unwrap();
        assert!(is_local(folder.path(), &believing(&[b"one"])));
        assert!(!is_local(folder.path(), &believing(&[b"two"])), "the CA of another server");
        assert!(!is_local(folder.path(), &believing(&[b"one", b"two"])), "the server may be another one");
        assert!(!is_local(folder.path(), &kube::Config::new("https://127.0.0.1:6443".parse().unwrap())));
        let mut lenient = believing(&[b"one"]);
        lenient.accept_invalid_certs = true;
        assert!(!is_local(folder.path(), &lenient), "a client that accepts every certificate");
    }
}
