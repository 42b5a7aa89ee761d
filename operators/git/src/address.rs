//! Addresses of repositories: which are let through, and what stands in them.

use std::fmt;

use crate::error::GitError;
use crate::login::Login;

/// How a repository is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// Over TLS.
    Https,
    /// In clear.
    Http,
    /// Over ssh; also as `git@host:path`.
    Ssh,
    /// A repository of this machine.
    File,
}

impl Scheme {
    /// As git names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scheme::Https => "https",
            Scheme::Http => "http",
            Scheme::Ssh => "ssh",
            Scheme::File => "file",
        }
    }
}

/// The longest address that is read.
const MAX_BYTES: usize = 4096;

/// The address of a repository, without a password that may have stood in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    text: String,
    scheme: Scheme,
    login: Option<Login>,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// When it is none, or of a scheme that is not among those allowed. Programs as transports (`ext::`) never are.
    pub fn parse(text: &str, allowed: &[Scheme]) -> Result<Self, GitError> {
        let refuse = |why: &str| Err(GitError::Address(why.to_string()));
        let text = text.trim();
        if text.is_empty() {
            return refuse("it is empty");
        }
        if text.len() > MAX_BYTES {
            return refuse("it is too long");
        }
        if text.starts_with('-') || text.chars().any(|c| c.is_control() || c == ' ') {
            return refuse("it begins with a dash, or has blanks in it");
        }
        let scheme = match text.split_once("://") {
            Some((scheme, _)) => match scheme.to_ascii_lowercase().as_str() {
                "https" => Scheme::Https,
                "http" => Scheme::Http,
                "ssh" | "git+ssh" | "ssh+git" => Scheme::Ssh,
                "file" => Scheme::File,
                other => return refuse(&format!("`{}://` is none of https, http, ssh and file", shown(other))),
            },
            None if is_short_ssh(text) => Scheme::Ssh,
            None => return refuse("it has no scheme such as https://"),
        };
        if !allowed.contains(&scheme) {
            return refuse(&format!("{}:// is not allowed here", scheme.name()));
        }
        let host = host(text, scheme);
        if scheme != Scheme::File && (host.is_empty() || host.starts_with('-')) {
            return refuse("it names no host");
        }
        Ok(Self::without_password(text, scheme))
    }

    /// A password in an address would be on git's command line, and in its messages.
    fn without_password(text: &str, scheme: Scheme) -> Self {
        let plain = Self { text: text.to_string(), scheme, login: None };
        if !matches!(scheme, Scheme::Https | Scheme::Http) {
            return plain;
        }
        let Some((begin, rest)) = text.split_once("://") else { return plain };
        let end = rest.find('/').unwrap_or(rest.len());
        let Some(at) = rest[..end].rfind('@') else { return plain };
        let Some((user, password)) = rest[..at].split_once(':') else { return plain };
        let login = Login::Password { username: unescaped(user), password: unescaped(password) };
        Self { text: format!("{begin}://{}", &rest[at + 1..]), scheme, login: Some(login) }
    }

    /// How it is reached.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// As git is given it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Who stood in it, with a password.
    pub(crate) fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// Scheme, host and port, for https and http.
    pub(crate) fn web_server(&self) -> Option<String> {
        if !matches!(self.scheme, Scheme::Https | Scheme::Http) {
            return None;
        }
        let (_, rest) = self.text.split_once("://")?;
        let authority = &rest[..rest.find('/').unwrap_or(rest.len())];
        let host = authority.rsplit('@').next().unwrap_or(authority);
        Some(format!("{}://{host}", self.scheme.name()))
    }
}

/// `git@host:path`, and no path of this machine.
fn is_short_ssh(text: &str) -> bool {
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

fn shown(text: &str) -> String {
    text.chars().take(16).collect()
}

fn unescaped(text: &str) -> String {
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

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({})", self.text)
    }
}

#[cfg(test)]
mod tests;
