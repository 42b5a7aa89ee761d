//! The server's own certificate authority, serving certificate and administrator's client certificate.
//!
//! One PEM file holds all three pairs, so that a crash never leaves a certificate without its key. It is written with
//! mode 0600, reused by the next start, and the two leaves are renewed when they near their end or when the listen
//! address is not among the serving certificate's names. Without a directory everything is made afresh: elliptic
//! curve keys cost microseconds.

mod file;
mod verifier;

pub use file::write_private;
pub use verifier::Verifier;

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

/// How long the certificate authority lives.
const AUTHORITY_YEARS: i64 = 10;
/// How long the serving and the administrator's certificates live.
const LEAF_DAYS: i64 = 365;
/// A certificate with less than this left is renewed at start.
const RENEW_BEFORE_DAYS: i64 = 30;
/// The file in the data directory.
const FILE: &str = "certificates.pem";
/// The names in-cluster clients use for the API server.
const SERVICE_NAMES: [&str; 5] =
    ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"];
/// The address of the `kubernetes` Service.
const SERVICE_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
/// The administrator's name.
pub const ADMIN: &str = "admin";

/// What can go wrong with certificates.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A key or certificate could not be made.
    #[error("could not make a certificate")]
    Make(#[from] rcgen::Error),
    /// The file could not be read.
    #[error("could not read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file could not be written.
    #[error("could not write {path}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file holds something else. It is not replaced: that would end every kubeconfig that was handed out.
    #[error(
        "{path} does not hold three certificates with their keys\nhint: put a copy back; removing it makes new ones, and kubeconfigs written before stop working"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// TLS does not take our certificates.
    #[error("could not set up TLS")]
    Tls(#[from] rustls::Error),
    /// Client certificates cannot be checked.
    #[error("could not set up the check of client certificates")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
    /// The text is not PEM.
    #[error("could not read PEM")]
    Pem(#[from] rustls::pki_types::pem::Error),
}

/// A certificate with its key.
#[derive(Clone)]
pub struct Pair {
    /// The certificate as PEM.
    pub certificate: String,
    /// The key as PEM. Secret.
    pub key: String,
}

/// The server's certificates.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The authority that signs the other two.
    pub authority: Pair,
    /// What the listener presents.
    pub serving: Pair,
    /// What the generated kubeconfig presents.
    pub admin: Pair,
}

impl Certificates {
    /// New certificates that are kept nowhere. `addresses` are where the server listens.
    pub fn ephemeral(addresses: &[IpAddr], now: Timestamp) -> Result<Self, CertificateError> {
        let authority = new_authority(now)?;
        Self::with_authority(authority, addresses, now)
    }

    /// The certificates kept in `directory`, made or renewed when they must be.
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

    fn with_authority(authority: Pair, addresses: &[IpAddr], now: Timestamp) -> Result<Self, CertificateError> {
        let issuer = issuer(&authority, now)?;
        Ok(Self {
            serving: new_serving(&issuer, addresses, now)?,
            admin: new_client(&issuer, ADMIN, Some(super::MASTERS), now)?,
            authority,
        })
    }

    /// A client certificate for a user and at most one group, signed by this authority.
    pub fn client(&self, user: &str, group: Option<&str>, now: Timestamp) -> Result<Pair, CertificateError> {
        new_client(&issuer(&self.authority, now)?, user, group, now)
    }

    /// TLS for the listener: HTTP/2 and HTTP/1.1, client certificates asked for but not demanded.
    ///
    /// A client certificate of a foreign authority does not break the connection: as upstream, the request is then
    /// answered 401. [`Verifier`] tells the two apart.
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

    /// Checks client certificates against this authority.
    pub fn verifier(&self) -> Result<Arc<Verifier>, CertificateError> {
        Ok(Arc::new(Verifier::new(&self.authority.certificate)?))
    }
}

/// Keys stay out of logs.
impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").field("certificate", &self.certificate).field("key", &"<secret>").finish()
    }
}

/// The authority's name and usages are always the same, so they need not be read back from its certificate.
fn issuer(authority: &Pair, now: Timestamp) -> Result<Issuer<'static, KeyPair>, CertificateError> {
    Ok(Issuer::new(authority_params(now), KeyPair::from_pem(&authority.key)?))
}

fn new_authority(now: Timestamp) -> Result<Pair, CertificateError> {
    let key = KeyPair::generate()?;
    Ok(pair(&authority_params(now).self_signed(&key)?, &key))
}

fn authority_params(now: Timestamp) -> CertificateParams {
    let mut params = params("switchboard-ca", None, now, Span::new().years(AUTHORITY_YEARS));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::CrlSign];
    params
}

fn new_serving(issuer: &Issuer<'_, KeyPair>, addresses: &[IpAddr], now: Timestamp) -> Result<Pair, CertificateError> {
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
) -> Result<Pair, CertificateError> {
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
    // A day back, so that a client whose clock is behind accepts it.
    let (from, to) = (today.saturating_sub(Span::new().days(1)), today.saturating_add(life));
    params.not_before = date_time_ymd(from.year().into(), from.month() as u8, from.day() as u8);
    params.not_after = date_time_ymd(to.year().into(), to.month() as u8, to.day() as u8);
    params.use_authority_key_identifier_extension = true;
    params
}

fn pair(certificate: &Certificate, key: &KeyPair) -> Pair {
    Pair { certificate: certificate.pem(), key: key.serialize_pem() }
}

fn good(facts: &[file::Facts; 3], addresses: &[IpAddr], now: Timestamp) -> bool {
    let [_, serving, _] = facts;
    facts.iter().all(|f| fresh(f, now)) && names(addresses).1.iter().all(|a| serving.addresses.contains(a))
}

fn fresh(facts: &file::Facts, now: Timestamp) -> bool {
    facts.not_before <= now.as_second() && facts.not_after - now.as_second() > RENEW_BEFORE_DAYS * 24 * 60 * 60
}

/// The names and addresses a serving certificate covers.
fn names(listen: &[IpAddr]) -> (Vec<&'static str>, Vec<IpAddr>) {
    let mut addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST), SERVICE_ADDRESS];
    for address in listen {
        // "Every address" is no name a client connects to.
        if !address.is_unspecified() && !addresses.contains(address) {
            addresses.push(*address);
        }
    }
    (SERVICE_NAMES.to_vec(), addresses)
}

#[cfg(test)]
mod tests;
