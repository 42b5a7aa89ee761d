//! Which API server is this user's own: that of a `switchboard up` on this machine, seen from another process.
//!
//! `up` notes its authority in its state directory, which is closed to others. Whoever connects and believes that authority alone speaks to
//! the process that has its key, wherever the address leads: no other server can pass for it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The authority's certificate, in the state directory.
const FILE: &str = "authority.pem";

/// Notes the authority of this process's API server, a certificate as PEM.
///
/// # Errors
/// When the file cannot be written.
pub fn note(dir: &Path, authority: &str) -> io::Result<()> {
    let path = dir.join(FILE);
    // One of somebody else's would keep its mode.
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(authority.as_bytes())
}

/// Whether a client that is made of this speaks to the API server whose authority is noted there.
pub fn is_own(dir: &Path, config: &kube::Config) -> bool {
    let noted = std::fs::read_to_string(dir.join(FILE)).ok().and_then(|text| certificate(&text));
    let Some(noted) = noted.filter(|_| !config.accept_invalid_certs && config.root_cert_file.is_none()) else {
        return false;
    };
    config.root_cert.as_deref() == Some(&[noted][..])
}

/// The bytes of the one certificate of a PEM.
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
    fn only_who_believes_the_noted_authority_alone_speaks_to_it() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_own(folder.path(), &believing(&[b"one"])), "nothing is noted");
        note(folder.path(), "something else").unwrap();
        assert!(!is_own(folder.path(), &believing(&[b"one"])));
        note(folder.path(), ONE).unwrap();
        assert!(is_own(folder.path(), &believing(&[b"one"])));
        assert!(!is_own(folder.path(), &believing(&[b"two"])), "somebody else's");
        assert!(!is_own(folder.path(), &believing(&[b"one", b"two"])), "it may be somebody else's");
        assert!(!is_own(folder.path(), &kube::Config::new("https://127.0.0.1:6443".parse().unwrap())));
        let mut anybody = believing(&[b"one"]);
        anybody.accept_invalid_certs = true;
        assert!(!is_own(folder.path(), &anybody), "who believes everybody");
    }
}
