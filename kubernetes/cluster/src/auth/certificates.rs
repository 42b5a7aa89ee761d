//! The server's certificate authority, serving certificate and the administrator's client certificate.
//!
//! One PEM file holds all three pairs, so that a crash never leaves a certificate without its key. The file has mode
//! 0600 and is reused by the next start. The two leaf certificates are renewed before they expire, or when the listen
//! address is not among the serving certificate's names. Without a directory, all certificates are created at each
//! start: elliptic curve keys cost microseconds.

mod file;
mod verifier;

pub use file::write_private;
pub use verifier::ClientCertificateVerifier;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Validity of the certificate authority.
const AUTHORITY_YEARS: i64 = 10;
/// Validity of the serving certificate and the administrator's certificate.
const LEAF_DAYS: i64 = 365;
/// Certificates with less remaining validity are renewed at startup.
const RENEW_BEFORE_DAYS: i64 = 30;
/// File in the data directory.
const FILE: &str = "certificates.pem";
/// Names that in-cluster clients use for the API server.
const SERVICE_NAMES: [&str; 5] =
    ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"];
/// Address of the `kubernetes` Service.
const SERVICE_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
/// Name of the administrator.
pub const ADMIN: &str = "admin";

/// Error of the certificates.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// Creation of a key or certificate failed.
    #[error("could not create a certificate")]
    Make(#[from] rcgen::Error),
    /// Reading the file failed.
    #[error("could not read {path}")]
    Read {
        /// File.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// Writing the file failed.
    #[error("could not write {path}")]
    Write {
        /// File.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// Unexpected content of the file. The file is not replaced, because that would invalidate every issued kubeconfig.
    #[error(
        "{path} does not hold three certificates with their keys\nhint: restore the file from a backup; if you delete it, new certificates are created and existing kubeconfigs stop working"
    )]
    Damaged {
        /// File.
        path: PathBuf,
    },
    /// TLS refused the certificates.
    #[error("could not set up TLS")]
    Tls(#[from] rustls::Error),
    /// Client certificates cannot be verified.
    #[error("could not set up client certificate verification")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
    /// Invalid PEM.
    #[error("could not read PEM")]
    Pem(#[from] rustls::pki_types::pem::Error),
}

/// Certificate with its key.
#[derive(Clone)]
pub struct CertificatePair {
    /// Certificate as PEM.
    pub certificate: String,
    /// Key as PEM. Secret.
    pub key: String,
}

/// Certificates of the server.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// Authority that signs the other two.
    pub authority: CertificatePair,
    /// Certificate of the listener.
    pub serving: CertificatePair,
    /// Client certificate of the generated kubeconfig.
    pub admin: CertificatePair,
}

impl Certificates {
    /// Creates certificates in memory. `addresses` are the listen addresses.
    pub fn ephemeral(addresses: &[IpAddr], now: Timestamp) -> Result<Self, CertificateError> {
        let authority = new_authority(now)?;
        Self::with_authority(authority, addresses, now)
    }

    /// Returns the certificates in `directory`, created or renewed if necessary.
    pub fn in_directory(directory: &Path, addresses: &[IpAddr], now: Timestamp) -> Result<Self, CertificateError> {
        let path = directory.join(FILE);
        let authority = match file::read(&path)? {
            Some((kept, facts)) if good(&facts, addresses, now) => return Ok(kept),
            Some((kept, [authority, ..])) if fresh(&authority, now) => kept.authority,
            _ => new_authority(now)?,
        };
        let made = Self::with_authority(authority, addresses, now)?;
        write_private(&path, file::encode(&made).as_bytes())
            .map_err(|source| CertificateError::Write { path, source })?;
        Ok(made)
    }

    fn with_authority(
        authority: CertificatePair,
        addresses: &[IpAddr],
        now: Timestamp,
    ) -> Result<Self, CertificateError> {
        let issuer = issuer(&authority, now)?;
        Ok(Self {
            serving: new_serving(&issuer, addresses, now)?,
            admin: new_client(&issuer, ADMIN, Some(super::MASTERS), now)?,
            authority,
        })
    }

    /// Issues a client certificate for a user and at most one group.
    pub fn client(&self, user: &str, group: Option<&str>, now: Timestamp) -> Result<CertificatePair, CertificateError> {
        new_client(&issuer(&self.authority, now)?, user, group, now)
    }

    /// Returns the TLS configuration of the listener: HTTP/2 and HTTP/1.1, client certificates optional.
    ///
    /// A client certificate of a foreign authority does not fail the handshake: like kube-apiserver, the server
    /// responds 401 to the request. [`ClientCertificateVerifier`] makes the distinction.
    pub fn server_config(&self) -> Result<rustls::ServerConfig, CertificateError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(self.verifier()?)
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(self.serving.certificate.as_bytes())?],
                PrivateKeyDer::from_pem_slice(self.serving.key.as_bytes())?,
            )?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Returns the verifier for client certificates of this authority.
    pub fn verifier(&self) -> Result<Arc<ClientCertificateVerifier>, CertificateError> {
        Ok(Arc::new(ClientCertificateVerifier::new(&self.authority.certificate)?))
    }
}

/// Omits the key.
impl fmt::Debug for CertificatePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").field("certificate", &self.certificate).field("key", &"<secret>").finish()
    }
}

/// Returns the authority as an issuer. Its name and usages are fixed, so they are not read from the certificate.
fn issuer(authority: &CertificatePair, now: Timestamp) -> Result<Issuer<'static, KeyPair>, CertificateError> {
    Ok(Issuer::new(authority_params(now), KeyPair::from_pem(&authority.key)?))
}

fn new_authority(now: Timestamp) -> Result<CertificatePair, CertificateError> {
    let key = KeyPair::generate()?;
    Ok(pair(&authority_params(now).self_signed(&key)?, &key))
}

fn authority_params(now: Timestamp) -> CertificateParams {
    // Part of the names that issued certificates refer to: another text would make them invalid.
    let mut params = params("switchboard-ca", None, now, Span::new().years(AUTHORITY_YEARS));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::CrlSign];
    params
}

fn new_serving(
    issuer: &Issuer<'_, KeyPair>,
    addresses: &[IpAddr],
    now: Timestamp,
) -> Result<CertificatePair, CertificateError> {
    let (hosts, addresses) = names(addresses);
    let mut params = params("kube-apiserver", None, now, Span::new().days(LEAF_DAYS));
    for host in hosts {
        params.subject_alt_names.push(SanType::DnsName(host.try_into()?));
    }
    params.subject_alt_names.extend(addresses.into_iter().map(SanType::IpAddress));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate()?;
    Ok(pair(&params.signed_by(&key, issuer)?, &key))
}

fn new_client(
    issuer: &Issuer<'_, KeyPair>,
    user: &str,
    group: Option<&str>,
    now: Timestamp,
) -> Result<CertificatePair, CertificateError> {
    let mut params = params(user, group, now, Span::new().days(LEAF_DAYS));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate()?;
    Ok(pair(&params.signed_by(&key, issuer)?, &key))
}

fn params(name: &str, organization: Option<&str>, now: Timestamp, life: Span) -> CertificateParams {
    let today = now.to_zoned(TimeZone::UTC).date();
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    if let Some(organization) = organization {
        params.distinguished_name.push(DnType::OrganizationName, organization);
    }
    params.distinguished_name.push(DnType::CommonName, name);
    // Valid since yesterday, so that clients with a slow clock accept it.
    let (from, to) = (today.saturating_sub(Span::new().days(1)), today.saturating_add(life));
    params.not_before = date_time_ymd(from.year().into(), from.month() as u8, from.day() as u8);
    params.not_after = date_time_ymd(to.year().into(), to.month() as u8, to.day() as u8);
    params.use_authority_key_identifier_extension = true;
    params
}

fn pair(certificate: &Certificate, key: &KeyPair) -> CertificatePair {
    CertificatePair { certificate: certificate.pem(), key: key.serialize_pem() }
}

fn good(facts: &[file::CertificateFacts; 3], addresses: &[IpAddr], now: Timestamp) -> bool {
    let [_, serving, _] = facts;
    facts.iter().all(|f| fresh(f, now)) && names(addresses).1.iter().all(|a| serving.addresses.contains(a))
}

fn fresh(facts: &file::CertificateFacts, now: Timestamp) -> bool {
    facts.not_before <= now.as_second() && facts.not_after - now.as_second() > RENEW_BEFORE_DAYS * 24 * 60 * 60
}

/// Returns the names and addresses of a serving certificate.
fn names(listen: &[IpAddr]) -> (Vec<&'static str>, Vec<IpAddr>) {
    let mut addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST), SERVICE_ADDRESS];
    for address in listen {
        // Clients do not connect to the unspecified address.
        if !address.is_unspecified() && !addresses.contains(address) {
            addresses.push(*address);
        }
    }
    (SERVICE_NAMES.to_vec(), addresses)
}

#[cfg(test)]
mod tests;
