//! PEM file of the three pairs, and the properties of its certificates.

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

use super::{CertificateError, CertificatePair, Certificates};

/// Properties that decide whether a stored pair is reused.
pub struct CertificateFacts {
    /// Seconds since the epoch.
    pub not_before: i64,
    /// Seconds since the epoch.
    pub not_after: i64,
    /// Addresses among its alternative names.
    pub addresses: Vec<IpAddr>,
}

/// Encodes authority, serving and admin pair; each certificate before its key.
pub fn encode(certificates: &Certificates) -> String {
    [&certificates.authority, &certificates.serving, &certificates.admin]
        .iter()
        .flat_map(|pair| [pair.certificate.trim_end(), "\n", pair.key.trim_end(), "\n"])
        .collect()
}

/// Reads the three pairs with their properties; `None` if the file does not exist.
///
/// # Errors
/// When the file cannot be read, or does not hold three complete pairs.
pub fn read(path: &Path) -> Result<Option<(Certificates, [CertificateFacts; 3])>, CertificateError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(CertificateError::Read { path: path.to_path_buf(), source }),
    };
    let found = std::str::from_utf8(&bytes).ok().and_then(decode);
    found.map(Some).ok_or_else(|| CertificateError::Damaged { path: path.to_path_buf() })
}

fn decode(text: &str) -> Option<(Certificates, [CertificateFacts; 3])> {
    let sections = sections(text);
    let [authority, authority_key, serving, serving_key, admin, admin_key] = sections.as_slice() else { return None };
    let pair = |certificate: &str, key: &str| CertificatePair { certificate: certificate.into(), key: key.into() };
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

/// Returns the properties of a pair; `None` if it cannot be parsed, or the key does not belong to the certificate.
fn facts(pair: &CertificatePair) -> Option<CertificateFacts> {
    let der = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).ok()?;
    let (_, certificate) = X509Certificate::from_der(&der).ok()?;
    PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).ok()?;
    let key = KeyPair::from_pem(&pair.key).ok()?;
    if certificate.public_key().subject_public_key.data.as_ref() != key.der_bytes() {
        return None;
    }
    let alternatives = certificate.subject_alternative_name().ok()?;
    let addresses = alternatives.map(|names| names.value.general_names.iter().filter_map(address).collect());
    Some(CertificateFacts {
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

/// Writes a file that only its owner can read, completely or not at all.
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
