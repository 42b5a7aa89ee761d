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
    /// The key belongs to the certificate.
    pub key_matches: bool,
}

/// Authority, serving, admin; each certificate before its key.
pub fn encode(certificates: &Certificates) -> String {
    [&certificates.authority, &certificates.serving, &certificates.admin]
        .iter()
        .flat_map(|pair| [pair.certificate.trim_end(), "\n", pair.key.trim_end(), "\n"])
        .collect()
}

/// `None` when there is no file, or it holds something else: then new certificates are made.
pub fn read(path: &Path) -> Result<Option<Certificates>, CertificateError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(CertificateError::Read { path: path.to_path_buf(), source }),
    };
    let sections = sections(&text);
    let mut pairs =
        sections.chunks_exact(2).map(|two| Pair { certificate: two[0].to_string(), key: two[1].to_string() });
    Ok(match (pairs.next(), pairs.next(), pairs.next(), pairs.next()) {
        (Some(authority), Some(serving), Some(admin), None) => Some(Certificates { authority, serving, admin }),
        _ => None,
    })
}

fn sections(text: &str) -> Vec<&str> {
    let starts: Vec<usize> = text.match_indices("-----BEGIN").map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(from, to)| &text[*from..to]).collect()
}

/// `None` when the pair cannot be read.
pub fn facts(pair: &Pair) -> Option<Facts> {
    let der = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).ok()?;
    let (_, certificate) = X509Certificate::from_der(&der).ok()?;
    PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).ok()?;
    let key = KeyPair::from_pem(&pair.key).ok()?;
    let alternatives = certificate.subject_alternative_name().ok()?;
    let addresses = alternatives.map(|names| names.value.general_names.iter().filter_map(address).collect());
    Some(Facts {
        not_before: certificate.validity().not_before.timestamp(),
        not_after: certificate.validity().not_after.timestamp(),
        addresses: addresses.unwrap_or_default(),
        key_matches: certificate.public_key().subject_public_key.data.as_ref() == key.der_bytes(),
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
