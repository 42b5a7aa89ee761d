//! Git repositories: which URLs are the same, and what a credential must hold.

pub use switchboard_git::normalise;
use switchboard_git::{Address, GitError, Scheme};

fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Whether a URL holds a login. It would be kept in clear wherever the URL is; a credential is not.
pub fn has_login(url: &str) -> bool {
    let url = url.trim();
    let (scheme, rest) = url.split_once("://").unwrap_or(("ssh", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A name alone, as in ssh://git@host, is no secret; in https:// it may be a token.
    rest[..end].rfind('@').is_some_and(|at| rest[..at].contains(':') || !has_prefix(scheme, "ssh"))
}

/// Characters by which Argo CD takes what a project permits for a pattern, or for something that it forbids.
const OF_PATTERNS: &[char] = &['*', '?', '[', ']', '{', '}', '!', '\\'];

/// How a repository may be reached.
const SCHEMES: &[Scheme] = &[Scheme::Https, Scheme::Http, Scheme::Ssh, Scheme::File];

/// Whether a URL may be that of many repositories.
pub fn is_pattern(url: &str) -> bool {
    url.contains(OF_PATTERNS)
}

/// What is wrong with a URL as that of one repository, in the words for a condition. A tenant's project permits just what stands here:
/// a pattern would permit repositories that nobody named.
pub fn judge(field: &str, url: &str) -> Result<(), String> {
    if let Some(bad) = url.chars().find(|c| OF_PATTERNS.contains(c)) {
        return Err(format!("{field} is to name one repository, and contains a character of patterns: {bad:?}"));
    }
    Address::parse(url, SCHEMES).map(drop).map_err(|error| match error {
        GitError::Address(why) => format!("{field} is no address of a git repository: {why}"),
        other => format!("{field} is no address of a git repository: {other}"),
    })
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
