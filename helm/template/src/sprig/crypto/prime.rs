//! Random primes.

use std::sync::LazyLock;

use num_bigint::BigUint;
use num_traits::One;

use crate::sprig::system_inputs::Entropy;

/// Rounds of Miller-Rabin with random bases. For numbers of a thousand bits Go's `rsa` takes five.
const ROUNDS: usize = 20;
/// Limit of the small primes used for trial division, which rejects most candidates.
const SIEVE_LIMIT: u32 = 2_000;

/// Returns random bytes as a number.
pub(super) fn random(bits: usize, entropy: &dyn Entropy) -> BigUint {
    let mut bytes = vec![0; bits.div_ceil(8)];
    entropy.fill(&mut bytes);
    let spare = bytes.len() * 8 - bits;
    if let Some(first) = bytes.first_mut() {
        *first &= 0xff >> spare;
    }
    BigUint::from_bytes_be(&bytes)
}

/// Generates a random prime of that many bits. Its two highest bits are set, so that the product of two primes has
/// twice as many bits.
pub(super) fn random_prime(bits: usize, entropy: &dyn Entropy) -> BigUint {
    let top = BigUint::from(3u8) << (bits - 2);
    loop {
        let candidate = random(bits, entropy) | &top | BigUint::one();
        if is_prime(&candidate, entropy) {
            return candidate;
        }
    }
}

static SMALL_PRIMES: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let prime = |n: &u32| (2..).take_while(|d| d * d <= *n).all(|d| !n.is_multiple_of(d));
    (3..SIEVE_LIMIT).filter(prime).collect()
});

/// Whether an odd number is prime, with a negligible probability of error.
pub(super) fn is_prime(number: &BigUint, entropy: &dyn Entropy) -> bool {
    for &prime in SMALL_PRIMES.iter() {
        if (number % prime) == BigUint::ZERO {
            return *number == BigUint::from(prime);
        }
    }
    let one = BigUint::one();
    let below = number - &one;
    let twos = below.trailing_zeros().unwrap_or(0);
    let odd = &below >> twos;
    let bits = number.bits() as usize;
    'rounds: for _ in 0..ROUNDS {
        let base = random(bits - 1, entropy) + 2u8;
        let mut x = base.modpow(&odd, number);
        if x == one || x == below {
            continue;
        }
        for _ in 1..twos {
            x = &x * &x % number;
            if x == below {
                continue 'rounds;
            }
        }
        return false;
    }
    true
}
