//! Hashes, passwords, ciphers, keys and certificates.

pub mod certificate;
mod der;
mod dsa;
pub mod key;
mod pem;
mod prime;
mod rsa;

use aes::Aes256;
use cbc::cipher::block_padding::NoPadding;
use cbc::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use ring::{digest, hmac};

use super::encoding::{base64_decode, base64_encode};
use super::system_inputs::Entropy;

pub(super) fn sha256(bytes: &[u8]) -> Vec<u8> {
    digest::digest(&digest::SHA256, bytes).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    let digit = |four: u8| char::from(b"0123456789abcdef"[usize::from(four)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Implements `sha1sum`.
pub fn sha1_hex(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref())
}

/// Implements `sha256sum`.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

/// Implements `sha512sum`.
pub fn sha512_hex(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA512, bytes).as_ref())
}

/// Maximum length of a bcrypt password.
const MAX_BCRYPT_BYTES: usize = 72;
/// Go's `bcrypt.DefaultCost`.
const BCRYPT_COST: u32 = 10;

/// Implements `bcrypt`: returns the hash, or the error text in its place.
pub fn bcrypt(password: &[u8], entropy: &dyn Entropy) -> String {
    if password.len() > MAX_BCRYPT_BYTES {
        return "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes".to_string();
    }
    let mut salt = [0; 16];
    entropy.fill(&mut salt);
    match bcrypt::hash_with_salt(password, BCRYPT_COST, salt) {
        Ok(parts) => parts.format_for_version(bcrypt::Version::TwoA),
        Err(error) => format!("failed to encrypt string with bcrypt: {error}"),
    }
}

const MASTER_SEED: &[u8] = b"com.lyndir.masterpassword";
const SCRYPT_LOG_N: u8 = 15;

/// Implements `derivePassword` with the Master Password algorithm.
pub fn derive_password(counter: u32, kind: &str, password: &[u8], user: &[u8], site: &[u8]) -> String {
    let templates: &[&[u8]] = match kind {
        "maximum" => &[b"anoxxxxxxxxxxxxxxxxx", b"axxxxxxxxxxxxxxxxxno"],
        "long" => LONG_PASSWORDS,
        "medium" => &[b"CvcnoCvc", b"CvcCvcno"],
        "short" => &[b"Cvcn"],
        "basic" => &[b"aaanaaan", b"aannaaan", b"aaannaaa"],
        "pin" => &[b"nnnn"],
        _ => return format!("cannot find password template {kind}"),
    };
    let length = |text: &[u8]| (text.len() as u32).to_be_bytes();
    let salt = [MASTER_SEED, &length(user), user].concat();
    let mut key = [0; 64];
    let params = scrypt::Params::new(SCRYPT_LOG_N, 8, 2).expect("the parameters are constant and valid");
    if let Err(error) = scrypt::scrypt(password, &salt, &params, &mut key) {
        return format!("failed to derive password: {error}");
    }
    let message = [MASTER_SEED, &length(site), site, &counter.to_be_bytes()].concat();
    let seed = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &message);
    let seed = seed.as_ref();
    let template = templates[usize::from(seed[0]) % templates.len()];
    let character = |(index, class): (usize, &u8)| {
        let alphabet = password_alphabet(*class);
        char::from(alphabet[usize::from(seed[index + 1]) % alphabet.len()])
    };
    template.iter().enumerate().map(character).collect()
}

const LONG_PASSWORDS: &[&[u8]] = &[
    b"CvcvnoCvcvCvcv",
    b"CvcvCvcvnoCvcv",
    b"CvcvCvcvCvcvno",
    b"CvccnoCvcvCvcv",
    b"CvccCvcvnoCvcv",
    b"CvccCvcvCvcvno",
    b"CvcvnoCvccCvcv",
    b"CvcvCvccnoCvcv",
    b"CvcvCvccCvcvno",
    b"CvcvnoCvcvCvcc",
    b"CvcvCvcvnoCvcc",
    b"CvcvCvcvCvccno",
    b"CvccnoCvccCvcv",
    b"CvccCvccnoCvcv",
    b"CvccCvccCvcvno",
    b"CvcvnoCvccCvcc",
    b"CvcvCvccnoCvcc",
    b"CvcvCvccCvccno",
    b"CvccnoCvcvCvcc",
    b"CvccCvcvnoCvcc",
    b"CvccCvcvCvccno",
];

fn password_alphabet(class: u8) -> &'static [u8] {
    match class {
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

const BLOCK: usize = 16;

/// Returns the password as a key, truncated or padded with zeros.
fn aes_key(password: &[u8]) -> [u8; 32] {
    let mut key = [0; 32];
    let length = password.len().min(32);
    key[..length].copy_from_slice(&password[..length]);
    key
}

/// Implements `encryptAES`: CBC with a random initialization vector, in base64.
pub fn encrypt_aes(password: &[u8], text: &[u8], entropy: &dyn Entropy) -> String {
    if text.is_empty() {
        return String::new();
    }
    let mut iv = [0; BLOCK];
    entropy.fill(&mut iv);
    let padding = BLOCK - text.len() % BLOCK;
    let mut content = text.to_vec();
    content.extend(std::iter::repeat_n(padding as u8, padding));
    let cipher = cbc::Encryptor::<Aes256>::new(&aes_key(password).into(), &iv.into());
    let encrypted = cipher.encrypt_padded_vec::<NoPadding>(&content);
    base64_encode(&[&iv[..], &encrypted].concat())
}

/// Implements `decryptAES`: returns the text, or the text of Go's error or panic.
pub fn decrypt_aes(password: &[u8], text: &[u8]) -> Result<Vec<u8>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = base64_decode(text)?;
    if bytes.len() < BLOCK {
        // Go slices the buffer it allocated for decoding, which may be longer than the decoded bytes.
        let (capacity, length) = (text.len() / 4 * 3, bytes.len());
        return Err(match capacity < BLOCK {
            true => format!("runtime error: slice bounds out of range [:{BLOCK}] with capacity {capacity}"),
            false => format!("runtime error: slice bounds out of range [{BLOCK}:{length}]"),
        });
    }
    let (iv, content) = bytes.split_at(BLOCK);
    if content.len() % BLOCK != 0 {
        return Err("crypto/cipher: input not full blocks".to_string());
    }
    let iv: [u8; BLOCK] = iv.try_into().expect("it was split there");
    let cipher = cbc::Decryptor::<Aes256>::new(&aes_key(password).into(), &iv.into());
    let mut plain = cipher.decrypt_padded_vec::<NoPadding>(content).map_err(|error| error.to_string())?;
    let Some(padding) = plain.last().map(|byte| usize::from(*byte)) else {
        return Err("runtime error: index out of range [-1]".to_string());
    };
    match plain.len().checked_sub(padding) {
        Some(length) => plain.truncate(length),
        None => {
            let over = plain.len() as i64 - padding as i64;
            return Err(format!("runtime error: slice bounds out of range [:{over}]"));
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests;
