//! Detection of the API server of a local `switchboard up` from another process.
//!
//! `up` writes its CA certificate to its state directory, which other users cannot access. A client that trusts only
//! this CA connects to the process with the CA's key, no matter which address it uses: no other server can present a
//! valid certificate.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// File with the CA certificate in the state directory.
const FILE: &str = "authority.pem";

/// Writes the CA certificate of this process's API server, as PEM.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn record(dir: &Path, authority: &str) -> io::Result<()> {
    let path = dir.join(FILE);
    // A file created by another user would keep its mode.
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(authority.as_bytes())
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
    fn config_is_local_only_if_it_trusts_only_the_local_ca() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_local(folder.path(), &believing(&[b"one"])), "nothing is noted");
        record(folder.path(), "something else").unwrap();
        assert!(!is_local(folder.path(), &believing(&[b"one"])));
        record(folder.path(), ONE).unwrap();
        assert!(is_local(folder.path(), &believing(&[b"one"])));
        assert!(!is_local(folder.path(), &believing(&[b"two"])), "somebody else's");
        assert!(!is_local(folder.path(), &believing(&[b"one", b"two"])), "it may be somebody else's");
        assert!(!is_local(folder.path(), &kube::Config::new("https://127.0.0.1:6443".parse().unwrap())));
        let mut anybody = believing(&[b"one"]);
        anybody.accept_invalid_certs = true;
        assert!(!is_local(folder.path(), &anybody), "who believes everybody");
    }
}
