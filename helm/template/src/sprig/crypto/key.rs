//! Private keys of every kind that sprig generates or accepts.

use ring::signature::{Ed25519KeyPair, KeyPair as _};

use super::der::{self, DerReader};
use super::dsa::DsaKey;
use super::pem;
use super::rsa::RsaKey;
use crate::sprig::system_inputs::Entropy;

/// A private key.
#[derive(Clone)]
pub enum PrivateKey {
    /// RSA.
    Rsa(Box<RsaKey>),
    /// DSA, which cannot be used for a certificate.
    Dsa(Box<DsaKey>),
    /// ECDSA on P-256.
    P256(p256::ecdsa::SigningKey),
    /// ECDSA on P-384.
    P384(p384::ecdsa::SigningKey),
    /// Ed25519, as its seed.
    Ed25519([u8; 32]),
}

/// Size of an RSA key for a certificate.
const CERTIFICATE_BITS: usize = 2048;
/// Size of an RSA key of `genPrivateKey`.
const KEY_BITS: usize = 4096;

pub(super) mod oids {
    pub const RSA: &[u8] = &[42, 134, 72, 134, 247, 13, 1, 1, 1];
    pub const SHA256_RSA: &[u8] = &[42, 134, 72, 134, 247, 13, 1, 1, 11];
    pub const EC: &[u8] = &[42, 134, 72, 206, 61, 2, 1];
    pub const P256: &[u8] = &[42, 134, 72, 206, 61, 3, 1, 7];
    pub const P384: &[u8] = &[43, 129, 4, 0, 34];
    pub const ECDSA_SHA256: &[u8] = &[42, 134, 72, 206, 61, 4, 3, 2];
    pub const ECDSA_SHA384: &[u8] = &[42, 134, 72, 206, 61, 4, 3, 3];
    pub const ED25519: &[u8] = &[43, 101, 112];
}

/// Implements `genPrivateKey`: returns a key in PEM, or the error text in its place.
pub fn generate(kind: &str, with_ed25519: bool, entropy: &dyn Entropy) -> String {
    let key = match kind {
        "" | "rsa" => PrivateKey::Rsa(Box::new(RsaKey::generate(KEY_BITS, entropy))),
        "dsa" => PrivateKey::Dsa(Box::new(DsaKey::generate(entropy))),
        "ecdsa" => generate_p256(entropy),
        "ed25519" if with_ed25519 => {
            let mut seed = [0; 32];
            entropy.fill(&mut seed);
            PrivateKey::Ed25519(seed)
        }
        _ => return format!("Unknown type {kind}"),
    };
    key.to_pem()
}

fn generate_p256(entropy: &dyn Entropy) -> PrivateKey {
    loop {
        let mut bytes = [0; 32];
        entropy.fill(&mut bytes);
        if let Ok(key) = p256::ecdsa::SigningKey::from_slice(&bytes) {
            return PrivateKey::P256(key);
        }
    }
}

impl PrivateKey {
    /// Generates the RSA key of a certificate.
    pub fn for_certificate(entropy: &dyn Entropy) -> PrivateKey {
        PrivateKey::Rsa(Box::new(RsaKey::generate(CERTIFICATE_BITS, entropy)))
    }

    /// Encodes the key in the PEM format that sprig uses for its kind.
    pub fn to_pem(&self) -> String {
        match self {
            PrivateKey::Rsa(key) => pem::encode("RSA PRIVATE KEY", &key.to_der()),
            PrivateKey::Dsa(key) => pem::encode("DSA PRIVATE KEY", &key.to_der()),
            PrivateKey::P256(key) => pem::encode("EC PRIVATE KEY", &self.ec_der(&key.to_bytes(), oids::P256)),
            PrivateKey::P384(key) => pem::encode("EC PRIVATE KEY", &self.ec_der(&key.to_bytes(), oids::P384)),
            PrivateKey::Ed25519(seed) => {
                let algorithm = der::sequence(&[der::oid(oids::ED25519)]);
                let key = der::octets(&der::octets(seed));
                pem::encode("PRIVATE KEY", &der::sequence(&[vec![2, 1, 0], algorithm, key]))
            }
        }
    }

    fn ec_der(&self, scalar: &[u8], curve: &[u8]) -> Vec<u8> {
        der::sequence(&[
            vec![2, 1, 1],
            der::octets(scalar),
            der::tagged(0xa0, &der::oid(curve)),
            der::tagged(0xa1, &der::bits(&self.public_bits(), 0)),
        ])
    }

    /// Decodes a key like sprig's `parsePrivateKeyPEM`, with its error texts.
    pub fn from_pem(text: &str) -> Result<PrivateKey, String> {
        let Some(block) = pem::decode(text) else { return Err("no PEM data in input".to_string()) };
        if block.kind == "PRIVATE KEY" {
            return from_pkcs8(&block.bytes).map_err(|why| format!("decoding PEM as PKCS#8: {why}"));
        }
        let Some(kind) = block.kind.strip_suffix(" PRIVATE KEY") else {
            return Err(format!("no private key data in PEM block of type {}", block.kind));
        };
        let failed = |why: String| format!("parsing {kind} private key from PEM: {why}");
        match kind {
            "RSA" => from_pkcs1(&block.bytes).map_err(failed),
            "EC" => from_sec1(None, &block.bytes).map_err(failed),
            "DSA" => DsaKey::from_der(&block.bytes).map(|key| PrivateKey::Dsa(Box::new(key))).map_err(failed),
            _ => Err(format!("invalid private key type {}", block.kind)),
        }
    }

    /// Returns the bits of the public key for a certificate.
    pub(super) fn public_bits(&self) -> Vec<u8> {
        match self {
            PrivateKey::Rsa(key) => key.public_der(),
            PrivateKey::Dsa(_) => Vec::new(),
            PrivateKey::P256(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            PrivateKey::P384(key) => key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            PrivateKey::Ed25519(seed) => ed25519(seed).public_key().as_ref().to_vec(),
        }
    }

    /// Returns the algorithm of the public key in X.509 encoding.
    pub(super) fn public_algorithm(&self) -> Result<Vec<u8>, String> {
        Ok(match self {
            PrivateKey::Rsa(_) => der::sequence(&[der::oid(oids::RSA), der::null()]),
            PrivateKey::Dsa(_) => return Err("x509: unsupported public key type: *dsa.PublicKey".to_string()),
            PrivateKey::P256(_) => der::sequence(&[der::oid(oids::EC), der::oid(oids::P256)]),
            PrivateKey::P384(_) => der::sequence(&[der::oid(oids::EC), der::oid(oids::P384)]),
            PrivateKey::Ed25519(_) => der::sequence(&[der::oid(oids::ED25519)]),
        })
    }

    /// Returns the signature algorithm in X.509 encoding.
    pub(super) fn signature_algorithm(&self) -> Result<Vec<u8>, String> {
        Ok(match self {
            PrivateKey::Rsa(_) => der::sequence(&[der::oid(oids::SHA256_RSA), der::null()]),
            PrivateKey::Dsa(_) => {
                return Err("x509: certificate private key does not implement crypto.Signer".to_string());
            }
            PrivateKey::P256(_) => der::sequence(&[der::oid(oids::ECDSA_SHA256)]),
            PrivateKey::P384(_) => der::sequence(&[der::oid(oids::ECDSA_SHA384)]),
            PrivateKey::Ed25519(_) => der::sequence(&[der::oid(oids::ED25519)]),
        })
    }

    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        use p256::ecdsa::signature::Signer as _;
        match self {
            PrivateKey::Rsa(key) => key.sign_sha256(message),
            PrivateKey::Dsa(_) => Vec::new(),
            PrivateKey::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(message);
                signature.to_der().as_bytes().to_vec()
            }
            PrivateKey::P384(key) => {
                let signature: p384::ecdsa::Signature = key.sign(message);
                signature.to_der().as_bytes().to_vec()
            }
            PrivateKey::Ed25519(seed) => ed25519(seed).sign(message).as_ref().to_vec(),
        }
    }
}

fn ed25519(seed: &[u8; 32]) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(seed).expect("every seed of 32 bytes is a key")
}

const USE_INSTEAD: &str = "x509: failed to parse private key (use";

fn is_pkcs8(bytes: &[u8]) -> bool {
    let inside = DerReader::new(bytes).sequence();
    inside.is_ok_and(|mut inside| inside.integer().is_ok() && inside.sequence().is_ok() && inside.tag() == Some(4))
}

fn is_sec1(bytes: &[u8]) -> bool {
    let inside = DerReader::new(bytes).sequence();
    inside.is_ok_and(|mut inside| inside.integer().is_ok() && inside.tag() == Some(4))
}

fn from_pkcs1(bytes: &[u8]) -> Result<PrivateKey, String> {
    RsaKey::from_der(bytes).map(|key| PrivateKey::Rsa(Box::new(key))).map_err(|why| {
        if is_sec1(bytes) {
            format!("{USE_INSTEAD} ParseECPrivateKey instead for this key format)")
        } else if is_pkcs8(bytes) {
            format!("{USE_INSTEAD} ParsePKCS8PrivateKey instead for this key format)")
        } else {
            why
        }
    })
}

fn from_sec1(curve: Option<&[u8]>, bytes: &[u8]) -> Result<PrivateKey, String> {
    if !is_sec1(bytes) {
        if is_pkcs8(bytes) {
            return Err(format!("{USE_INSTEAD} ParsePKCS8PrivateKey instead for this key format)"));
        }
        if RsaKey::from_der(bytes).is_ok() {
            return Err(format!("{USE_INSTEAD} ParsePKCS1PrivateKey instead for this key format)"));
        }
    }
    let failed = |why: String| format!("x509: failed to parse EC private key: {why}");
    let mut inside = DerReader::new(bytes).sequence().map_err(failed)?;
    inside.integer().map_err(failed)?;
    let scalar = inside.expect(4).map_err(failed)?;
    let named = match curve {
        Some(curve) => Some(curve),
        None => inside.expect(0xa0).and_then(|content| DerReader::new(content).expect(6)).ok(),
    };
    let padded = |length: usize| {
        let skip = scalar.iter().take_while(|byte| **byte == 0).count();
        let digits = &scalar[skip..];
        let zeros = length.checked_sub(digits.len()).ok_or("x509: invalid private key length")?;
        Ok::<_, String>([vec![0; zeros], digits.to_vec()].concat())
    };
    let invalid = |_| "invalid private key".to_string();
    match named {
        Some(oids::P256) => p256::ecdsa::SigningKey::from_slice(&padded(32)?).map(PrivateKey::P256).map_err(invalid),
        Some(oids::P384) => p384::ecdsa::SigningKey::from_slice(&padded(48)?).map(PrivateKey::P384).map_err(invalid),
        _ => Err("x509: unknown elliptic curve".to_string()),
    }
}

fn from_pkcs8(bytes: &[u8]) -> Result<PrivateKey, String> {
    if !is_pkcs8(bytes) {
        if is_sec1(bytes) {
            return Err(format!("{USE_INSTEAD} ParseECPrivateKey instead for this key format)"));
        }
        if RsaKey::from_der(bytes).is_ok() {
            return Err(format!("{USE_INSTEAD} ParsePKCS1PrivateKey instead for this key format)"));
        }
    }
    let mut inside = DerReader::new(bytes).sequence()?;
    inside.integer()?;
    let mut algorithm = inside.sequence()?;
    let (oid, key) = (algorithm.expect(6)?, inside.expect(4)?);
    let embedded =
        |kind: &str, why: String| format!("x509: failed to parse {kind} private key embedded in PKCS#8: {why}");
    match oid {
        oids::RSA => from_pkcs1(key).map_err(|why| embedded("RSA", why)),
        oids::EC => from_sec1(algorithm.expect(6).ok(), key).map_err(|why| embedded("EC", why)),
        oids::ED25519 => {
            let seed =
                DerReader::new(key).expect(4).map_err(|why| format!("x509: invalid Ed25519 private key: {why}"))?;
            let length = || format!("x509: invalid Ed25519 private key length: {}", seed.len());
            seed.try_into().map(PrivateKey::Ed25519).map_err(|_| length())
        }
        _ => Err("x509: PKCS#8 wrapping contained private key with unknown algorithm".to_string()),
    }
}
