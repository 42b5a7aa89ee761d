#![allow(clippy::unwrap_used)]

use ring::signature::{ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::certificate::{Certificate, CertificateRequest, self_signed, signed};
use super::key::{PrivateKey, generate};
use super::pem;
use crate::sprig::system_inputs::{Entropy, SeededEntropy};
use crate::sprig::time::{GoTime, Zone};

fn chance() -> SeededEntropy {
    SeededEntropy::new(b"a seed")
}

fn request(name: &[u8], authority: bool) -> CertificateRequest<'_> {
    CertificateRequest {
        name,
        addresses: vec!["10.0.0.1".parse().unwrap(), "::1".parse().unwrap()],
        names: vec!["shop.example".to_string()],
        days: 10,
        now: GoTime::unix(1_700_000_000, 0, Zone::Utc),
        authority,
    }
}

fn der(certificate: &Certificate) -> Vec<u8> {
    pem::decode(&certificate.cert).unwrap().bytes
}

#[test]
fn rsa_keys_sign_and_round_trip_through_pem() {
    let key = PrivateKey::for_certificate(&chance());
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_bits());
    assert!(public.verify(b"message", &key.sign(b"message")).is_ok());
    assert!(public.verify(b"another", &key.sign(b"message")).is_err());
    let again = PrivateKey::from_pem(&key.to_pem()).unwrap();
    assert_eq!(again.to_pem(), key.to_pem());
}

#[test]
fn curve_keys_sign_and_round_trip_through_pem() {
    for kind in ["ecdsa", "ed25519"] {
        let text = generate(kind, true, &chance());
        let key = PrivateKey::from_pem(&text).unwrap();
        assert_eq!(key.to_pem(), text);
        let signature = key.sign(b"message");
        let verified = match kind {
            "ecdsa" => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key.public_bits()).verify(b"message", &signature)
            }
            _ => UnparsedPublicKey::new(&ED25519, key.public_bits()).verify(b"message", &signature),
        };
        assert!(verified.is_ok(), "{kind}");
    }
}

#[test]
fn the_same_seed_makes_the_same_key() {
    assert_eq!(generate("ecdsa", true, &chance()), generate("ecdsa", true, &chance()));
    assert_ne!(generate("ecdsa", true, &chance()), generate("ecdsa", true, &SeededEntropy::new(b"another")));
}

#[test]
fn authorities_sign_certificates_with_the_requested_contents() {
    let key = |seed: &[u8]| PrivateKey::from_pem(&generate("ecdsa", true, &SeededEntropy::new(seed))).unwrap();
    let authority = self_signed(&request(b"the authority", true), &key(b"1"), &chance()).unwrap();
    let leaf = signed(&request(b"shop", false), &key(b"2"), &authority, &chance()).unwrap();
    let (authority_der, leaf_der) = (der(&authority), der(&leaf));
    let (_, authority) = X509Certificate::from_der(&authority_der).unwrap();
    let (_, leaf) = X509Certificate::from_der(&leaf_der).unwrap();
    assert!(authority.is_ca() && !leaf.is_ca());
    assert_eq!(leaf.issuer().to_string(), "CN=the authority");
    assert_eq!(leaf.subject().to_string(), "CN=shop");
    assert_eq!(leaf.validity().not_after.timestamp() - leaf.validity().not_before.timestamp(), 10 * 86_400);
    let names = leaf.subject_alternative_name().unwrap().unwrap();
    assert_eq!(names.value.general_names[0], GeneralName::DNSName("shop.example"));
    assert_eq!(names.value.general_names.len(), 3);
    let signer = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key(b"1").public_bits());
    assert!(signer.verify(leaf.tbs_certificate.as_ref(), &leaf.signature_value.data).is_ok());
    let usage = leaf.key_usage().unwrap().unwrap();
    assert!(usage.value.digital_signature() && usage.value.key_encipherment() && !usage.value.key_cert_sign());
    let id = |certificate: &X509Certificate<'_>, own: bool| {
        certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) if own => Some(id.0.to_vec()),
            ParsedExtension::AuthorityKeyIdentifier(id) if !own => Some(id.key_identifier.as_ref()?.0.to_vec()),
            _ => None,
        })
    };
    assert_eq!(id(&leaf, false).unwrap(), id(&authority, true).unwrap());
}

#[test]
fn foreign_keys_do_not_sign() {
    let key = |seed: &[u8]| PrivateKey::from_pem(&generate("ed25519", true, &SeededEntropy::new(seed))).unwrap();
    let authority = self_signed(&request(b"a", true), &key(b"1"), &chance()).unwrap();
    let mixed = Certificate { cert: authority.cert, key: key(b"2").to_pem() };
    let refused = signed(&request(b"b", false), &key(b"3"), &mixed, &chance()).unwrap_err();
    assert_eq!(refused, "error creating certificate: x509: provided PrivateKey doesn't match parent's PublicKey");
}

#[test]
fn seeded_bytes_do_not_repeat_and_fill_any_length() {
    let (chance, mut first, mut second) = (chance(), [0; 45], [0; 45]);
    chance.fill(&mut first);
    chance.fill(&mut second);
    assert_ne!(first, second);
    let mut again = [0; 45];
    SeededEntropy::new(b"a seed").fill(&mut again);
    assert_eq!(first, again);
}

#[test]
fn dsa_keys_round_trip_through_pem() {
    for (kind, head) in [("rsa", "RSA PRIVATE KEY"), ("dsa", "DSA PRIVATE KEY")] {
        let text = generate(kind, true, &chance());
        assert!(text.starts_with(&format!("-----BEGIN {head}-----\n")), "{text}");
        assert_eq!(PrivateKey::from_pem(&text).unwrap().to_pem(), text);
    }
}
