//! Certificates as Go's `x509.CreateCertificate` creates them from sprig's template.

use std::net::IpAddr;

use num_bigint::BigUint;
use switchboard_object::quote::quote;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::key::PrivateKey;
use super::{der, pem, prime};
use crate::sprig::encoding::base64_decode;
use crate::sprig::system_inputs::Entropy;
use crate::sprig::time::{GoDuration, GoTime, Zone};

/// A certificate and its key, both in PEM. In sprig, this is `certificate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// Certificate in PEM.
    pub cert: String,
    /// Private key in PEM.
    pub key: String,
}

/// Contents of a certificate to create.
pub struct CertificateRequest<'a> {
    /// Common name.
    pub name: &'a [u8],
    /// IP addresses that the certificate is valid for.
    pub addresses: Vec<IpAddr>,
    /// DNS names that the certificate is valid for.
    pub names: Vec<String>,
    /// Validity in days.
    pub days: i64,
    /// Start of the validity.
    pub now: GoTime,
    /// Whether the certificate may sign others.
    pub authority: bool,
}

/// Issuer of a certificate: its key, and the subject, key id and public key of its certificate, or none if self-signed.
struct Issuer<'a> {
    key: &'a PrivateKey,
    parent: Option<ParentCertificate>,
}

struct ParentCertificate {
    subject: Vec<u8>,
    key_id: Vec<u8>,
    public: Vec<u8>,
}

/// Implements `genCA` and `genSelfSignedCert`: signs with the certificate's own key.
pub fn self_signed(
    request: &CertificateRequest<'_>,
    key: &PrivateKey,
    entropy: &dyn Entropy,
) -> Result<Certificate, String> {
    create(request, key, &Issuer { key, parent: None }, entropy)
}

/// Implements `genSignedCert`: signs with the key of an authority.
pub fn signed(
    request: &CertificateRequest<'_>,
    key: &PrivateKey,
    authority: &Certificate,
    entropy: &dyn Entropy,
) -> Result<Certificate, String> {
    let (parent, signer) = authority_parts(authority)?;
    create(request, key, &Issuer { key: &signer, parent: Some(parent) }, entropy)
}

fn authority_parts(authority: &Certificate) -> Result<(ParentCertificate, PrivateKey), String> {
    let block = pem::decode(&authority.cert).ok_or("unable to decode certificate")?;
    let parent =
        parse(&block.bytes).map_err(|why| format!("error parsing certificate: decodedSignerCert.Bytes: {why}"))?;
    let key = PrivateKey::from_pem(&authority.key).map_err(|why| format!("error parsing private key: {why}"))?;
    Ok((parent, key))
}

/// Checks that an authority can sign, before a key is generated for the new certificate.
pub fn check_authority(authority: &Certificate) -> Result<(), String> {
    authority_parts(authority).map(|_| ())
}

/// Implements `buildCustomCert`: decodes both parts from base64 and checks them.
pub fn custom(cert: &[u8], key: &[u8]) -> Result<Certificate, String> {
    let cert = base64_decode(cert).map_err(|_| "unable to decode base64 certificate")?;
    let key = base64_decode(key).map_err(|_| "unable to decode base64 private key")?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let (cert, key) = (text(cert), text(key));
    let block = pem::decode(&cert).ok_or("unable to decode certificate")?;
    parse(&block.bytes).map_err(|why| format!("error parsing certificate: decodedCert.Bytes: {why}"))?;
    PrivateKey::from_pem(&key).map_err(|why| format!("error parsing private key: {why}"))?;
    Ok(Certificate { cert, key })
}

fn parse(bytes: &[u8]) -> Result<ParentCertificate, String> {
    let (_, found) = X509Certificate::from_der(bytes).map_err(|_| "x509: malformed certificate".to_string())?;
    let key_id = found.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
        _ => None,
    });
    Ok(ParentCertificate {
        subject: found.subject().as_raw().to_vec(),
        key_id: key_id.unwrap_or_default(),
        public: found.public_key().subject_public_key.data.to_vec(),
    })
}

const NAME: &[u8] = &[85, 4, 3];
const SUBJECT_KEY_ID: &[u8] = &[85, 29, 14];
const KEY_USAGE: &[u8] = &[85, 29, 15];
const ALTERNATIVE_NAMES: &[u8] = &[85, 29, 17];
const BASIC_CONSTRAINTS: &[u8] = &[85, 29, 19];
const AUTHORITY_KEY_ID: &[u8] = &[85, 29, 35];
const EXTENDED_USAGE: &[u8] = &[85, 29, 37];
const SERVER_AUTH: &[u8] = &[43, 6, 1, 5, 5, 7, 3, 1];
const CLIENT_AUTH: &[u8] = &[43, 6, 1, 5, 5, 7, 3, 2];
const SERIAL_BITS: usize = 128;

fn create(
    request: &CertificateRequest<'_>,
    key: &PrivateKey,
    issuer: &Issuer<'_>,
    entropy: &dyn Entropy,
) -> Result<Certificate, String> {
    let failed = |why: String| format!("error creating certificate: {why}");
    let algorithm = issuer.key.signature_algorithm().map_err(failed)?;
    let public = key.public_bits();
    let public_info = der::sequence(&[key.public_algorithm().map_err(failed)?, der::bits(&public, 0)]);
    let subject = subject(request.name);
    let parent = issuer.parent.as_ref();
    if parent.is_some_and(|parent| parent.public != issuer.key.public_bits()) {
        return Err(failed("x509: provided PrivateKey doesn't match parent's PublicKey".to_string()));
    }
    let issuer_name = parent.map_or_else(|| subject.clone(), |parent| parent.subject.clone());
    let authority_id = parent.filter(|p| p.subject != subject).map(|p| p.key_id.clone()).unwrap_or_default();
    let serial: BigUint = prime::random(SERIAL_BITS, entropy);
    let until = request.now.plus(GoDuration(request.days.wrapping_mul(86_400_000_000_000)));
    let body = der::sequence(&[
        vec![0xa0, 3, 2, 1, 2],
        der::integer(&serial),
        algorithm.clone(),
        issuer_name,
        der::sequence(&[moment(&request.now).map_err(failed)?, moment(&until).map_err(failed)?]),
        subject,
        public_info,
        der::tagged(0xa3, &extensions(request, &public, &authority_id).map_err(failed)?),
    ]);
    let signature = der::bits(&issuer.key.sign(&body), 0);
    let whole = der::sequence(&[body, algorithm, signature]);
    Ok(Certificate { cert: pem::encode("CERTIFICATE", &whole), key: key.to_pem() })
}

/// Encodes a subject with only a common name, or an empty subject.
fn subject(name: &[u8]) -> Vec<u8> {
    if name.is_empty() {
        return der::sequence(&[]);
    }
    let printable = |b: &u8| b.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(b);
    let tag = if name.iter().all(printable) { 0x13 } else { 0x0c };
    let attribute = der::sequence(&[der::oid(NAME), der::tagged(tag, name)]);
    der::sequence(&[der::tagged(0x31, &attribute)])
}

/// Encodes a time, with two digits of the year up to 2049 and four digits after it.
fn moment(moment: &GoTime) -> Result<Vec<u8>, String> {
    let utc = moment.in_zone(Zone::Utc);
    match utc.civil().year {
        1950..2050 => Ok(der::tagged(0x17, &utc.format(b"060102150405Z"))),
        0..10_000 => Ok(der::tagged(0x18, &utc.format(b"20060102150405Z"))),
        _ => Err("asn1: structure error: cannot represent time as GeneralizedTime".to_string()),
    }
}

fn extension(id: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let mark = if critical { vec![1, 1, 0xff] } else { Vec::new() };
    der::sequence(&[der::oid(id), mark, der::octets(value)])
}

fn extensions(request: &CertificateRequest<'_>, public: &[u8], authority_id: &[u8]) -> Result<Vec<u8>, String> {
    // Digital signature and key encipherment, and certificate signing for authorities.
    let (usage, unused) = if request.authority { (0b1010_0100, 2) } else { (0b1010_0000, 5) };
    let constraints = if request.authority { vec![1, 1, 0xff] } else { Vec::new() };
    let mut all = vec![
        extension(KEY_USAGE, true, &der::bits(&[usage], unused)),
        extension(EXTENDED_USAGE, false, &der::sequence(&[der::oid(SERVER_AUTH), der::oid(CLIENT_AUTH)])),
        extension(BASIC_CONSTRAINTS, true, &der::sequence(&[constraints])),
    ];
    if request.authority {
        all.push(extension(SUBJECT_KEY_ID, false, &der::octets(&super::sha256(public)[..20])));
    }
    if !authority_id.is_empty() {
        all.push(extension(AUTHORITY_KEY_ID, false, &der::sequence(&[der::tagged(0x80, authority_id)])));
    }
    let mut names = Vec::new();
    for name in &request.names {
        if !name.is_ascii() {
            return Err(format!("x509: {} cannot be encoded as an IA5String", quote(name)));
        }
        names.push(der::tagged(0x82, name.as_bytes()));
    }
    names.extend(request.addresses.iter().map(|address| match address.to_canonical() {
        IpAddr::V4(address) => der::tagged(0x87, &address.octets()),
        IpAddr::V6(address) => der::tagged(0x87, &address.octets()),
    }));
    if !names.is_empty() {
        all.push(extension(ALTERNATIVE_NAMES, request.name.is_empty(), &der::sequence(&names)));
    }
    Ok(der::sequence(&all))
}
