//! Impersonation headers.

use std::collections::BTreeMap;

use http::HeaderMap;
use switchboard_object::quote::quote;
use switchboard_object::status::Status;

use crate::auth::{User, is_subdomain};

const EXTRA_PREFIX: &str = "impersonate-extra-";

/// Returns the user that the headers request; `None` without `Impersonate-User`.
pub fn requested_user(headers: &HeaderMap) -> Result<Option<User>, Status> {
    let texts = |name: &str| -> Vec<String> { headers.get_all(name).iter().map(|v| text(v.as_bytes())).collect() };
    let one = |name: &str| texts(name).into_iter().next().unwrap_or_default();
    let mut user = User {
        name: one("impersonate-user"),
        uid: one("impersonate-uid"),
        groups: texts("impersonate-group"),
        extra: BTreeMap::new(),
    };
    for (name, value) in headers {
        if let Some(key) = name.as_str().strip_prefix(EXTRA_PREFIX) {
            user.extra.entry(unescaped(key)).or_default().push(text(value.as_bytes()));
        }
    }
    if !user.name.is_empty() {
        return Ok(Some(user));
    }
    if user.uid.is_empty() && user.groups.is_empty() && user.extra.is_empty() {
        return Ok(None);
    }
    Err(Status::bad_request(format!("requested {} without impersonating a user name", go_syntax(&user))))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Formats the user as Go's `%#v`.
fn go_syntax(user: &User) -> String {
    let list = |items: &[String]| {
        let quoted: Vec<String> = items.iter().map(|item| quote(item)).collect();
        format!("{{{}}}", quoted.join(", "))
    };
    let groups = if user.groups.is_empty() { "(nil)".into() } else { list(&user.groups) };
    let extra: Vec<String> = user.extra.iter().map(|(k, v)| format!("{}:[]string{}", quote(k), list(v))).collect();
    let extra = if extra.is_empty() { "(nil)".into() } else { format!("{{{}}}", extra.join(", ")) };
    format!(
        "&user.DefaultInfo{{Name:{}, UID:{}, Groups:[]string{groups}, Extra:map[string][]string{extra}}}",
        quote(&user.name),
        quote(&user.uid)
    )
}

/// Decodes `%`-escapes. A key with an invalid escape is returned unchanged.
fn unescaped(key: &str) -> String {
    let mut out = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            out.push(byte);
            rest = tail;
            continue;
        }
        let hex = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(decoded) => out.push(decoded),
            None => return key.to_string(),
        }
        rest = &tail[2..];
    }
    String::from_utf8(out).unwrap_or_else(|_| key.to_string())
}

/// Validates extra keys and values for the constrained modes.
pub fn validate_extra(extra: &BTreeMap<String, Vec<String>>) -> Result<(), String> {
    for (key, values) in extra {
        if key.is_empty() {
            return Err("impersonating the empty string key in extra is not allowed".into());
        }
        if let Some(problem) = domain_prefixed_path(key) {
            return Err(format!("impersonating an invalid key in extra is not allowed: extra.key: {problem}"));
        }
        if *key != key.to_lowercase() {
            return Err(format!("impersonating a non-lowercase key in extra is not allowed: {}", quote(key)));
        }
        if values.iter().any(String::is_empty) {
            return Err("impersonating the empty string value in extra is not allowed".into());
        }
    }
    Ok(())
}

/// Validates `example.com/path`.
fn domain_prefixed_path(key: &str) -> Option<String> {
    let invalid = |detail: &str| Some(format!("Invalid value: {}: {detail}", quote(key)));
    match key.split_once('/') {
        None => invalid("must be a domain-prefixed path (such as \"acme.io/foo\")"),
        Some((domain, path)) if domain.is_empty() || path.is_empty() => {
            invalid("must be a domain-prefixed path (such as \"acme.io/foo\")")
        }
        Some((domain, _)) if !is_subdomain(domain) => Some(format!(
            "Invalid value: {}: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
             characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
             used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            quote(domain)
        )),
        Some((_, path)) if !path.bytes().all(is_path_byte) => Some(format!(
            "Invalid value: {}: Invalid path (regex used for validation is \
                 '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
            quote(path)
        )),
        _ => None,
    }
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte)
}
