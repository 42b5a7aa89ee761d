//! References of a repository, and the resolution of names to commits.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::GitError;

/// Maximum number of references.
const MAX_REFS: usize = 500_000;
/// Minimum length of an abbreviated SHA, as in Argo CD.
const MIN_ABBREVIATED_LENGTH: usize = 7;
const SHA_LENGTH: usize = 40;

/// Commit, identified by its 40-digit SHA.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(String);

impl Commit {
    /// Parses a SHA. `None` if the text is not 40 hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == SHA_LENGTH && is_hex(text)).then(|| Self(text.to_ascii_lowercase()))
    }

    /// Hex digits of the SHA.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Result of resolving a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revision {
    /// A commit.
    Commit(Commit),
    /// Abbreviated SHA, which can only be completed after all commits are fetched.
    Abbreviated(String),
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Revision::Commit(commit) => commit.fmt(f),
            Revision::Abbreviated(short) => f.write_str(short),
        }
    }
}

/// References of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// Target of `HEAD`, such as `refs/heads/main`.
    pub head: Option<String>,
    /// Commits by full reference name. An annotated tag maps to the commit it points to.
    pub commits: BTreeMap<String, Commit>,
}

impl Refs {
    /// Parses the output of `git ls-remote --symref`.
    pub(crate) fn parse(text: &str) -> Result<Self, GitError> {
        let mut refs = Refs::default();
        for line in text.lines() {
            let Some((what, name)) = line.split_once('\t') else { continue };
            if let Some(target) = what.strip_prefix("ref: ") {
                if name == "HEAD" {
                    refs.head = Some(target.to_string());
                }
                continue;
            }
            // The commit of an annotated tag follows the tag object and replaces it.
            if let Some(commit) = Commit::parse(what) {
                refs.commits.insert(name.strip_suffix("^{}").unwrap_or(name).to_string(), commit);
            }
            if refs.commits.len() > MAX_REFS {
                let what = "the list of references".to_string();
                return Err(GitError::TooLarge { subject: what, limit: MAX_REFS as u64, unit: "references" });
            }
        }
        Ok(refs)
    }

    /// Resolves a branch, tag, full reference name, `HEAD` (also the empty text), or a full or abbreviated SHA.
    ///
    /// # Errors
    /// If the repository has no such reference.
    pub fn resolve(&self, revision: &str) -> Result<Revision, GitError> {
        let name = if revision.trim().is_empty() { "HEAD" } else { revision.trim() };
        if let Some(commit) = Commit::parse(name) {
            return Ok(Revision::Commit(commit));
        }
        let head = (name == "HEAD").then(|| self.head.clone()).flatten();
        let names = [
            head.unwrap_or_default(),
            name.to_string(),
            format!("refs/heads/{name}"),
            format!("refs/tags/{name}"),
            format!("refs/{name}"),
        ];
        if let Some(commit) = names.iter().find_map(|name| self.commits.get(name)) {
            return Ok(Revision::Commit(commit.clone()));
        }
        if (MIN_ABBREVIATED_LENGTH..SHA_LENGTH).contains(&name.len()) && is_hex(name) {
            return Ok(Revision::Abbreviated(name.to_ascii_lowercase()));
        }
        Err(GitError::NoRevision(name.to_string()))
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests;
