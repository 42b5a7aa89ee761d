//! Git repositories: identity of URLs, and the login that a Secret must contain.

pub use switchboard_git::normalize;
use switchboard_git::{GitError, RepositoryAddress, Scheme};

fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Whether a URL contains a login. URLs are stored in plaintext, credentials are not.
pub fn has_login(url: &str) -> bool {
    let url = url.trim();
    let (scheme, rest) = url.split_once("://").unwrap_or(("ssh", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A user name alone is no secret in ssh://git@host, but may be a token in https://.
    rest[..end].rfind('@').is_some_and(|at| rest[..at].contains(':') || !has_prefix(scheme, "ssh"))
}

/// Characters that Argo CD treats as part of a pattern or a negation in a project.
const PATTERN_CHARS: &[char] = &['*', '?', '[', ']', '{', '}', '!', '\\'];

/// Supported schemes.
const SCHEMES: &[Scheme] = &[Scheme::Https, Scheme::Http, Scheme::Ssh, Scheme::File];

/// Whether a URL may be a pattern for several repositories.
pub fn is_pattern(url: &str) -> bool {
    url.contains(PATTERN_CHARS)
}

/// Validates the URL of one repository, with an error message for a condition. A tenant's project permits exactly this
/// URL, and a pattern would permit other repositories.
pub fn validate(field: &str, url: &str) -> Result<(), String> {
    if let Some(bad) = url.chars().find(|c| PATTERN_CHARS.contains(c)) {
        return Err(format!("{field} must name a single repository, but contains the pattern character {bad:?}"));
    }
    RepositoryAddress::parse(url, SCHEMES).map(drop).map_err(|error| match error {
        GitError::Address(why) => format!("{field} is not the address of a git repository: {why}"),
        other => format!("{field} is not the address of a git repository: {other}"),
    })
}

/// Removes the login from a URL for display, because users who may read a deployment must not see the password.
pub fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://").filter(|_| has_login(url)) else { return url.to_string() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let begin = rest[..end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[begin..])
}

/// Login from a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepositoryLogin {
    /// User name and password, for HTTPS.
    Password {
        /// User name.
        username: String,
        /// Password.
        password: switchboard_sql::SecretString,
    },
    /// Private key, for SSH.
    Key(switchboard_sql::SecretString),
}

/// Returns the login that a repository of this URL requires, or `None` if the Secret does not contain it.
pub fn login(url: &str, username: &str, password: &str, key: &str) -> Option<RepositoryLogin> {
    let https = has_prefix(url.trim(), "https://") || has_prefix(url.trim(), "http://");
    if https && !password.is_empty() {
        return Some(RepositoryLogin::Password { username: username.to_string(), password: password.into() });
    }
    if !https && !key.trim().is_empty() {
        return Some(RepositoryLogin::Key(key.into()));
    }
    None
}

#[cfg(test)]
mod tests;
