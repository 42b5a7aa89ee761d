//! What a server says it has, and which commit a name stands for.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::GitError;

/// How many references a server may have.
const MAX_REFS: usize = 500_000;
/// The fewest letters of an abbreviated commit, as Argo CD has it.
const SHORT: usize = 7;
const FULL: usize = 40;

/// A commit, by its forty letters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit(String);

impl Commit {
    /// A commit of these letters; none if they are not forty of `0-9a-f`.
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == FULL && is_hex(text)).then(|| Self(text.to_ascii_lowercase()))
    }

    /// Its letters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revision {
    /// A commit.
    Commit(Commit),
    /// The beginning of a commit's letters; which one is known once all are fetched.
    Short(String),
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Revision::Commit(commit) => commit.fmt(f),
            Revision::Short(short) => f.write_str(short),
        }
    }
}

/// The references of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// What `HEAD` points to, such as `refs/heads/main`.
    pub head: Option<String>,
    /// Commits by full name; a tag with a message by the commit it is of.
    pub commits: BTreeMap<String, Commit>,
}

impl Refs {
    /// Reads what `git ls-remote --symref` prints.
    pub(crate) fn read(text: &str) -> Result<Self, GitError> {
        let mut refs = Refs::default();
        for line in text.lines() {
            let Some((what, name)) = line.split_once('\t') else { continue };
            if let Some(target) = what.strip_prefix("ref: ") {
                if name == "HEAD" {
                    refs.head = Some(target.to_string());
                }
                continue;
            }
            // What a tag with a message is of comes behind it, and counts.
            if let Some(commit) = Commit::parse(what) {
                refs.commits.insert(name.strip_suffix("^{}").unwrap_or(name).to_string(), commit);
            }
            if refs.commits.len() > MAX_REFS {
                let what = "the list of references".to_string();
                return Err(GitError::TooLarge { what, most: MAX_REFS as u64, unit: "references" });
            }
        }
        Ok(refs)
    }

    /// The commit of a branch, a tag, a full name, `HEAD` (also when empty), forty letters or the first of them.
    ///
    /// # Errors
    /// When there is nothing of that name.
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
        if (SHORT..FULL).contains(&name.len()) && is_hex(name) {
            return Ok(Revision::Short(name.to_ascii_lowercase()));
        }
        Err(GitError::NoRevision(name.to_string()))
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests;
