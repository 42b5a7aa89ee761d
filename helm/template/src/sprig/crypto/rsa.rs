//! RSA keys: generation, encoding and signatures on big numbers. The `rsa` crate has an unfixed security advisory, and
//! ring does not generate RSA keys.

use num_bigint::BigUint;
use num_traits::One;

use super::der::{self, DerReader};
use super::prime::random_prime;
use crate::sprig::system_inputs::Entropy;

const EXPONENT: u32 = 65_537;
/// Smallest modulus that Go accepts.
const MIN_BITS: u64 = 1024;
/// Prefix of a SHA-256 hash in a signature: PKCS #1 v1.5's `DigestInfo`.
const SHA256_INFO: &[u8] = &[48, 49, 48, 13, 6, 9, 96, 134, 72, 1, 101, 3, 4, 2, 1, 5, 0, 4, 32];

/// A private key with two primes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RsaKey {
    n: BigUint,
    e: BigUint,
    d: BigUint,
    p: BigUint,
    q: BigUint,
}

impl RsaKey {
    /// Generates a random key.
    pub(super) fn generate(bits: usize, entropy: &dyn Entropy) -> RsaKey {
        let (one, e) = (BigUint::one(), BigUint::from(EXPONENT));
        loop {
            let (p, q) = (random_prime(bits / 2, entropy), random_prime(bits - bits / 2, entropy));
            let totient = (&p - &one) * (&q - &one);
            let Some(d) = e.modinv(&totient).filter(|_| p != q) else { continue };
            return RsaKey { n: &p * &q, e, d, p, q };
        }
    }

    /// Encodes the key in PKCS #1.
    pub(super) fn to_der(&self) -> Vec<u8> {
        let one = BigUint::one();
        let (dp, dq) = (&self.d % (&self.p - &one), &self.d % (&self.q - &one));
        let inverse = self.q.modinv(&self.p).unwrap_or_default();
        let numbers = [&BigUint::ZERO, &self.n, &self.e, &self.d, &self.p, &self.q, &dp, &dq, &inverse];
        der::sequence(&numbers.map(der::integer))
    }

    /// Decodes a key from PKCS #1, with Go's error texts where they are known.
    pub(super) fn from_der(bytes: &[u8]) -> Result<RsaKey, String> {
        let mut rest = DerReader::new(bytes);
        let mut inside = rest.sequence()?;
        if !rest.is_empty() {
            return Err("asn1: syntax error: trailing data".to_string());
        }
        if inside.integer()? > BigUint::one() {
            return Err("x509: unsupported private key version".to_string());
        }
        let [n, e, d] = [inside.integer()?, inside.integer()?, inside.integer()?];
        let [p, q] = [inside.integer()?, inside.integer()?];
        if [&n, &d, &p, &q].iter().any(|number| **number == BigUint::ZERO) {
            return Err("x509: private key contains zero or negative value".to_string());
        }
        if n.bits() < MIN_BITS {
            return Err(format!(
                "crypto/rsa: {}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)",
                n.bits()
            ));
        }
        let one = BigUint::one();
        let fits = |prime: &BigUint| (&e * &d) % (prime - &one) == one;
        if &p * &q != n {
            return Err("crypto/rsa: invalid private key: p * q != n".to_string());
        }
        if p == one || q == one || !fits(&p) || !fits(&q) {
            return Err("crypto/rsa: invalid private key: d is not the inverse of e".to_string());
        }
        Ok(RsaKey { n, e, d, p, q })
    }

    /// Encodes the public key as in X.509.
    pub(super) fn public_der(&self) -> Vec<u8> {
        der::sequence(&[der::integer(&self.n), der::integer(&self.e)])
    }

    /// Signs with PKCS #1 v1.5 and SHA-256.
    pub(super) fn sign_sha256(&self, message: &[u8]) -> Vec<u8> {
        let length = self.n.bits().div_ceil(8) as usize;
        let tail = [SHA256_INFO, &super::sha256(message)].concat();
        let mut block = vec![0xff; length];
        (block[0], block[1], block[length - tail.len() - 1]) = (0, 1, 0);
        block[length - tail.len()..].copy_from_slice(&tail);
        let signature = BigUint::from_bytes_be(&block).modpow(&self.d, &self.n).to_bytes_be();
        [vec![0; length - signature.len()], signature].concat()
    }
}
