//! Git repositories: which URLs are the same, and what a credential must hold.

use regex::Regex;
use std::sync::LazyLock;

static SSH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^(ssh://)?([^/:]*?)@[^@]+$").expect("the pattern is constant"));

/// The form by which two URLs of one repository are recognised: without `.git`, without `ssh://`, the host in lower case.
///
/// The original puts all of it into lower case, which makes another repository of one whose path has capitals, on hosts that tell
/// them apart.
pub fn normalise(url: &str) -> String {
    let url = url.trim();
    let is_ssh = SSH.is_match(url) || has_prefix(url, "ssh://");
    let rest = if has_prefix(url, "ssh://") { &url["ssh://".len()..] } else { url };
    // git@host:path is git@host/path; a port comes only after ssh://.
    let rest = match rest.split_once(':') {
        Some((user_host, path)) if is_ssh && !has_prefix(url, "ssh://") => format!("{user_host}/{path}"),
        _ => rest.to_string(),
    };
    let rest = rest.strip_suffix(".git").unwrap_or(&rest);
    lower_host(rest)
}

fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Scheme and host in lower case, the rest as it is.
fn lower_host(url: &str) -> String {
    let begin = url.find("://").map_or(0, |at| at + "://".len());
    let end = url[begin..].find('/').map_or(url.len(), |at| begin + at);
    let (user, host) = match url[begin..end].rfind('@') {
        Some(at) => (&url[begin..=begin + at], &url[begin + at + 1..end]),
        None => ("", &url[begin..end]),
    };
    format!("{}{user}{}{}", url[..begin].to_ascii_lowercase(), host.to_ascii_lowercase(), &url[end..])
}

/// Whether a URL holds a login. It would be kept in clear wherever the URL is; a credential is not.
pub fn has_login(url: &str) -> bool {
    let url = url.trim();
    let (scheme, rest) = url.split_once("://").unwrap_or(("ssh", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A name alone, as in ssh://git@host, is no secret; in https:// it may be a token.
    rest[..end].rfind('@').is_some_and(|at| rest[..at].contains(':') || !has_prefix(scheme, "ssh"))
}

/// A URL as people and programs are shown it: whoever may look at a deployment need not learn the password in its URL.
pub fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://").filter(|_| has_login(url)) else { return url.to_string() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let begin = rest[..end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[begin..])
}

/// What a Secret holds for a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// A name and a password, for HTTPS.
    Password {
        /// Who.
        username: String,
        /// Proof.
        password: switchboard_ledger::Secret,
    },
    /// A private key, for SSH.
    Key(switchboard_ledger::Secret),
}

/// What a Secret must hold for a repository of this URL; none if it does not.
pub fn login(url: &str, username: &str, password: &str, key: &str) -> Option<Login> {
    let https = has_prefix(url.trim(), "https://") || has_prefix(url.trim(), "http://");
    if https && !password.is_empty() {
        return Some(Login::Password { username: username.to_string(), password: password.into() });
    }
    if !https && !key.trim().is_empty() {
        return Some(Login::Key(key.into()));
    }
    None
}

#[cfg(test)]
mod tests;
