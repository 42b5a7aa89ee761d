//! Repository addresses: which schemes are allowed, and the credentials that an address may contain.

use std::fmt;

use crate::error::GitError;
use crate::login::Login;

/// Transport protocol of a repository address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// HTTP over TLS.
    Https,
    /// HTTP in plaintext.
    Http,
    /// SSH, also in the scp-like form `git@host:path`.
    Ssh,
    /// A repository on the local machine.
    File,
}

impl Scheme {
    /// Name of the scheme in git's configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scheme::Https => "https",
            Scheme::Http => "http",
            Scheme::Ssh => "ssh",
            Scheme::File => "file",
        }
    }
}

/// Maximum length of an address.
const MAX_BYTES: usize = 4096;

/// Address of a repository, with any password removed from the text.
#[derive(Clone, PartialEq, Eq)]
pub struct RepositoryAddress {
    text: String,
    scheme: Scheme,
    login: Option<Login>,
}

impl RepositoryAddress {
    /// Parses an address.
    ///
    /// # Errors
    /// If the text is not an address, or its scheme is not in `allowed`. Transport helpers such as `ext::` are never
    /// allowed.
    pub fn parse(text: &str, allowed: &[Scheme]) -> Result<Self, GitError> {
        let refuse = |why: &str| Err(GitError::Address(why.to_string()));
        let text = text.trim();
        if text.is_empty() {
            return refuse("the address is empty");
        }
        if text.len() > MAX_BYTES {
            return refuse(&format!("the address is longer than {MAX_BYTES} bytes"));
        }
        if text.starts_with('-') || text.chars().any(|c| c.is_control() || c == ' ') {
            return refuse("the address begins with a dash or contains blanks");
        }
        let scheme = match text.split_once("://") {
            Some((scheme, _)) => match scheme.to_ascii_lowercase().as_str() {
                "https" => Scheme::Https,
                "http" => Scheme::Http,
                "ssh" | "git+ssh" | "ssh+git" => Scheme::Ssh,
                "file" => Scheme::File,
                other => {
                    return refuse(&format!(
                        "scheme `{}://` is not supported; use https, http, ssh or file",
                        shortened(other)
                    ));
                }
            },
            None if is_scp_like(text) => Scheme::Ssh,
            None => return refuse("the address has no scheme such as https://"),
        };
        if !allowed.contains(&scheme) {
            return refuse(&format!("scheme {}:// is not allowed", scheme.name()));
        }
        let host = host(text, scheme);
        if scheme != Scheme::File && (host.is_empty() || host.starts_with('-')) {
            return refuse("the address has no host");
        }
        Ok(Self::without_password(text, scheme))
    }

    /// Moves a password out of the address: git would show it on its command line and in its messages.
    fn without_password(text: &str, scheme: Scheme) -> Self {
        let plain = Self { text: text.to_string(), scheme, login: None };
        if !matches!(scheme, Scheme::Https | Scheme::Http) {
            return plain;
        }
        let Some((begin, rest)) = text.split_once("://") else { return plain };
        let end = rest.find('/').unwrap_or(rest.len());
        let Some(at) = rest[..end].rfind('@') else { return plain };
        let Some((user, password)) = rest[..at].split_once(':') else { return plain };
        let login = Login::Password { username: percent_decoded(user), password: percent_decoded(password) };
        Self { text: format!("{begin}://{}", &rest[at + 1..]), scheme, login: Some(login) }
    }

    /// Transport protocol of the address.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Text of the address as passed to git.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// User name and password that were removed from the text.
    pub(crate) fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// Scheme, host and port of an https or http address.
    pub(crate) fn http_origin(&self) -> Option<String> {
        if !matches!(self.scheme, Scheme::Https | Scheme::Http) {
            return None;
        }
        let (_, rest) = self.text.split_once("://")?;
        let authority = &rest[..rest.find('/').unwrap_or(rest.len())];
        let host = authority.rsplit('@').next().unwrap_or(authority);
        Some(format!("{}://{host}", self.scheme.name()))
    }
}

/// Whether the text has git's scp-like form `git@host:path` and is not a local path.
fn is_scp_like(text: &str) -> bool {
    let Some((host, path)) = text.split_once(':') else { return false };
    !host.is_empty() && !host.contains('/') && !path.is_empty() && !path.starts_with(':')
}

fn host(text: &str, scheme: Scheme) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let end = match (scheme, text.contains("://")) {
        (Scheme::Ssh, false) => rest.find(':'),
        _ => rest.find('/'),
    };
    let authority = &rest[..end.unwrap_or(rest.len())];
    authority.rsplit('@').next().unwrap_or(authority)
}

fn shortened(text: &str) -> String {
    text.chars().take(16).collect()
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

impl fmt::Display for RepositoryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for RepositoryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.text)
    }
}

#[cfg(test)]
mod tests;
