//! The PEM file that keeps the three pairs, and what its certificates say.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rcgen::{KeyPair, PublicKeyData};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{CertificateError, Certificates, Pair};

/// What decides whether a kept pair is used again.
pub struct Facts {
    /// Seconds since the epoch.
    pub not_before: i64,
    /// Seconds since the epoch.
    pub not_after: i64,
    /// The addresses among its alternative names.
    pub addresses: Vec<IpAddr>,
}

/// Authority, serving, admin; each certificate before its key.
pub fn encode(certificates: &Certificates) -> String {
    [&certificates.authority, &certificates.serving, &certificates.admin]
        .iter()
        .flat_map(|pair| [pair.certificate.trim_end(), "\n", pair.key.trim_end(), "\n"])
        .collect()
}

/// The three pairs with their facts; `None` when there is no file.
///
/// # Errors
/// When it cannot be read, or does not hold three whole pairs.
pub fn read(path: &Path) -> Result<Option<(Certificates, [Facts; 3])>, CertificateError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(CertificateError::Read { path: path.to_path_buf(), source }),
    };
    let found = std::str::from_utf8(&bytes).ok().and_then(decode);
    found.map(Some).ok_or_else(|| CertificateError::Damaged { path: path.to_path_buf() })
}

fn decode(text: &str) -> Option<(Certificates, [Facts; 3])> {
    let sections = sections(text);
    let [authority, authority_key, serving, serving_key, admin, admin_key] = sections.as_slice() else { return None };
    let pair = |certificate: &str, key: &str| Pair { certificate: certificate.into(), key: key.into() };
    let (authority, serving, admin) =
        (pair(authority, authority_key), pair(serving, serving_key), pair(admin, admin_key));
    let all = [facts(&authority)?, facts(&serving)?, facts(&admin)?];
    Some((Certificates { authority, serving, admin }, all))
}

fn sections(text: &str) -> Vec<&str> {
    let starts: Vec<usize> = text.match_indices("-----BEGIN").map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(from, to)| &text[*from..to]).collect()
}

/// `None` when the pair cannot be read, or the key is not the certificate's.
fn facts(pair: &Pair) -> Option<Facts> {
    let der = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).ok()?;
    let (_, certificate) = X509Certificate::from_der(&der).ok()?;
    PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).ok()?;
    let key = KeyPair::from_pem(&pair.key).ok()?;
    if certificate.public_key().subject_public_key.data.as_ref() != key.der_bytes() {
        return None;
    }
    let alternatives = certificate.subject_alternative_name().ok()?;
    let addresses = alternatives.map(|names| names.value.general_names.iter().filter_map(address).collect());
    Some(Facts {
        not_before: certificate.validity().not_before.timestamp(),
        not_after: certificate.validity().not_after.timestamp(),
        addresses: addresses.unwrap_or_default(),
    })
}

fn address(name: &GeneralName<'_>) -> Option<IpAddr> {
    match name {
        GeneralName::IPAddress(bytes) if bytes.len() == 4 => <[u8; 4]>::try_from(*bytes).ok().map(IpAddr::from),
        GeneralName::IPAddress(bytes) => <[u8; 16]>::try_from(*bytes).ok().map(IpAddr::from),
        _ => None,
    }
}

/// Writes a file that only its owner reads, whole or not at all.
pub fn write_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("private");
    let temporary = directory.join(format!(".{name}.{}.new", std::process::id()));
    // A leftover of a crash would keep its own mode.
    match std::fs::remove_file(&temporary) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    File::open(directory)?.sync_all()
}
