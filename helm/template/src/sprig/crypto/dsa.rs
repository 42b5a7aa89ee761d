//! DSA keys, which `genPrivateKey "dsa"` still creates.

use num_bigint::BigUint;
use num_traits::One;

use super::der::{self, DerReader};
use super::prime::{is_prime, random};
use crate::sprig::system_inputs::Entropy;

const P_BITS: usize = 2048;
const Q_BITS: usize = 256;

/// Numbers of a private key, in the order of OpenSSL's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DsaKey {
    p: BigUint,
    q: BigUint,
    g: BigUint,
    y: BigUint,
    x: BigUint,
}

impl DsaKey {
    /// Generates a key with its own parameters.
    pub(super) fn generate(entropy: &dyn Entropy) -> DsaKey {
        let one = BigUint::one();
        let (p, q) = parameters(entropy);
        let exponent = (&p - &one) / &q;
        let bases = (2u32..).map(|h| BigUint::from(h).modpow(&exponent, &p));
        let g = bases.into_iter().find(|g| *g != one).expect("some base generates the group");
        let x = loop {
            let x = random(Q_BITS, entropy);
            if x != BigUint::ZERO && x < q {
                break x;
            }
        };
        let y = g.modpow(&x, &p);
        DsaKey { p, q, g, y, x }
    }

    pub(super) fn to_der(&self) -> Vec<u8> {
        let numbers = [&BigUint::ZERO, &self.p, &self.q, &self.g, &self.y, &self.x];
        der::sequence(&numbers.map(der::integer))
    }

    pub(super) fn from_der(bytes: &[u8]) -> Result<DsaKey, String> {
        let mut inside = DerReader::new(bytes).sequence()?;
        inside.integer()?;
        let mut next = || inside.integer();
        Ok(DsaKey { p: next()?, q: next()?, g: next()?, y: next()?, x: next()? })
    }
}

/// Generates two primes such that `q` divides `p - 1`.
fn parameters(entropy: &dyn Entropy) -> (BigUint, BigUint) {
    let (one, odd) = (BigUint::one(), BigUint::one());
    loop {
        let q = random(Q_BITS, entropy) | (&one << (Q_BITS - 1)) | &odd;
        if !is_prime(&q, entropy) {
            continue;
        }
        for _ in 0..4 * P_BITS {
            let p = random(P_BITS, entropy) | (&one << (P_BITS - 1)) | &odd;
            let p = &p + &one - (&p % &q);
            if p.bits() as usize == P_BITS && p.bit(0) && is_prime(&p, entropy) {
                return (p, q);
            }
        }
    }
}
